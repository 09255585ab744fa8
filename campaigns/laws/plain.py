"""Independent rounds with three columns: tails, rare and frequent rewards, support, ranges, and every certified bound."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.laws import LAWS as WRITTEN_OUT
from tests.laws import SIMULATORS, from_law

import surelift as sl
from campaigns.laws.law import (
    Claim,
    World,
    both,
    coins,
    improvement_claims,
    law,
    some_rounds,
    value_claims,
    value_missed,
)
from surelift.arrays import FloatArray

Rng = np.random.Generator
DECLARED: dict[str, Any] = {"reward": "r", "propensity": "q"}


def three_columns(
    weight: FloatArray, propensity: FloatArray, reward: FloatArray, values: dict[str, Any], **declared: Any
) -> World:
    columns = {"r": reward, "q": propensity, "new": weight * propensity}
    return World(columns, {**DECLARED, **declared}, {"new": "new"}, values)


def two_actions(
    rng: Rng, rounds: int, *, logging: Any, candidate: Any, means: tuple[float, float], **declared: Any
) -> World:
    """The first of two actions is taken with probability ``logging``, by the candidate with ``candidate``."""
    q, p = (np.broadcast_to(np.asarray(share, dtype=np.float64), rounds) for share in (logging, candidate))
    first = rng.random(rounds) < q
    reward = coins(rng, np.where(first, *means))
    weight = np.where(first, p / np.maximum(q, 1e-300), (1 - p) / np.maximum(1 - q, 1e-300))

    def value(share: FloatArray) -> FloatArray:
        return share * means[0] + (1 - share) * means[1]

    # The truth given the context, which is what the propensity here depends on.
    return three_columns(weight, np.where(first, q, 1 - q), reward, {"new": value(p), "production": value(q)}, **declared)


def simulated(name: str, drawn: Callable[..., Any]) -> None:
    @law(name)
    def draw(rng: Rng, delta: float) -> list[Claim]:
        one = drawn(rng, 1, some_rounds(rng))
        values = {"new": one.true_value, "production": one.production_value}
        return both(three_columns(one.weights[0], one.propensity[0], one.reward[0], values), delta)


for _name, _drawn in SIMULATORS.items():
    simulated(_name, _drawn)
simulated("weights of 600", from_law(WRITTEN_OUT["heavy"]))


@law("weights without a mean square, harder")
def harder_tails(rng: Rng, delta: float) -> list[Claim]:
    return both(harder_tailed(rng, some_rounds(rng)), delta)


def harder_tailed(rng: Rng, rounds: int) -> World:
    """The propensity of the good action is U^4."""
    q = np.maximum(rng.random(rounds) ** 4, 1e-9)
    return two_actions(rng, rounds, logging=q, candidate=0.5, means=(0.9, 0.1))


@law("a tiny propensity, seldom seen")
def tiny(rng: Rng, delta: float) -> list[Claim]:
    q = 10.0 ** -rng.uniform(1, 5)
    return both(two_actions(rng, some_rounds(rng), logging=q, candidate=0.9, means=(0.3, 0.6)), delta)


@law("rewards of 0.1%")
def very_rare(rng: Rng, delta: float) -> list[Claim]:
    return both(two_actions(rng, some_rounds(rng, 500, 3_000), logging=0.3, candidate=0.8, means=(0.001, 0.002)), delta)


@law("rewards of 99%")
def frequent(rng: Rng, delta: float) -> list[Claim]:
    return both(two_actions(rng, some_rounds(rng), logging=0.3, candidate=0.8, means=(0.985, 0.995)), delta)


@law("every reward is 1")
def always(rng: Rng, delta: float) -> list[Claim]:
    return both(two_actions(rng, some_rounds(rng), logging=rng.uniform(0.05, 0.95), candidate=0.5, means=(1, 1)), delta)


@law("no reward at all")
def never(rng: Rng, delta: float) -> list[Claim]:
    return both(two_actions(rng, some_rounds(rng), logging=rng.uniform(0.05, 0.95), candidate=0.5, means=(0, 0)), delta)


@law("a candidate that is no better")
def null(rng: Rng, delta: float) -> list[Claim]:
    mean = rng.uniform(0.02, 0.98)
    return both(
        two_actions(rng, some_rounds(rng), logging=rng.uniform(0.02, 0.98), candidate=rng.random(), means=(mean, mean)),
        delta,
    )


@law("the candidate is production")
def itself(rng: Rng, delta: float) -> list[Claim]:
    q = rng.uniform(0.1, 0.9)
    return both(two_actions(rng, some_rounds(rng), logging=q, candidate=q, means=(0.2, 0.7)), delta)


@law("a few rounds")
def few(rng: Rng, delta: float) -> list[Claim]:
    rounds = int(rng.integers(1, 15))
    return both(
        two_actions(rng, rounds, logging=rng.uniform(0.05, 0.95), candidate=rng.random(), means=tuple(rng.random(2))),
        delta,
    )


@law("fair bets, where the bound is nearly exact")
def nearly_exact(rng: Rng, delta: float) -> list[Claim]:
    """Terms of 0 and 1 at even odds multiply the wealth by 2/3 or 4/3; looked at where it is largest."""
    rounds = 400
    terms = (rng.random(rounds) < 0.5).astype(np.float64)
    wealth = np.cumsum(np.log1p(terms)) - np.arange(1, rounds + 1) * np.log1p(0.5)
    stop = int(wealth.argmax()) + 1
    half = np.full(stop, 0.5)
    world = three_columns(2.0 * terms[:stop], half, half, {"new": 0.5, "production": 0.5})
    missed = value_missed(world, delta, sides="lower", method="logarithmic-smoothing", smoothing=1.0)
    return [Claim("value, lower", delta, missed)]


@law("a deterministic candidate")
def deterministic(rng: Rng, delta: float) -> list[Claim]:
    rounds, actions = some_rounds(rng), 4
    logging, means = rng.dirichlet(np.ones(actions)), rng.random(actions)
    action, choice = rng.choice(actions, rounds, p=logging), rng.integers(0, actions, rounds)
    columns = {"r": coins(rng, means[action]), "q": logging[action], "a": action, "choice": choice}
    values: dict[str, Any] = {"new": means[choice], "production": float(logging @ means)}
    world = World(columns, {**DECLARED, "action": "a", "action_count": actions}, {"new": sl.chosen("choice")}, values)
    greedy = World(columns, world.declared, {"new": sl.epsilon_greedy(sl.chosen("choice"), 0.1)}, {
        "new": 0.9 * means[choice] + 0.1 * means.mean(), "production": values["production"],
    })  # fmt: skip
    return both(greedy if rng.random() < 0.5 else world, delta)


@law("an action that production never takes")
def unsupported(rng: Rng, delta: float) -> list[Claim]:
    """The candidate takes it half of the time, and its reward is 1, or 0."""
    q, best = rng.uniform(0.1, 0.9), float(rng.integers(0, 2))
    world = two_actions(rng, some_rounds(rng), logging=q, candidate=0.5, means=(0.4, 0.6))
    halved = {**world.columns, "new": 0.5 * world.columns["new"]}
    values = {"new": 0.25 + 0.5 * best, "production": world.values["production"]}
    return both(World(halved, world.declared, world.policies, values), delta)


@law("a candidate in a share of decisions")
def blended(rng: Rng, delta: float) -> list[Claim]:
    alpha = 10.0 ** -rng.uniform(0, 3)
    world = two_actions(rng, some_rounds(rng), logging=rng.uniform(0.05, 0.95), candidate=rng.random(), means=(0.3, 0.4))
    new, now = world.truth("new"), world.truth("production")
    values = {"new": now + alpha * (new - now), "production": now}
    return both(World(world.columns, world.declared, {"new": sl.blend("new", alpha)}, values), delta)


@law("graded rewards")
def graded(rng: Rng, delta: float) -> list[Claim]:
    world = two_actions(rng, some_rounds(rng), logging=0.2, candidate=0.9, means=(0, 0))
    first = np.asarray(world.columns["q"]) < 0.5
    a, b, c, d = rng.uniform(0.2, 3.0, 4).tolist()
    low, high = a / (a + b), c / (c + d)
    reward = np.where(first, rng.beta(a, b, world.rounds), rng.beta(c, d, world.rounds))
    values = {"new": 0.9 * low + 0.1 * high, "production": 0.2 * low + 0.8 * high}
    return both(World({**world.columns, "r": reward}, world.declared, world.policies, values), delta)


@law("costs")
def costs(rng: Rng, delta: float) -> list[Claim]:
    least, most = -3.0, 17.0
    world = two_actions(rng, some_rounds(rng), logging=0.3, candidate=0.7, means=(0.3, 0.6))
    declared = {"cost": "r", "propensity": "q", "reward_range": (least, most)}
    return both(_in_units(world, declared, least, most), delta)


@law("rewards in a range of their own")
def ranged(rng: Rng, delta: float) -> list[Claim]:
    least, most = -5.0, 80.0
    world = two_actions(rng, some_rounds(rng), logging=0.3, candidate=0.7, means=(0.3, 0.6))
    return both(_in_units(world, {**DECLARED, "reward_range": (least, most)}, least, most), delta)


def _in_units(world: World, declared: dict[str, Any], least: float, most: float) -> World:
    columns = {**world.columns, "r": least + (most - least) * np.asarray(world.columns["r"])}
    values = {name: least + (most - least) * np.asarray(value) for name, value in world.values.items()}
    return World(columns, declared, world.policies, values)


@law("log-probabilities")
def logarithms(rng: Rng, delta: float) -> list[Claim]:
    world = two_actions(rng, some_rounds(rng), logging=10.0 ** -rng.uniform(1, 3), candidate=0.2, means=(0.3, 0.6))
    columns = {**world.columns, "q": np.log(world.columns["q"])}
    return both(World(columns, {"reward": "r", "log_propensity": "q"}, world.policies, world.values), delta)


@law("a largest weight that is known")
def bounded(rng: Rng, delta: float) -> list[Claim]:
    q, p = rng.uniform(0.05, 0.95, 2)
    largest = max(p / q, (1 - p) / (1 - q)) * (1 + 1e-9)
    world = two_actions(rng, some_rounds(rng), logging=q, candidate=p, means=tuple(rng.random(2)))
    policy = sl.bounded("new", largest)
    if rng.random() < 0.5:
        return both(world.with_policies(new=policy), delta)
    new, now = world.truth("new"), world.truth("production")
    values = {"new": 0.7 * now + 0.3 * new, "production": now}
    return both(World(world.columns, world.declared, {"new": sl.blend(policy, 0.3)}, values), delta)


@law("two candidates against each other")
def rivals(rng: Rng, delta: float) -> list[Claim]:
    world = two_actions(rng, some_rounds(rng), logging=0.4, candidate=0.8, means=(0.5, 0.3))
    first = np.isclose(np.asarray(world.columns["q"]), 0.4)
    columns = {**world.columns, "rival": np.where(first, 0.1, 0.9)}
    values = {**world.values, "rival": 0.1 * 0.5 + 0.9 * 0.3}
    rivals = World(columns, world.declared, {"new": "new", "rival": "rival"}, values)
    return [*value_claims(rivals, delta), *improvement_claims(rivals, delta, over="rival")]


@law("the planned grid, at its one look")
def planned(rng: Rng, delta: float) -> list[Claim]:
    return both(two_actions(rng, some_rounds(rng), logging=0.1, candidate=0.5, means=(0.3, 0.6)), delta, grid="planned")


def other_bound(method: str, **options: Any) -> None:
    @law(f"the bound {method}")
    def draw(rng: Rng, delta: float) -> list[Claim]:
        q = rng.uniform(0.1, 0.9)
        world = two_actions(rng, some_rounds(rng, 20), logging=q, candidate=rng.random(), means=tuple(rng.random(2)))
        return value_claims(world, delta, method=method, **options)


other_bound("logarithmic-smoothing")
other_bound("second-moment")
other_bound("moments", order=3)
other_bound("implicit-exploration")
other_bound("empirical-bernstein", clip=5.0)


@law("propensities by fresh draws of production")
def by_draws(rng: Rng, delta: float) -> list[Claim]:
    """(K + 1)/(M + 1), with draws of their own for every round."""
    rounds, draws = some_rounds(rng), int(rng.integers(3, 40))
    world = two_actions(rng, rounds, logging=0.3, candidate=0.6, means=(0.7, 0.4))
    estimated = (rng.binomial(draws, np.asarray(world.columns["q"])) + 1) / (draws + 1)
    return both(World({**world.columns, "q": estimated}, world.declared, world.policies, world.values), delta)


@law("a candidate known by fresh draws")
def candidate_by_draws(rng: Rng, delta: float) -> list[Claim]:
    rounds, draws = some_rounds(rng), int(rng.integers(1, 20))
    world = two_actions(rng, rounds, logging=0.3, candidate=0.6, means=(0.7, 0.4))
    drawn = rng.binomial(draws, np.asarray(world.columns["new"])) / draws
    return both(World({**world.columns, "new": drawn}, world.declared, world.policies, world.values), delta)
