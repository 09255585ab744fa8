"""Logs that grow: production learns, the world drifts, and one looks again and again."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import erf, sqrt
from typing import Any

import numpy as np

import surelift as sl
from campaigns.laws.law import Claim, World, coins, improvement_claims, law, outside, sides, value_claims
from campaigns.laws.plain import DECLARED, two_actions
from campaigns.laws.vectors import contextual, one
from surelift.arrays import FloatArray

Rng = np.random.Generator


def learned(rng: Rng, rounds: int, *, rule: str, candidate: float, means: Iterable[Any]) -> World:
    """Two actions; ``rule`` says how production chooses by what it has earned so far. ``means`` may change with time."""
    paths = np.stack([np.broadcast_to(mean, rounds) for mean in means], axis=1)
    pulls, wins, wealth = [1.0, 1.0], [0.5, 0.5], 0.0
    uniform = rng.random((rounds, 2)).tolist()
    first, taken, earned = np.empty(rounds), np.empty(rounds, dtype=np.int64), np.empty(rounds)
    for i, (coin, luck) in enumerate(uniform):
        rates = [wins[0] / pulls[0], wins[1] / pulls[1]]
        if rule == "greedy":
            share = 0.95 if rates[0] > rates[1] else 0.05
        elif rule == "decaying":
            least = 0.5 / sqrt(i + 1)
            share = 1 - least if rates[0] > rates[1] else least
        elif rule == "thompson":
            # The probability that one normal belief exceeds the other, in closed form.
            apart = sqrt(sum(rate * (1 - rate) / pull for rate, pull in zip(rates, pulls, strict=True)) + 1e-9)
            share = min(max(0.5 * (1 + erf((rates[0] - rates[1]) / apart / sqrt(2))), 1e-3), 1 - 1e-3)
        else:
            # It explores as long as the weighted rewards look good, and stops where they do not.
            share = 0.02 if wealth > 0 else 0.5
        action = int(coin >= share)
        reward = float(luck < paths[i, action])
        chance = share if action == 0 else 1 - share
        weight = (candidate if action == 0 else 1 - candidate) / chance
        wealth += weight * reward - (candidate * paths[i, 0] + (1 - candidate) * paths[i, 1])
        pulls[action] += 1
        wins[action] += reward
        first[i], taken[i], earned[i] = share, action, reward
    return two_armed(first, taken, earned, candidate, paths)


def two_armed(first: FloatArray, taken: Any, earned: FloatArray, candidate: Any, paths: FloatArray) -> World:
    """The probability of the first action in every round, what was taken and earned, and the expected rewards."""
    logging = np.stack([first, 1 - first], axis=1)
    new = np.broadcast_to(np.stack([candidate, 1 - np.asarray(candidate)], axis=-1), logging.shape)
    rows = np.arange(len(first))
    columns = {
        "r": earned, "q": logging[rows, taken], "a": taken, "new": new[rows, taken], "l0": first, "l1": 1 - first,
        "n0": new[:, 0], "n1": new[:, 1], "t": rows,
    }  # fmt: skip
    values = {"new": (new * paths).sum(axis=1), "production": (logging * paths).sum(axis=1)}
    return World(columns, DECLARED, {"new": "new"}, values)


def controlled(world: World) -> World:
    """The same log, with whole distributions."""
    declared = {**DECLARED, "action": "a", "logging": ["l0", "l1"]}
    return replace(world, declared=declared, policies={"new": ["n0", "n1"]})


def at_looks(world: World, delta: float, looks: Iterable[int], **options: Any) -> list[Claim]:
    """A claim is missed where it is missed at any look."""
    missed = dict[tuple[str, float], bool]()
    for rounds in looks:
        part = world.part(0, rounds)
        for claim in (*value_claims(part, delta, **options), *improvement_claims(part, delta, **options)):
            key = claim.name, claim.level
            missed[key] = missed.get(key, False) or claim.missed
    return [Claim(f"{name}, at any look", level, each) for (name, level), each in missed.items()]


def bandit(rule: str, *, vectors: bool = False) -> None:
    @law(f"production learns, {rule}{', with vectors' if vectors else ''}", logs=25)
    def draw(rng: Rng, delta: float) -> list[Claim]:
        rounds = int(rng.integers(60, 400))
        world = learned(rng, rounds, rule=rule, candidate=rng.random(), means=rng.random(2))
        return at_looks(controlled(world) if vectors else world, delta, [rounds // 3, rounds])


for _rule in ("greedy", "decaying", "thompson", "gambling"):
    bandit(_rule)
    bandit(_rule, vectors=True)


@law("the world drifts", logs=25)
def drift(rng: Rng, delta: float) -> list[Claim]:
    rounds = int(rng.integers(100, 800))
    waves = [0.5 + 0.45 * np.sin(np.arange(rounds) / rng.uniform(10, 200) + rng.uniform(0, 6)) for _ in range(2)]
    first = rng.uniform(0.05, 0.95, rounds)
    taken = (rng.random(rounds) >= first).astype(np.int64)
    paths = np.stack(waves, axis=1)
    earned = coins(rng, paths[np.arange(rounds), taken])
    world = two_armed(first, taken, earned, rng.random(), paths)
    return at_looks(controlled(world) if rng.random() < 0.5 else world, delta, [rounds // 4, rounds // 2, rounds])


@law("the world drifts and production learns", logs=25)
def drift_and_learning(rng: Rng, delta: float) -> list[Claim]:
    rounds = int(rng.integers(100, 400))
    means = [0.5 + 0.5 * np.sign(np.sin(np.arange(rounds) / 25 + shift)) * 0.8 for shift in (0.0, 3.0)]
    world = learned(rng, rounds, rule="greedy", candidate=0.5, means=means)
    return at_looks(controlled(world) if rng.random() < 0.5 else world, delta, [rounds // 4, rounds // 2, rounds])


def named_margins(world: World, delta: float, looks: Iterable[int], *, ratio: float | None = None) -> list[Claim]:
    """A margin in per cent that was named beforehand; and, where the ratio does not drift, the bounds in per cent."""
    margin = 0.1
    nothing = below = above = False
    for rounds in looks:
        part = world.part(0, rounds)
        try:
            found = sl.compare(part.logs, world.policies, delta=delta, margin=f"{100 * margin:g}%")
        except sl.LogsError:
            continue  # counted where the improvement is
        nothing |= found.certified and part.truth("new") <= (1 + margin) * part.truth("production")
        if ratio is not None:
            low, high = outside(found.relative_lower, found.relative_upper, ratio - 1)
            below, above = below or low, above or high
    claims = [Claim("certified in per cent for nothing, at any look", delta, bool(nothing))]
    if ratio is not None:
        claims += [Claim("lift, lower, at any look", delta, below), Claim("lift, upper, at any look", delta, above)]
    return claims


@law("the second half is set by what the first earned", logs=25)
def set_off(rng: Rng, delta: float) -> list[Claim]:
    rounds = int(rng.integers(10, 120))
    first, candidate = rng.uniform(0.05, 0.95), rng.random()
    half = rounds // 2
    means = np.tile(rng.random(2), (rounds, 1))
    taken = (rng.random(rounds) >= first).astype(np.int64)
    luck = rng.random(rounds)
    weight = np.where(taken == 0, candidate / first, (1 - candidate) / (1 - first))
    earned = (luck < means[np.arange(rounds), taken]).astype(np.float64)
    lucky = ((weight - 1) * earned)[:half].sum() > 0
    better, worse = (0, 1) if candidate > first else (1, 0)
    means[half:, worse if lucky else better] = rng.choice([0.9, 1.0])
    means[half:, better if lucky else worse] = rng.choice([0.0, 0.1])
    earned = (luck < means[np.arange(rounds), taken]).astype(np.float64)
    world = two_armed(np.full(rounds, first), taken, earned, candidate, means)
    looks = range(1, rounds + 1) if rounds < 40 else [half, half + 5, rounds]
    return [*at_looks(world, delta, looks), *named_margins(world, delta, looks)]


@law("drift fixed beforehand, looked at at every round", logs=5)
def seasons(rng: Rng, delta: float) -> list[Claim]:
    rounds, candidate = int(rng.integers(5, 60)), rng.choice([0.0, 1.0, rng.random()])
    first = rng.uniform(0.05, 0.95, rounds)
    pieces = rng.choice([0.0, 0.05, 0.5, 1.0], (4, 2))
    means = pieces[np.minimum(np.arange(rounds) * 4 // rounds, 3)]
    taken = (rng.random(rounds) >= first).astype(np.int64)
    world = two_armed(first, taken, coins(rng, means[np.arange(rounds), taken]), candidate, means)
    looks = range(1, rounds + 1)
    return [*at_looks(world, delta, looks), *named_margins(world, delta, looks)]


@law("one ratio, looked at at every round", logs=5)
def one_ratio(rng: Rng, delta: float) -> list[Claim]:
    """Rewards may drift where the ratio of the two values does not."""
    rounds, first, candidate = int(rng.integers(20, 120)), rng.uniform(0.1, 0.9), rng.choice([0.0, 1.0, rng.random()])
    means = rng.random(2) * rng.choice([1.0, 0.5, 0.1], rounds)[:, None]
    taken = (rng.random(rounds) >= first).astype(np.int64)
    world = two_armed(np.full(rounds, first), taken, coins(rng, means[np.arange(rounds), taken]), candidate, means)
    ratio = float(world.truth("new") / world.truth("production"))
    return named_margins(world, delta, range(1, rounds + 1), ratio=ratio)


@law("the candidate changes with time", logs=25)
def changing(rng: Rng, delta: float) -> list[Claim]:
    """It is a function of the rounds before: here it follows the action that earned last."""
    rounds = int(rng.integers(60, 400))
    world = learned(rng, rounds, rule="thompson", candidate=0.5, means=rng.random(2))
    columns = world.columns
    last = np.concatenate([[0], np.where(columns["r"] > 0, columns["a"], 1 - columns["a"])[:-1]])
    paths = np.broadcast_to(rng.random(2), (rounds, 2))
    earned = coins(rng, paths[np.arange(rounds), columns["a"]])
    return at_looks(two_armed(columns["l0"], columns["a"], earned, 0.9 - 0.8 * last, paths), delta, [rounds])


@law("a grown log, stopped where it looks best", logs=10)
def stopped(rng: Rng, delta: float) -> list[Claim]:
    mean = rng.uniform(0.1, 0.9)
    world = two_actions(rng, 600, logging=rng.uniform(0.05, 0.5), candidate=rng.random(), means=(mean, mean))
    return at_looks(world, delta, [20, 40, 80, 120, 200, 300, 450, 600])


def watch(world: World, delta: float, cuts: Sequence[int], question: str, **declared: Any) -> list[Claim]:
    """A monitor, asked after every batch."""
    monitor = sl.Monitor(world.policies, question=question, delta=delta, **world.declared, **declared)  # type: ignore[arg-type]
    below = above = refused = certified = False
    for first, last in pairwise(cuts):
        monitor.update(dict(world.part(first, last).columns))
        part = world.part(0, last)
        try:
            answer = monitor.answer()
        except sl.LogsError:
            refused = True
            continue
        if question == "evaluate":
            each = [outside(found.lower, found.upper, part.truth(name)) for name, found in answer.items()]  # type: ignore[union-attr]
        else:
            improvements = getattr(answer, "improvements", None) or {next(iter(world.policies)): answer}
            each = [outside(found.lower, found.upper, part.improvement(name)) for name, found in improvements.items()]
            certified |= any(found.certified and part.improvement(name) <= 0 for name, found in improvements.items())
        below, above = below or any(low for low, _ in each), above or any(high for _, high in each)
    if question == "evaluate":
        return [Claim("value, at any look", delta, below or above or refused)]
    return [
        *sides("improvement, at any look", delta, below, above, refused=refused),
        Claim("certified for nothing", delta, certified),
    ]


def cuts_of(rng: Rng, rounds: int, batches: int) -> list[int]:
    return [0, *sorted(rng.choice(np.arange(1, rounds), batches - 1, replace=False).tolist()), rounds]


@law("a monitor of a useless candidate, read after every batch", logs=10)
def useless(rng: Rng, delta: float) -> list[Claim]:
    mean = rng.uniform(0.05, 0.95)
    world = two_actions(rng, 800, logging=rng.uniform(0.05, 0.5), candidate=rng.random(), means=(mean, mean))
    return watch(world, delta, cuts_of(rng, 800, 12), "compare")


@law("a monitor of values", logs=10)
def values(rng: Rng, delta: float) -> list[Claim]:
    return watch(contextual(rng, 500), delta, cuts_of(rng, 500, 8), "evaluate")


@law("a monitor of several candidates", logs=10)
def several(rng: Rng, delta: float) -> list[Claim]:
    mean = rng.uniform(0.05, 0.95)
    return watch(contextual(rng, 500, means=np.full((3, 3), mean)), delta, cuts_of(rng, 500, 8), "compare")


@law("a monitor of a bandit that learns", logs=10)
def watched_bandit(rng: Rng, delta: float) -> list[Claim]:
    world = learned(rng, 400, rule="thompson", candidate=rng.random(), means=rng.random(2))
    return watch(controlled(world) if rng.random() < 0.5 else world, delta, cuts_of(rng, 400, 8), "compare")


@law("shards added up", logs=20)
def shards(rng: Rng, delta: float) -> list[Claim]:
    world = one(contextual(rng, 600))
    cuts = cuts_of(rng, 600, 3)
    total = None
    for number, (first, last) in enumerate(pairwise(cuts)):
        monitor = sl.Monitor(world.policies, delta=delta, name=str(number), **world.declared)
        monitor.update(dict(world.part(first, last).columns))
        total = monitor if total is None else total + monitor
    assert total is not None
    return _answered(world, delta, total.answer)


@law("partial sums", logs=20)
def parts(rng: Rng, delta: float) -> list[Claim]:
    world = one(contextual(rng, 600))
    question = sl.Question.of("compare", world.logs, world.policies, delta=delta)
    sums = [
        sl.partial_sums([dict(world.part(first, last).columns)], question) for first, last in pairwise(cuts_of(rng, 600, 4))
    ]
    return _answered(world, delta, lambda: question.answer(sums[3] + sums[1] + sums[0] + sums[2]))


def _answered(world: World, delta: float, answer: Any) -> list[Claim]:
    try:
        found = answer()
    except sl.LogsError:
        return sides("improvement", delta, False, False, refused=True)
    return sides("improvement", delta, *outside(found.lower, found.upper, world.improvement("new")))
