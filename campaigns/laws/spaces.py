"""Continuous actions, and embeddings of very many actions."""

from typing import Any

import numpy as np
from scipy import integrate, stats

import surelift as sl
from campaigns.laws.law import Claim, World, at, both, coins, draw_actions, entries, law, some_rounds
from surelift.arrays import FloatArray

Rng = np.random.Generator
LEAST, MOST = -2.0, 3.0


def reward_at(action: FloatArray) -> FloatArray:
    """A normal curve around 1, whose mean under normal actions is known in closed form."""
    return np.exp(-0.5 * (action - 1.0) ** 2)


def mean_reward(mean: Any, deviation: Any) -> Any:
    total = 1.0 + np.square(deviation)
    return np.exp(-0.5 * (mean - 1.0) ** 2 / total) / np.sqrt(total)


def continuous(rng: Rng, action: FloatArray, mean: FloatArray, new: FloatArray) -> dict[str, FloatArray]:
    return {"r": coins(rng, reward_at(action)), "dose": action, "m": mean, "n": new}


def declared(density: Any) -> dict[str, Any]:
    return {"reward": "r", "propensity": density, "action": "dose", "density": True}


@law("normal doses")
def gaussian(rng: Rng, delta: float) -> list[Claim]:
    rounds = some_rounds(rng)
    mean, wide, narrow = rng.normal(0, 1, rounds), rng.uniform(0.5, 1.5), rng.uniform(0.3, 1.5)
    new = mean + rng.uniform(-0.5, 0.5)
    columns = continuous(rng, rng.normal(mean, wide), mean, new)
    values = {"production": mean_reward(mean, wide), "new": mean_reward(new, narrow)}
    density, candidate = sl.densities.gaussian("m", wide), sl.densities.gaussian("n", narrow)
    return both(World(columns, declared(density), {"new": candidate}, values), delta)


@law("blended densities")
def blended(rng: Rng, delta: float) -> list[Claim]:
    rounds = some_rounds(rng)
    mean, flat = np.zeros(rounds), sl.densities.uniform(LEAST, MOST)
    uniform = rng.random(rounds) < 0.3
    action = np.where(uniform, rng.uniform(LEAST, MOST, rounds), rng.normal(0, 1, rounds))
    density = sl.densities.blend([(0.3, flat), (0.7, sl.densities.gaussian("m", 1.0))])
    on_flat = float((stats.norm.cdf(MOST - 1) - stats.norm.cdf(LEAST - 1)) * np.sqrt(2 * np.pi) / (MOST - LEAST))
    values = {"production": 0.3 * on_flat + 0.7 * mean_reward(0.0, 1.0), "new": on_flat}
    return both(World(continuous(rng, action, mean, mean), declared(density), {"new": flat}, values), delta)


def _truncated(mean: float, deviation: float) -> tuple[float, float]:
    """Of a truncated normal density: its mass before, and the mean reward."""
    mass = stats.norm.cdf(MOST, mean, deviation) - stats.norm.cdf(LEAST, mean, deviation)
    earned = integrate.quad(lambda a: reward_at(a) * stats.norm.pdf(a, mean, deviation), LEAST, MOST, epsabs=1e-13)[0]
    return float(mass), float(earned / mass)


@law("truncated doses")
def truncated(rng: Rng, delta: float) -> list[Claim]:
    rounds = some_rounds(rng)
    wide, narrow, centre = rng.uniform(0.5, 3.0, 3)
    shape = ((LEAST - 0.0) / wide, (MOST - 0.0) / wide)
    action = stats.truncnorm.rvs(*shape, loc=0.0, scale=wide, size=rounds, random_state=rng)
    zeros = np.zeros(rounds)
    density, candidate = (
        sl.densities.gaussian(mean, deviation, low=LEAST, high=MOST) for mean, deviation in (("m", wide), (centre, narrow))
    )
    values = {"production": _truncated(0.0, wide)[1], "new": _truncated(centre, narrow)[1]}
    return both(World(continuous(rng, action, zeros, zeros), declared(density), {"new": candidate}, values), delta)


@law("doses in bins")
def binned(rng: Rng, delta: float) -> list[Claim]:
    """The candidate draws a bin, and acts like production within it."""
    rounds, edges = some_rounds(rng), np.array([-1.0, 0.0, 0.5, 1.5])
    ends, centre = np.array([-np.inf, *edges, np.inf]), rng.uniform(-0.5, 1.5)
    columns = continuous(rng, rng.normal(0, 1, rounds), np.zeros(rounds), np.zeros(rounds))
    masses = np.diff(stats.norm.cdf(ends))
    # r times production's density is again a normal one, of mean 1/2 and variance 1/2.
    earned = mean_reward(0.0, 1.0) * np.diff(stats.norm.cdf(ends, 0.5, np.sqrt(0.5)))
    chosen = np.diff(stats.norm.cdf(ends, centre, 0.7))
    values = {"production": mean_reward(0.0, 1.0), "new": float(chosen @ (earned / masses))}
    candidate = sl.densities.binned(sl.densities.gaussian(centre, 0.7), edges)
    return both(World(columns, declared(sl.densities.gaussian("m", 1.0)), {"new": candidate}, values), delta)


@law("kinds of actions")
def kinds(rng: Rng, delta: float) -> list[Claim]:
    rounds, items, count = some_rounds(rng, 50, 400), 40, 4
    codes = np.concatenate([np.arange(count), rng.integers(0, count, items - count)])
    logging, new = rng.dirichlet(np.full(items, 0.3)) + 1e-9, rng.dirichlet(np.full(items, 0.3))
    logging /= logging.sum()
    rates = rng.random(count)[codes]
    action = rng.choice(items, rounds, p=logging)
    columns = {
        "r": coins(rng, rates[action]), "q": logging[action], "a": action,
        **entries("l", np.tile(logging, (rounds, 1))), **entries("n", np.tile(new, (rounds, 1))),
    }  # fmt: skip
    names = [[f"{letter}{place}" for place in range(items)] for letter in "ln"]
    told = {
        "reward": "r", "propensity": "q", "action": "a", "logging": names[0], "embedding": sl.embeddings.kinds(codes),
    }  # fmt: skip
    values = {"new": float(new @ rates), "production": float(logging @ rates)}
    control = "auto" if rng.random() < 0.5 else "none"
    return both(World(columns, told, {"new": names[1]}, values), delta, control=control)


@law("embeddings drawn at random")
def embedded(rng: Rng, delta: float) -> list[Claim]:
    rounds, items, count = some_rounds(rng, 50, 400), 8, 3
    matrix = rng.dirichlet(np.full(count, 0.4), items)
    logging, new = rng.dirichlet(np.ones(items)), rng.dirichlet(np.ones(items))
    rates = rng.random(count)
    action = rng.choice(items, rounds, p=logging)
    embedding = draw_actions(rng, matrix[action])
    columns = {
        "r": coins(rng, rates[embedding]), "q": logging[action], "a": action, "e": embedding,
        **entries("l", np.tile(logging, (rounds, 1))), **entries("n", np.tile(new, (rounds, 1))),
    }  # fmt: skip
    assert (at(np.tile(logging, (rounds, 1)), action) > 0).all()
    told = {
        "reward": "r", "propensity": "q", "action": "a", "logging": [f"l{place}" for place in range(items)],
        "embedding": sl.embeddings.known(matrix, column="e"),
    }  # fmt: skip
    values = {"new": float(new @ matrix @ rates), "production": float(logging @ matrix @ rates)}
    return both(World(columns, told, {"new": [f"n{place}" for place in range(items)]}, values), delta)
