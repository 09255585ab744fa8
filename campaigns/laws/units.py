"""Clusters of rounds that depend on each other, and logs of which only a part was kept."""

from dataclasses import replace
from typing import Any

import numpy as np

import surelift as sl
from campaigns.laws.growing import two_armed
from campaigns.laws.law import Claim, World, both, coins, draw_actions, entries, law, some_rounds
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


def without_replacement(rng: Rng, slates: int, logging: FloatArray) -> tuple[IntArray, IntArray]:
    """The items in two positions."""
    first = rng.choice(len(logging), slates, p=logging)
    rest = np.where(np.arange(len(logging)) == first[:, None], 0.0, logging)
    rest /= rest.sum(axis=1, keepdims=True)
    return first, draw_actions(rng, rest)


def pairs(policy: FloatArray) -> FloatArray:
    """The probability of every pair of items."""
    return np.asarray(policy[:, None] * policy[None, :] / (1 - policy[:, None]) * (1 - np.eye(len(policy))))


def of_positions(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.stack([first, second], axis=1).ravel()


def two_policies(rng: Rng, items: int) -> dict[str, FloatArray]:
    return {name: rng.dirichlet(np.full(items, 2.0)) for name in ("production", "new")}


@law("rankings by the product of their positions", logs=25)
def product(rng: Rng, delta: float) -> list[Claim]:
    """Each item is drawn given those before; the reward depends on the whole slate and stands in both of its rows."""
    slates, rewards = some_rounds(rng, 50, 300), rng.random((4, 4))
    policies = two_policies(rng, 4)
    first, second = without_replacement(rng, slates, policies["production"])
    chances = {name: of_positions(each[first], each[second] / (1 - each[first])) for name, each in policies.items()}
    columns = {"r": np.repeat(coins(rng, rewards[first, second]), 2), **chances}
    values = {name: float((pairs(each) * rewards).sum()) for name, each in policies.items()}
    return of_slates(columns, values, delta, weight="product", probabilities="conditional")


@law("rankings by marginal probabilities", logs=25)
def marginal(rng: Rng, delta: float) -> list[Claim]:
    """Without replacement too, and the reward of a position depends on its own item; a slate has a mood."""
    slates, rates = some_rounds(rng, 50, 300), rng.random(4)
    policies = two_policies(rng, 4)
    first, second = without_replacement(rng, slates, policies["production"])
    second_share = {name: pairs(each).sum(axis=0) for name, each in policies.items()}
    chances = {name: of_positions(each[first], second_share[name][second]) for name, each in policies.items()}
    columns = {"r": in_a_mood(rng, rates, np.stack([first, second], axis=1)), **chances}
    values = {name: float((each + second_share[name]) @ rates) / 2 for name, each in policies.items()}
    return of_slates(columns, values, delta, weight="independent", probabilities="marginal", size=2)


@law("slates of independent positions", logs=25)
def independent(rng: Rng, delta: float) -> list[Claim]:
    slates, positions, rates = some_rounds(rng, 50, 300), int(rng.integers(2, 5)), rng.random(4)
    policies = two_policies(rng, 4)
    shown = rng.choice(4, (slates, positions), p=policies["production"])
    columns = {"r": in_a_mood(rng, rates, shown), **{name: each[shown].ravel() for name, each in policies.items()}}
    values = {name: float(each @ rates) for name, each in policies.items()}
    by_product = bool(rng.random() < 0.3)
    weight: dict[str, Any] = {"weight": "product"} if by_product else {"weight": "independent", "size": positions}
    return of_slates(columns, values, delta, positions, probabilities="independent", **weight)


def in_a_mood(rng: Rng, rates: FloatArray, shown: IntArray) -> FloatArray:
    """The mood of a visitor moves all rewards of a slate, up and down alike."""
    mood = rng.uniform(-1, 1, (len(shown), 1))
    return coins(rng, rates[shown] + mood * np.minimum(rates, 1 - rates)[shown]).ravel()


def of_slates(
    columns: dict[str, Any], values: dict[str, float], delta: float, positions: int = 2, **options: Any
) -> list[Claim]:
    table = {**columns, "slate": np.arange(len(columns["r"])) // positions}
    imported = sl.importers.slates(table, {"new": "new"}, slate="slate", reward="r", propensity="production", **options)
    return both(Imported(imported.logs, imported.policies, values), delta)


class Imported(World):
    """A world whose logs came from an importer."""

    def __init__(self, logs: sl.Logs, policies: Any, values: dict[str, float]) -> None:
        super().__init__(entries("", np.zeros((1, 1))), {}, policies, values)
        vars(self)["logs"] = logs
