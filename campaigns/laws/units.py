"""Clusters of rounds that depend on each other, and logs of which only a part was kept."""

from dataclasses import replace
from typing import Any

import numpy as np

import surelift as sl
from campaigns.laws.growing import two_armed
from campaigns.laws.law import Claim, World, both, coins, entries, law, some_rounds
from campaigns.laws.plain import DECLARED, two_actions
from campaigns.laws.vectors import contextual, one
from surelift.arrays import FloatArray, IntArray

Rng = np.random.Generator


def users(rng: Rng, sizes: IntArray, *, vectors: bool) -> World:
    """Each user has a taste for the first action that all of its rounds share, and a habit of production's."""
    user = np.repeat(np.arange(len(sizes)), sizes)
    taste, habit = rng.beta(0.3, 0.3, len(sizes)), rng.uniform(0.05, 0.95, len(sizes))
    first, candidate = habit[user], rng.random()
    taken = (rng.random(len(user)) >= first).astype(np.int64)
    # A taste that is 1/2 on average, whatever the habit: the truth is that of all users, not of these.
    earned = coins(rng, np.where(taken == 0, taste[user], 1 - taste[user]))
    world = two_armed(first, taken, earned, candidate, np.full((len(user), 2), 0.5))
    declared: dict[str, Any] = {**DECLARED, "cluster": "user"}
    policies: dict[str, Any] = {"new": "new"}
    if vectors:
        declared |= {"action": "a", "logging": ["l0", "l1"]}
        policies = {"new": ["n0", "n1"]}
    columns = {**world.columns, "user": user, "size": np.repeat(sizes, sizes)}
    return World(columns, declared, policies, {"new": 0.5, "production": 0.5})


def of_users(name: str, *, vectors: bool, varying: bool) -> None:
    @law(name, logs=25)
    def draw(rng: Rng, delta: float) -> list[Claim]:
        clusters = some_rounds(rng, 20, 200)
        sizes = rng.integers(1, 8, clusters) if varying else np.full(clusters, int(rng.integers(2, 20)))
        world = users(rng, sizes, vectors=vectors)
        size = "size" if varying else int(sizes[0])
        return both(replace(world, declared={**world.declared, "cluster_size": size}), delta)


of_users("users of one size", vectors=False, varying=False)
of_users("users of several sizes", vectors=False, varying=True)
of_users("users with weight control", vectors=True, varying=True)


@law("users who try until they succeed", logs=25)
def until_success(rng: Rng, delta: float) -> list[Claim]:
    """The size of a cluster depends on its rewards; the candidate acts at a round, the others as production played them."""
    clusters, most = some_rounds(rng, 20, 200), int(rng.integers(2, 6))
    means, first, candidate = rng.uniform(0.05, 0.9, 2), rng.uniform(0.1, 0.9), rng.random()
    taken = (rng.random((clusters, most)) >= first).astype(np.int64)
    earned = coins(rng, means[taken])
    before = np.cumsum(earned, axis=1) - earned
    happened = before == 0
    now, new = (float(np.array([share, 1 - share]) @ means) for share in (first, candidate))
    # The chance that a round k happens is (1 - now)^k; missing rounds earn nothing.
    share = sum((1 - now) ** k for k in range(most)) / most
    user = np.broadcast_to(np.arange(clusters)[:, None], happened.shape)[happened]
    flat = two_armed(np.full(len(user), first), taken[happened], earned[happened], candidate, np.zeros((len(user), 2)))
    declared = {**DECLARED, "cluster": "user", "cluster_max": most}
    values = {"new": share * new, "production": share * now}
    return both(World({**flat.columns, "user": user}, declared, {"new": "new"}, values), delta)


def kept(rng: Rng, world: World, keep: FloatArray) -> World:
    """The rounds that were kept, each by its own coin, and how many there were."""
    whole, chosen = world.rounds, rng.random(world.rounds) < keep
    if not chosen.any():
        chosen[int(rng.integers(whole))] = True
    columns = {name: np.asarray(column)[chosen] for name, column in {**world.columns, "k": keep}.items()}
    values = {name: world.truth(name) for name in world.values}
    declared = {**world.declared, "keep_probability": "k", "rounds_before_sampling": whole}
    return replace(world, columns=columns, declared=declared, values=values)


@law("all that earned, and a few of the rest")
def by_reward(rng: Rng, delta: float) -> list[Claim]:
    world = two_actions(rng, some_rounds(rng, 300, 3_000), logging=0.2, candidate=0.7, means=(0.05, 0.02))
    return both(kept(rng, world, np.where(world.columns["r"] > 0, 1.0, rng.uniform(0.02, 0.3))), delta)


@law("all that earned nothing, and a few of the rest")
def by_failure(rng: Rng, delta: float) -> list[Claim]:
    world = two_actions(rng, some_rounds(rng, 300, 3_000), logging=0.2, candidate=0.7, means=(0.9, 0.8))
    return both(kept(rng, world, np.where(world.columns["r"] > 0, rng.uniform(0.02, 0.3), 1.0)), delta)


@law("kept by action and reward, with weight control")
def by_both(rng: Rng, delta: float) -> list[Claim]:
    world = one(contextual(rng, some_rounds(rng, 200)))
    keep = rng.uniform(0.05, 1.0, (3, 2))[world.columns["a"], world.columns["r"].astype(int)]
    return both(kept(rng, world, keep), delta)


@law("a constant share kept, of a number that is lost")
def by_nothing(rng: Rng, delta: float) -> list[Claim]:
    whole = two_actions(rng, some_rounds(rng), logging=0.2, candidate=0.7, means=(0.4, 0.2))
    world = kept(rng, whole, np.full(whole.rounds, 0.5))
    declared = {name: value for name, value in world.declared.items() if name != "rounds_before_sampling"}
    return both(replace(world, declared=declared), delta)


@law("users kept or dropped whole", logs=25)
def whole_users(rng: Rng, delta: float) -> list[Claim]:
    clusters = some_rounds(rng, 50, 300)
    sizes = np.full(clusters, 4)
    world = users(rng, sizes, vectors=bool(rng.random() < 0.5))
    happy = np.add.reduceat(world.columns["r"], np.arange(0, 4 * clusters, 4)) > 2
    keep = np.where(happy, 0.9, 0.2)
    chosen = rng.random(clusters) < keep
    chosen[0] = True if not chosen.any() else chosen[0]
    rows = np.repeat(chosen, 4)
    columns = {name: np.asarray(column)[rows] for name, column in {**world.columns, "k": np.repeat(keep, 4)}.items()}
    declared = {
        **world.declared, "cluster_size": 4, "keep_probability": "k", "rounds_before_sampling": clusters,
    }  # fmt: skip
    return both(replace(world, columns=columns, declared=declared), delta)


@law("slates by the product of their positions", logs=25)
def product(rng: Rng, delta: float) -> list[Claim]:
    """Items without replacement, each drawn given those before; the reward depends on the whole slate."""
    slates, items, positions = some_rounds(rng, 50, 300), 4, 2
    logging, new = rng.dirichlet(np.ones(items) * 2), rng.dirichlet(np.ones(items) * 2)
    rewards = rng.random((items, items))
    columns, values = rankings(rng, slates, logging, new, rewards)
    imported = sl.importers.slates(
        columns,
        {"new": "new"},
        slate="slate",
        reward="r",
        propensity="q",
        weight="product",
        probabilities="conditional",
    )
    assert len(columns["r"]) == slates * positions
    return _imported(imported, values, delta)


def rankings(rng: Rng, slates: int, logging: FloatArray, new: FloatArray, rewards: FloatArray) -> tuple[Any, Any]:
    """Two positions without replacement; the reward of a slate stands in both of its rows."""
    first = rng.choice(len(logging), slates, p=logging)
    rest = np.where(np.arange(len(logging)) == first[:, None], 0.0, logging)
    rest /= rest.sum(axis=1, keepdims=True)
    second = (rng.random(slates)[:, None] >= np.cumsum(rest, axis=1)[:, :-1]).sum(axis=1)
    earned = coins(rng, rewards[first, second])

    def chances(policy: FloatArray) -> FloatArray:
        return np.stack([policy[first], policy[second] / (1 - policy[first])], axis=1).ravel()

    def value(policy: FloatArray) -> float:
        pairs = policy[:, None] * policy[None, :] / (1 - policy[:, None]) * (1 - np.eye(len(policy)))
        return float((pairs * rewards).sum())

    columns = {
        "slate": np.repeat(np.arange(slates), 2),
        "r": np.repeat(earned, 2),
        "q": chances(logging),
        "new": chances(new),
    }
    return columns, {"new": value(new), "production": value(logging)}


@law("slates of independent positions", logs=25)
def independent(rng: Rng, delta: float) -> list[Claim]:
    slates, items, positions = some_rounds(rng, 50, 300), 4, int(rng.integers(2, 5))
    logging, new, rates = rng.dirichlet(np.ones(items)), rng.dirichlet(np.ones(items)), rng.random(items)
    shown = rng.choice(items, (slates, positions), p=logging)
    mood = rng.uniform(-1, 1, (slates, 1))
    # The mood of a visitor moves all rewards of a slate, up and down alike.
    means = rates[shown] + mood * np.minimum(rates, 1 - rates)[shown]
    columns = {
        "slate": np.repeat(np.arange(slates), positions), "r": coins(rng, means).ravel(), "q": logging[shown].ravel(),
        "new": new[shown].ravel(),
    }  # fmt: skip
    imported = sl.importers.slates(
        columns, {"new": "new"}, slate="slate", reward="r", propensity="q", weight="independent",
        probabilities="independent", size=positions,
    )  # fmt: skip
    return _imported(imported, {"new": float(new @ rates), "production": float(logging @ rates)}, delta)


def _imported(imported: Any, values: dict[str, float], delta: float) -> list[Claim]:
    return both(Imported(imported.logs, imported.policies, values), delta)


class Imported(World):
    """A world whose logs came from an importer."""

    def __init__(self, logs: sl.Logs, policies: Any, values: dict[str, float]) -> None:
        super().__init__(entries("", np.zeros((1, 1))), {}, policies, values)
        vars(self)["logs"] = logs
