"""Logs with whole distributions: weight control, reward models, and policies made from scores."""

from dataclasses import replace
from typing import Any

import numpy as np

import surelift as sl
from campaigns.laws.law import (
    Claim,
    World,
    at,
    both,
    coins,
    draw_actions,
    entries,
    improvement_claims,
    law,
    some_rounds,
    value_claims,
)
from surelift.arrays import FloatArray

Rng = np.random.Generator


def contextual(
    rng: Rng, rounds: int, *, actions: int = 3, contexts: int = 3, sharp: float = 1.0, means: FloatArray | None = None
) -> World:
    """Contexts at random, each with its own distributions and expected rewards; the truth is given the contexts."""
    expected = rng.random((contexts, actions)) if means is None else means
    logging, new, rival = (rng.dirichlet(np.full(actions, sharp), contexts) for _ in range(3))
    return drawn(rng, rng.integers(0, len(expected), rounds), logging, {"new": new, "rival": rival}, expected)


def drawn(rng: Rng, context: Any, logging: FloatArray, candidates: dict[str, FloatArray], expected: FloatArray) -> World:
    action = draw_actions(rng, logging[context])
    reward = coins(rng, at(expected[context], action))
    columns = {
        "r": reward, "q": at(logging[context], action), "a": action, "x": context, "t": np.arange(len(context)),
        **entries("l", logging[context]),
    }  # fmt: skip
    values = {"production": (logging * expected).sum(axis=1)[context]}
    policies = {}
    for name, vectors in candidates.items():
        columns |= entries(name, vectors[context])
        values[name] = (vectors * expected).sum(axis=1)[context]
        policies[name] = list(entries(name, vectors))
    declared = {"reward": "r", "propensity": "q", "action": "a", "logging": list(entries("l", logging))}
    return World(columns, declared, policies, values)


def ask(world: World, delta: float, **options: Any) -> list[Claim]:
    return [*value_claims(world, delta, **options), *improvement_claims(world, delta, over="rival", **options)]


def one(world: World) -> World:
    return world.with_policies(new=world.policies["new"])


@law("weight control")
def weight_control(rng: Rng, delta: float) -> list[Claim]:
    return both(one(contextual(rng, some_rounds(rng), sharp=rng.choice([0.3, 1.0, 5.0]))), delta)


@law("weight control, frequent rewards")
def frequent(rng: Rng, delta: float) -> list[Claim]:
    return both(one(contextual(rng, some_rounds(rng), means=rng.uniform(0.9, 1.0, (3, 3)))), delta)


@law("weight control, rare rewards")
def rare(rng: Rng, delta: float) -> list[Claim]:
    return both(one(contextual(rng, some_rounds(rng, 300, 2_000), means=rng.uniform(0.0, 0.01, (3, 3)))), delta)


@law("weight control of a difference")
def difference(rng: Rng, delta: float) -> list[Claim]:
    return ask(contextual(rng, some_rounds(rng)), delta)


@law("weight control of a blend")
def blend(rng: Rng, delta: float) -> list[Claim]:
    world, alpha = contextual(rng, some_rounds(rng)), 10.0 ** -rng.uniform(0, 3)
    values = {**world.values, "new": (1 - alpha) * world.values["production"] + alpha * world.values["new"]}
    return both(replace(world, policies={"new": sl.blend(world.policies["new"], alpha)}, values=values), delta)


@law("weight control, planned")
def planned(rng: Rng, delta: float) -> list[Claim]:
    return both(one(contextual(rng, some_rounds(rng))), delta, grid="planned")


@law("weight control without support")
def unsupported(rng: Rng, delta: float) -> list[Claim]:
    logging = rng.dirichlet(np.ones(4), 2) * np.array([1, 1, 1, 0.0])
    logging /= logging.sum(axis=1, keepdims=True)
    candidates = {"new": rng.dirichlet(np.ones(4), 2), "rival": rng.dirichlet(np.ones(4), 2)}
    context = rng.integers(0, 2, some_rounds(rng))
    return ask(drawn(rng, context, logging, candidates, rng.random((2, 4))), delta)


@law("tiny propensities under weight control")
def tiny(rng: Rng, delta: float) -> list[Claim]:
    logging = rng.dirichlet(np.full(4, 0.05), 3)
    logging = (logging + 1e-6) / (logging + 1e-6).sum(axis=1, keepdims=True)
    context = rng.integers(0, 3, some_rounds(rng))
    return both(drawn(rng, context, logging, {"new": rng.dirichlet(np.ones(4), 3)}, rng.random((3, 4))), delta)


@law("vectors of different lengths")
def lengths(rng: Rng, delta: float) -> list[Claim]:
    rounds = some_rounds(rng, 30, 300)
    sizes = rng.integers(2, 6, 4)
    context = rng.integers(0, 4, rounds)
    logging, new = ([rng.dirichlet(np.ones(size)) for size in sizes] for _ in range(2))
    expected = [rng.random(size) for size in sizes]
    action = np.array([rng.choice(sizes[x], p=logging[x]) for x in context])
    columns = {
        "r": coins(rng, np.array([expected[x][a] for x, a in zip(context, action, strict=True)])),
        "q": np.array([logging[x][a] for x, a in zip(context, action, strict=True)]),
        "a": action, "l": [logging[x] for x in context], "new": [new[x] for x in context],
    }  # fmt: skip
    values = {
        name: np.array([float(vectors[x] @ expected[x]) for x in context])
        for name, vectors in (("production", logging), ("new", new))
    }
    declared = {"reward": "r", "propensity": "q", "action": "a", "logging": "l"}
    return both(World(columns, declared, {"new": "new"}, values), delta)


@law("policies made from scores")
def scores(rng: Rng, delta: float) -> list[Claim]:
    world = contextual(rng, some_rounds(rng))
    expected, tables = rng.random((3, 3)), rng.normal(size=(3, 3))
    logging = rng.dirichlet(np.ones(3), 3)
    context = world.columns["x"]
    exponentials = np.exp(tables / 0.7)
    soft = exponentials / exponentials.sum(axis=1, keepdims=True)
    greedy = 0.8 * np.eye(3)[tables.argmax(axis=1)] + 0.2 / 3
    even = np.full((3, 3), 1 / 3)
    base = drawn(rng, context, logging, {"soft": soft, "greedy": greedy, "even": even}, expected)
    columns = {**base.columns, **entries("s", tables[context])}
    names = list(entries("s", tables))
    policies = {"soft": sl.softmax(names, 0.7), "greedy": sl.epsilon_greedy(names, 0.2), "even": sl.uniform()}
    asked = replace(base, columns=columns, policies=policies)
    over = "even" if rng.random() < 0.5 else None
    return [*value_claims(asked, delta), *improvement_claims(asked, delta, over=over)]


@law("a reward model given")
def given(rng: Rng, delta: float) -> list[Claim]:
    """Right, useless or opposite, and fixed before the rounds."""
    world = contextual(rng, some_rounds(rng))
    predicted = rng.uniform(-0.2, 1.2, (3, 3))[world.columns["x"]]
    columns = {**world.columns, **entries("m", predicted)}
    model = sl.models.given(list(entries("m", predicted)))
    return ask(replace(world, columns=columns), delta, control=model)


@law("a right reward model given")
def right(rng: Rng, delta: float) -> list[Claim]:
    rounds, means = some_rounds(rng), rng.random((3, 3))
    world = contextual(rng, rounds, means=means)
    columns = {**world.columns, **entries("m", means[world.columns["x"]])}
    model = sl.models.given(list(entries("m", means)))
    return both(one(replace(world, columns=columns)), delta, control=model)


class Memory:
    """An estimator that knows by heart what it was fitted on: the mean reward of each row seen before, else 1."""

    def fit(self, features: FloatArray, reward: FloatArray) -> "Memory":
        self.seen: dict[bytes, list[float]] = {}
        for row, earned in zip(np.asarray(features), np.asarray(reward), strict=True):
            self.seen.setdefault(row.tobytes(), []).append(float(earned))
        return self

    def predict(self, features: FloatArray) -> FloatArray:
        found = (self.seen.get(row.tobytes()) for row in np.asarray(features))
        return np.array([1.0 if each is None else float(np.mean(each)) for each in found])


@law("a reward model fitted on other rounds", logs=25)
def fitted_on(rng: Rng, delta: float) -> list[Claim]:
    rounds = some_rounds(rng)
    world = _with_contexts(contextual(rng, 2 * rounds))
    earlier, later = world.part(0, rounds), world.part(rounds, 2 * rounds)
    return both(one(later), delta, control=sl.models.fitted_on(earlier.logs, "linear" if rng.random() < 0.5 else Memory()))


@law("a reward model refitted with time", logs=25)
def refitted(rng: Rng, delta: float) -> list[Claim]:
    world = _with_contexts(contextual(rng, some_rounds(rng, 200)))
    return both(one(world), delta, control=sl.models.refitted("linear" if rng.random() < 0.5 else Memory()))


def _with_contexts(world: World) -> World:
    return replace(world, declared={**world.declared, "contexts": ["x"], "time": "t"})
