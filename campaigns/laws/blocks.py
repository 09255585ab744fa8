"""Bets in blocks, on independent rounds without drift; the truth is that of the law, not of the contexts that came."""

from typing import Any

import numpy as np

import surelift as sl
from campaigns.laws.law import Claim, World, both, coins, draw_actions, entries, improvement_claims, law, some_rounds
from campaigns.laws.law import at as entry_at
from surelift.arrays import FloatArray

Rng = np.random.Generator
BLOCKS: Any = {"method": "blocks"}


def drawn(
    rng: Rng, rounds: int, expected: FloatArray, logging: FloatArray, candidates: dict[str, FloatArray],
    chances: FloatArray, *, whole: bool = True,
) -> World:  # fmt: skip
    """Contexts with these chances; three columns where the whole distributions are not told."""
    context = rng.choice(len(chances), p=chances, size=rounds)
    action = draw_actions(rng, logging[context])
    columns: dict[str, Any] = {
        "r": coins(rng, entry_at(expected[context], action)),
        "q": entry_at(logging[context], action),
    }
    declared: dict[str, Any] = {"reward": "r", "propensity": "q"}
    values = {"production": float(chances @ (logging * expected).sum(axis=1))}
    policies: dict[str, Any] = {}
    if whole:
        columns |= {"a": action, **entries("l", logging[context])}
        declared |= {"action": "a", "logging": list(entries("l", logging))}
    for name, vectors in candidates.items():
        columns |= entries(name, vectors[context]) if whole else {name: entry_at(vectors[context], action)}
        policies[name] = list(entries(name, vectors)) if whole else name
        values[name] = float(chances @ (vectors * expected).sum(axis=1))
    return World(columns, declared, policies, values)


def contextual(rng: Rng, level: float | None = None, *, sharp: float = 1.0, whole: bool = True) -> World:
    """A law drawn anew for every log: its contexts, policies and expected rewards."""
    contexts, actions = int(rng.integers(1, 5)), int(rng.integers(2, 6))
    chances = rng.dirichlet(np.ones(contexts))
    logging, new, rival = (rng.dirichlet(np.full(actions, sharp), contexts) for _ in range(3))
    means = rng.random((contexts, actions))
    expected = means if level is None else np.clip(level * 2.0 * means, 0.0, 1.0)
    return drawn(rng, some_rounds(rng), expected, logging, {"new": new, "rival": rival}, chances, whole=whole)


def alone(world: World) -> World:
    return world.with_policies(new=world.policies["new"])


@law("blocks: three columns", logs=30)
def three_columns(rng: Rng, delta: float) -> list[Claim]:
    return both(alone(contextual(rng, whole=False)), delta, **BLOCKS)


@law("blocks: whole distributions", logs=20)
def whole_distributions(rng: Rng, delta: float) -> list[Claim]:
    return both(alone(contextual(rng)), delta, **BLOCKS)


@law("blocks: rare rewards", logs=20)
def rare_rewards(rng: Rng, delta: float) -> list[Claim]:
    return both(alone(contextual(rng, 0.02)), delta, **BLOCKS)


@law("blocks: frequent rewards", logs=20)
def frequent_rewards(rng: Rng, delta: float) -> list[Claim]:
    return both(alone(contextual(rng, 0.9)), delta, **BLOCKS)


@law("blocks: heavy weights", logs=20)
def heavy_weights(rng: Rng, delta: float) -> list[Claim]:
    return both(alone(contextual(rng, sharp=0.15)), delta, **BLOCKS)


@law("blocks: two candidates", logs=20)
def two_candidates(rng: Rng, delta: float) -> list[Claim]:
    return improvement_claims(contextual(rng), delta, over="rival", **BLOCKS)


@law("blocks: a blend", logs=20)
def a_blend(rng: Rng, delta: float) -> list[Claim]:
    world, alpha = contextual(rng), float(rng.choice([0.05, 0.3]))
    values = {**world.values, "new": (1 - alpha) * world.truth("production") + alpha * world.truth("new")}
    blended = World(world.columns, world.declared, {"new": sl.blend(world.policies["new"], alpha)}, values)
    return improvement_claims(blended, delta, **BLOCKS)


@law("blocks: one rare large weight", logs=30)
def one_rare_weight(rng: Rng, delta: float) -> list[Claim]:
    logging, new = np.array([[0.01, 0.99]]), np.array([[0.7, 0.3]])
    world = drawn(rng, 300, np.array([[0.9, 0.2]]), logging, {"new": new}, np.ones(1), whole=False)
    return both(world, delta, **BLOCKS)


@law("blocks: ids in no order", logs=20)
def by_id(rng: Rng, delta: float) -> list[Claim]:
    world = alone(contextual(rng))
    columns = {**world.columns, "i": rng.permutation(10 * world.rounds)[: world.rounds]}
    return both(World(columns, {**world.declared, "id": "i"}, world.policies, world.values), delta, **BLOCKS)


@law("blocks: sorted by reward", logs=20)
def sorted_rows(rng: Rng, delta: float) -> list[Claim]:
    """Rows in an order that tells of their contents: the hash of a row's number does not."""
    world = alone(contextual(rng))
    order = np.argsort(world.columns["r"], kind="stable")
    columns = {name: column[order] for name, column in world.columns.items()}
    return both(World(columns, world.declared, world.policies, world.values), delta, **BLOCKS)


@law("blocks: clusters", logs=20)
def clusters(rng: Rng, delta: float) -> list[Claim]:
    """Each user has a context, three rounds in it, and a reward rate of their own."""
    users, size = some_rounds(rng, 30, 300), 3
    logging, new = rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(2), 2)
    context = np.repeat(rng.integers(0, 2, users), size)
    rate = np.repeat(rng.choice([0.1, 0.8], users), size)
    action = draw_actions(rng, logging[context])
    expected = np.clip(rate[:, None] + np.array([0.0, 0.15]), 0.0, 1.0)
    columns = {
        "r": coins(rng, entry_at(expected, action)), "q": entry_at(logging[context], action), "a": action,
        "u": np.repeat(rng.permutation(users), size), **entries("l", logging[context]), **entries("n", new[context]),
    }  # fmt: skip
    declared = {
        "reward": "r",
        "propensity": "q",
        "action": "a",
        "logging": ["l0", "l1"],
        "cluster": "u",
        "cluster_size": size,
    }
    values = {name: float(0.45 + 0.15 * vectors[:, 1].mean()) for name, vectors in (("production", logging), ("new", new))}
    return both(World(columns, declared, {"new": ["n0", "n1"]}, values), delta, **BLOCKS)


@law("blocks: sampled by reward", logs=20)
def sampled(rng: Rng, delta: float) -> list[Claim]:
    """All successes and a fifth of the rest are kept, out of a known number of rounds."""
    world = alone(contextual(rng))
    keep = np.where(world.columns["r"] > 0.0, 1.0, 0.2)
    kept = rng.random(world.rounds) < keep
    columns = {**{name: column[kept] for name, column in world.columns.items()}, "k": keep[kept]}
    if not kept.any():
        return []
    declared = {**world.declared, "keep_probability": "k", "rounds_before_sampling": world.rounds}
    return both(World(columns, declared, world.policies, world.values), delta, **BLOCKS)
