"""Policies learned from a log, with their certificates: every kind of learner, in worlds where the truth is a sum."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import surelift as sl
from campaigns.laws.law import Claim, at, coins, draw_actions, law, outside, sides
from surelift.arrays import FloatArray
from surelift.learning import search
from surelift.learning.policies.rules import StagesRule

Rng = np.random.Generator
CONTEXTS, ACTIONS = 4, 3
FEW: dict[str, Any] = {"epochs": 4, "learning_rate": 0.1, "batch_size": 64, "patience": None}


class Log(NamedTuple):
    """Contexts are one of four and equally likely, so that the truth of whatever is learned is a sum."""

    logs: sl.Logs
    means: FloatArray  # (contexts, actions)
    production: FloatArray  # (rounds,), its value in every round given the past


class World(NamedTuple):
    """``means`` draws the expected rewards; ``least`` is the least share of an action."""

    means: Callable[[Rng], FloatArray]
    least: float


WORLDS = {
    "where nothing is better": World(lambda rng: np.full((CONTEXTS, ACTIONS), rng.uniform(0.2, 0.8)), 0.1),
    "with a signal": World(lambda rng: rng.random((CONTEXTS, ACTIONS)), 0.1),
    "with rare rewards and large weights": World(lambda rng: rng.uniform(0.0, 0.06, (CONTEXTS, ACTIONS)), 0.01),
}


def drawn(rng: Rng, world: World, *, adaptive: bool = False) -> Log:
    """Where production adapts, it favours what has paid most so far in a context, or what has paid least."""
    rounds, means = int(rng.integers(150, 400)), world.means(rng)
    free = 1.0 - ACTIONS * world.least
    shares = free * rng.dirichlet(np.ones(ACTIONS), CONTEXTS) + world.least
    context = rng.integers(0, CONTEXTS, rounds)
    if adaptive:
        logging, production = np.empty((rounds, ACTIONS)), np.empty(rounds)
        action, reward = np.empty(rounds, dtype=np.int64), np.empty(rounds)
        paid, sign = np.ones((2, CONTEXTS, ACTIONS)), rng.choice([-1.0, 1.0])
        for i, x in enumerate(context):
            tilted = shares * np.exp(6.0 * sign * paid[0] / paid[1])
            now = free * tilted / tilted.sum(axis=1, keepdims=True) + world.least
            logging[i], production[i] = now[x], (now * means).sum(axis=1).mean()
            action[i] = a = rng.choice(ACTIONS, p=now[x])
            reward[i] = rng.random() < means[x, a]
            paid[:, x, a] += (reward[i], 1.0)
    else:
        logging, production = shares[context], np.full(rounds, (shares * means).sum(axis=1).mean())
        action = draw_actions(rng, logging)
        reward = coins(rng, at(means[context], action))
    vectors: dict[str, Any] = {"logging": logging} if rng.random() < 0.5 else {"action_count": ACTIONS}
    logs = sl.Logs(
        reward=reward, propensity=at(logging, action), action=action, contexts=np.eye(CONTEXTS)[context], **vectors
    )
    return Log(logs, means, production)


def value(learner: sl.PolicyLearner, means: FloatArray) -> float:
    """Of a policy in stages, the mean over its judged rounds of the stage that was judged there."""
    policy, corners = learner.policy_, np.eye(CONTEXTS)
    if not isinstance(policy.rule, StagesRule):
        return float((policy.predict_proba(corners) * means).sum(axis=1).mean())
    encoded = policy.layout.encode(_table(corners))
    values = [(stage.probabilities(encoded) * means).sum(axis=1).mean() for stage in policy.rule.stages]
    return float(np.average(values, weights=policy.rule.rounds))


def _table(corners: FloatArray) -> Any:
    from surelift.learning.data.features import as_table

    return as_table(corners, [f"x{k}" for k in range(CONTEXTS)])


def claims(rng: Rng, delta: float, log: Log, kind: str) -> list[Claim]:
    try:
        if kind == "search":
            learner = search(log.logs, settings(delta, method=("mixture", "blocks")[rng.integers(2)])).learner
        else:
            learner = sl.PolicyLearner(**{**FEW, "delta": delta, **KINDS[kind]}).fit(log.logs)
    except sl.LogsError:
        return sides("learned", delta, False, False, refused=True)
    answer: Any = learner.answer_
    judged = log.production[len(log.production) - answer.rounds :]
    about = getattr(answer, "about", "improvement")
    truth = value(learner, log.means) - (float(judged.mean()) if about == "improvement" else 0.0)
    return sides("learned", delta, *outside(answer.lower, getattr(answer, "upper", None), truth, scale=1e3))


def settings(delta: float, *, method: str) -> list[sl.PolicyLearner]:
    """Of a search."""
    common: dict[str, Any] = {**FEW, "delta": delta}
    return [
        *(sl.PolicyLearner(**{**common, "learning_rate": rate}, method=method) for rate in (0.3, 0.03)),
        *(sl.PolicyLearner(**common, objective=name, method=method) for name in ("ips", "snips")),
        sl.PolicyLearner(**{**common, "learning_rate": 0.01}, policy="network", method=method),
        sl.PolicyLearner(**common, policy="gaussian", prior_share=0.2),
    ]  # fmt: skip


KINDS: dict[str, dict[str, Any]] = {
    "a linear policy": {},
    "a network": {"policy": "network", "learning_rate": 0.01},
    "a gaussian policy": {"policy": "gaussian"},
    "a gaussian policy of a certain value": {"policy": "gaussian", "objective": "value", "prior": "zero"},
    "a policy in stages": {"progressive": 3},
    "a linear policy, judged by bets in blocks": {"method": "blocks"},
    "search": {},
}
ADAPTIVE = ("a linear policy", "a policy in stages")


def _add(kind: str, where: str, world: World, *, adaptive: bool) -> None:
    named = f"{'the best of a search' if kind == 'search' else kind}, {where}{', production adapting' * adaptive}"

    @law(f"learned: {named}", logs=2)
    def draw(rng: Rng, delta: float) -> list[Claim]:
        return claims(rng, delta, drawn(rng, world, adaptive=adaptive), kind)


for _where, _world in WORLDS.items():
    for _kind in KINDS:
        _add(_kind, _where, _world, adaptive=False)
    for _kind in ADAPTIVE:
        _add(_kind, _where, _world, adaptive=True)


def random_rules(delta: float, features: int, actions: int, count: int = 16) -> list[sl.PolicyLearner]:
    """Policies that hardly learn, so that each is a rule of its own."""
    import torch

    learners, common = [], {**FEW, "epochs": 1, "learning_rate": 1e-6, "delta": delta, "method": "blocks"}
    with torch.random.fork_rng():
        for number in range(count):
            torch.manual_seed(number)
            module = torch.nn.Linear(features + 1, actions)
            with torch.no_grad():
                module.weight.mul_(8.0)
            learners.append(sl.PolicyLearner(module, **common))
    return learners


@law("learned: rules at random, where nothing is better", logs=1)
def best_of_many(rng: Rng, delta: float) -> list[Claim]:
    """The best of their certificates promises nothing, so that it may miss in every log; a search keeps its promise."""
    rounds, features, actions = 240, 6, 4
    shares, action = np.full((rounds, actions), 1 / actions), rng.integers(0, actions, rounds)
    contexts, reward = rng.normal(size=(rounds, features)), coins(rng, np.full(rounds, 0.5))
    logs = sl.Logs(reward=reward, propensity=shares[:, 0], logging=shares, action=action, contexts=contexts)
    best = any(certified(logs, learner) for learner in random_rules(delta, features, actions))
    try:
        found: Any = search(logs, random_rules(delta, features, actions)).answer
        judged = sides("search", delta, *outside(found.lower, found.upper, 0.0))
    except sl.LogsError:
        judged = sides("search", delta, False, False, refused=True)
    return [Claim("the best of all certificates", 1.0, best), *judged]


def certified(logs: sl.Logs, learner: sl.PolicyLearner) -> bool:
    try:
        return bool(learner.fit(logs).answer_.certified)
    except sl.LogsError:
        return False
