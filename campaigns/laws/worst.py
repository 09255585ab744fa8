"""Logs looked at where the evidence for a false claim is largest: the promise at any look is then nearly used up.

At one look a bound that promises delta misses much more seldom. Stopped at its worst look, a single smoothing misses almost
as often as it may, so that half of what it pays is missed here.
"""

from dataclasses import replace
from typing import Any

import numpy as np

import surelift as sl
from campaigns.laws.growing import learned, two_armed
from campaigns.laws.law import Claim, World, coins, law, outside
from campaigns.laws.plain import harder_tailed, two_actions
from campaigns.laws.units import kept, users
from surelift.arrays import FloatArray
from surelift.grids import Grid

Rng = np.random.Generator
ROUNDS = 400
QUANTITIES = ("value", "shortfall", "improvement", "decline")


def some_grid(rng: Rng, paired: bool) -> Grid:
    """The default, or one smoothing of a size that matters within the log."""
    if rng.random() < 0.25:
        return sl.grids.anytime()
    return sl.grids.single(float(2.0 ** rng.uniform(-1, 1 if paired else 3)))


def terms_of(world: World, quantity: str) -> tuple[FloatArray, FloatArray, float]:
    """Of every round its term, what it is on average given the past, and how far below zero it can be."""
    columns = world.columns
    weight, reward = columns["new"] / columns["q"], columns["r"]
    new, now = (np.broadcast_to(world.values[name], weight.shape) for name in ("new", "production"))
    if quantity == "value":
        return weight * reward, new, 0.0
    if quantity == "shortfall":
        return weight * (1 - reward), 1 - new, 0.0
    if quantity == "improvement":
        return (weight - 1) * reward, new - now, 1.0
    return (weight - 1) * (1 - reward), now - new, 1.0


def worst_look(terms: FloatArray, means: FloatArray, grid: Grid) -> int:
    """After how many units most speaks against the truth; ``terms`` and ``means`` have their offset added."""
    counts = np.arange(1, len(terms) + 1)
    average = np.cumsum(means) / counts
    smoothings = np.array(grid.smoothings)[:, None]
    wealth = np.cumsum(np.log1p(smoothings * terms), axis=1) - counts * np.log1p(smoothings * average)
    return int(np.logaddexp.reduce(np.log(grid.prior)[:, None] + wealth, axis=0).argmax()) + 1


def claim(world: World, quantity: str, grid: Grid, delta: float) -> list[Claim]:
    name = f"{quantity}, at the worst look"
    paired = quantity in ("improvement", "decline")
    try:
        if paired:
            found = sl.compare(world.logs, world.policies, delta=delta, grid=grid)
            below, above = outside(found.lower, found.upper, world.improvement("new"))
        else:
            side: Any = "lower" if quantity == "value" else "upper"
            value = sl.evaluate(world.logs, world.policies, delta=delta, grid=grid, sides=side)["new"]
            below, above = outside(value.lower, value.upper, world.truth("new"))
    except sl.LogsError:
        # Bounds that contradict each other, or the range: one of them has missed.
        return [Claim(name, delta, not paired), Claim(f"{name}, or refused", 2 * delta, True)]
    missed = below if quantity in ("value", "improvement") else above
    return [Claim(name, delta, missed), Claim(f"{name}, or refused", 2 * delta, missed)]


def ask(rng: Rng, world: World, delta: float) -> list[Claim]:
    quantity = str(rng.choice(QUANTITIES))
    terms, means, offset = terms_of(world, quantity)
    grid = some_grid(rng, offset > 0)
    return claim(world.part(0, worst_look(terms + offset, means + offset, grid)), quantity, grid, delta)


@law("the worst look, even odds")
def even(rng: Rng, delta: float) -> list[Claim]:
    return ask(rng, two_actions(rng, ROUNDS, logging=0.5, candidate=rng.random(), means=tuple(rng.random(2))), delta)


@law("the worst look, heavy tails")
def tails(rng: Rng, delta: float) -> list[Claim]:
    return ask(rng, harder_tailed(rng, ROUNDS), delta)


@law("the worst look, rare rewards")
def rare(rng: Rng, delta: float) -> list[Claim]:
    return ask(rng, two_actions(rng, 5 * ROUNDS, logging=0.3, candidate=0.7, means=(0.01, 0.02)), delta)


@law("the worst look, frequent rewards")
def frequent(rng: Rng, delta: float) -> list[Claim]:
    return ask(rng, two_actions(rng, ROUNDS, logging=0.3, candidate=0.7, means=(0.98, 0.99)), delta)


@law("the worst look, a useless candidate")
def useless(rng: Rng, delta: float) -> list[Claim]:
    mean = rng.uniform(0.1, 0.9)
    return ask(rng, two_actions(rng, ROUNDS, logging=0.2, candidate=rng.random(), means=(mean, mean)), delta)


def bandit(rule: str) -> None:
    @law(f"the worst look, production learns, {rule}")
    def draw(rng: Rng, delta: float) -> list[Claim]:
        return ask(rng, learned(rng, ROUNDS, rule=rule, candidate=rng.random(), means=rng.random(2)), delta)


for _rule in ("greedy", "thompson", "gambling"):
    bandit(_rule)


@law("the worst look, the world drifts")
def drift(rng: Rng, delta: float) -> list[Claim]:
    steps = np.arange(ROUNDS) / rng.uniform(5, 100)
    paths = np.stack([0.5 + 0.45 * np.sin(steps), 0.5 + 0.45 * np.cos(steps)], axis=1)
    first = rng.uniform(0.1, 0.9, ROUNDS)
    taken = (rng.random(ROUNDS) >= first).astype(np.int64)
    earned = coins(rng, paths[np.arange(ROUNDS), taken])
    return ask(rng, two_armed(first, taken, earned, rng.random(), paths), delta)


@law("the worst look, users", logs=25)
def of_users(rng: Rng, delta: float) -> list[Claim]:
    size, clusters = int(rng.integers(2, 8)), 200
    world = users(rng, np.full(clusters, size), vectors=False)
    quantity = str(rng.choice(QUANTITIES))
    terms, means, offset = terms_of(world, quantity)
    grid = some_grid(rng, offset > 0)
    of_cluster, mean = (each.reshape(clusters, size).mean(axis=1) + offset for each in (terms, means))
    asked = world.part(0, size * worst_look(of_cluster, mean, grid))
    return claim(replace(asked, declared={**world.declared, "cluster_size": size}), quantity, grid, delta)


@law("the worst look, a sampled log")
def sampled(rng: Rng, delta: float) -> list[Claim]:
    whole = two_actions(rng, ROUNDS, logging=0.4, candidate=rng.random(), means=tuple(rng.random(2)))
    happy, sad = rng.uniform(0.2, 1.0, 2)
    keep = np.where(whole.columns["r"] > 0, happy, sad)
    number = np.arange(ROUNDS)
    world = kept(rng, replace(whole, columns={**whole.columns, "number": number}), keep)
    rows = world.columns["number"]
    quantity = str(rng.choice(QUANTITIES))
    terms, means, offset = terms_of(whole, quantity)
    grid = some_grid(rng, offset > 0)
    stand = np.zeros(ROUNDS)
    stand[rows] = (terms[rows] + offset) / keep[rows]
    rounds = max(worst_look(stand, means + offset, grid), int(rows[0]) + 1)
    part = replace(world.part(0, int((rows < rounds).sum())), values=whole.part(0, rounds).values)
    return claim(replace(part, declared={**part.declared, "rounds_before_sampling": rounds}), quantity, grid, delta)
