"""Sessions whose steps depend on each other and may end early, and pages with one reward to which positions add."""

from typing import Any

import numpy as np

import surelift as sl
from campaigns.laws.law import Claim, World, both, coins, draw_actions, entries, improvement_claims, law, some_rounds
from surelift.arrays import FloatArray
from surelift.policies.unbiased import AdditiveSlate

Rng = np.random.Generator


def sessions(rng: Rng, *, vectors: bool, alpha: float = 1.0) -> World:
    """The state is the last action: what is likely, what it earns and who leaves follow from it."""
    count, most, actions = some_rounds(rng, 30, 300), int(rng.integers(2, 5)), int(rng.integers(2, 4))
    logging, new = (rng.dirichlet(np.ones(actions), actions + 1) for _ in range(2))
    rates, leaves = rng.random((actions + 1, actions)), rng.uniform(0.0, 0.6, actions)
    state, alive, rows = np.full(count, actions), np.arange(count), []
    for number in range(most):
        drawn = draw_actions(rng, logging[state])
        rows.append((alive, np.full(len(alive), number), drawn, coins(rng, rates[state, drawn]), state))
        stay = rng.random(len(alive)) >= leaves[drawn]
        state, alive = drawn[stay], alive[stay]
    joined = [np.concatenate(column) for column in zip(*rows, strict=True)]
    order = np.lexsort((joined[1], joined[0]))
    session, step, taken, earned, before = (column[order] for column in joined)
    columns: dict[str, Any] = {
        "session": session, "step": step, "a": taken, "r": earned, "p": logging[before, taken], "new": new[before, taken],
        **entries("l", logging[before]), **entries("n", new[before]),
    }  # fmt: skip
    declared: dict[str, Any] = {
        "reward": "r", "propensity": "p", "cluster": "session", "cluster_max": most, "position": "step",
    }  # fmt: skip
    policy: Any = "new"
    if vectors:
        declared |= {"action": "a", "logging": [f"l{k}" for k in range(actions)]}
        policy = [f"n{k}" for k in range(actions)]
    blended = (1 - alpha) * logging + alpha * new
    values = {name: _value(chances, rates, leaves, most) for name, chances in (("production", logging), ("new", blended))}
    return World(columns, declared, {"new": policy if alpha == 1.0 else sl.blend(policy, alpha)}, values)


def _value(chances: FloatArray, rates: FloatArray, leaves: FloatArray, most: int) -> float:
    reached, earned = np.eye(len(chances))[-1], 0.0
    for _ in range(most):
        taken = reached[:, None] * chances
        earned += float((taken * rates).sum())
        reached = np.append(taken.sum(axis=0) * (1 - leaves), 0.0)
    return earned / most


@law("sessions that end early", logs=25)
def plain(rng: Rng, delta: float) -> list[Claim]:
    return both(sessions(rng, vectors=False), delta)


@law("sessions with weight control", logs=25)
def controlled(rng: Rng, delta: float) -> list[Claim]:
    return both(sessions(rng, vectors=True), delta)


@law("sessions of a blend", logs=25)
def blend(rng: Rng, delta: float) -> list[Claim]:
    return improvement_claims(sessions(rng, vectors=bool(rng.integers(2)), alpha=float(rng.uniform(0.05, 0.9))), delta)


@law("pages with one reward", logs=25)
def additive(rng: Rng, delta: float) -> list[Claim]:
    pages, positions, items = some_rounds(rng), int(rng.integers(2, 6)), int(rng.integers(2, 5))
    logging, new = (rng.dirichlet(np.ones(items), positions) for _ in range(2))
    adds = rng.uniform(0.0, 1.0 / positions, (positions, items))
    shown = np.column_stack([rng.choice(items, pages, p=chances) for chances in logging])
    places = np.arange(positions)
    columns = {
        "r": coins(rng, adds[places, shown].sum(axis=1)), "p": logging[places, shown].min(axis=1),
        "excess": (new / logging - 1.0)[places, shown].sum(axis=1),
    }  # fmt: skip
    values = {"production": float((logging * adds).sum()), "new": float((new * adds).sum())}
    policies = {"new": AdditiveSlate("excess", positions, 1.0)}
    return both(World(columns, {"reward": "r", "propensity": "p"}, policies, values), delta)
