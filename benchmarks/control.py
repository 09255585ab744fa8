"""What automatic control costs: its width over that of no control, and over that of control="weights".

Random problems with rewards from rare (1%) to frequent (90%), 2 to 30 actions, peaked and even policies, heavy weights
among them, and candidates that like the better actions. Both sides of a value, of an improvement over production and of a
difference between two candidates are bounded at delta = 0.05. A width is the mean distance of a bound from the truth over
the logs of a problem; the better of the two baselines is the narrower one in that problem.
python benchmarks/control.py [logs per problem]
"""

import sys
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

import surelift as sl
from surelift.arrays import FloatArray

LEVELS = (0.01, 0.02, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90)
# Actions, and how even production and the candidate are (the concentration of a Dirichlet law).
LAWS = ((2, 0.3, 2.0), (3, 2.0, 0.3), (10, 2.0, 2.0), (20, 1.5, 0.5), (30, 0.5, 3.0))
ROUNDS, GRIDS, CONTROLS = (500, 4_000), ("anytime", "planned"), ("none", "weights", "auto")
SIDES = ("value, lower", "value, upper", "improvement, lower", "improvement, upper", "difference, lower")


def problem(
    rng: np.random.Generator, law: tuple[int, float, float], level: float, rounds: int
) -> tuple[sl.Logs, dict[str, FloatArray], dict[str, float]]:
    """A log, the two policies, and the true values of both and of production."""
    actions, evenness, candidate = law
    spread = min(level, 1.0 - level) * rng.uniform(-1.0, 1.0, (rounds, actions))
    logging, rival = (rng.dirichlet(np.full(actions, even), rounds) for even in (evenness, 1.0))
    new = rng.dirichlet(np.full(actions, candidate), rounds) * np.exp(2.0 * spread / min(level, 1.0 - level))
    new /= new.sum(axis=1, keepdims=True)
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    at = (np.arange(rounds), action)
    reward = (rng.random(rounds) < (level + spread)[at]).astype(float)
    logs = sl.Logs(reward=reward, propensity=logging[at], action=action, logging=logging)
    truths = {
        name: float((policy * (level + spread)).sum(axis=1).mean())
        for name, policy in (("new", new), ("rival", rival), ("production", logging))
    }
    return logs, {"new": new, "rival": rival}, truths


def distances(
    logs: sl.Logs, policies: Mapping[str, FloatArray], truths: Mapping[str, float], **options: Any
) -> Iterator[float]:
    """How far each bound lies from the truth, in the order of SIDES."""
    new, rival = ({name: policies[name]} for name in ("new", "rival"))
    value = sl.evaluate(logs, new, **options)["new"]
    assert value.lower is not None
    assert value.upper is not None
    yield truths["new"] - value.lower
    yield value.upper - truths["new"]
    gain, truth = sl.compare(logs, new, **options), truths["new"] - truths["production"]
    yield truth - gain.lower
    yield gain.upper - truth
    yield truths["new"] - truths["rival"] - sl.compare(logs, new, over=rival, **options).lower


def widths(level: float, repetitions: int) -> FloatArray:
    """(problems, sides, controls)."""
    rng, found = np.random.default_rng(7), []
    for law, rounds in product(LAWS, ROUNDS):
        drawn = [problem(rng, law, level, rounds) for _ in range(repetitions)]
        for grid in GRIDS:
            table = [[list(distances(*one, grid=grid, control=name)) for name in CONTROLS] for one in drawn]
            found.append(np.mean(table, axis=0).T)
    return np.array(found)


def main(repetitions: int = 12) -> None:
    print(f"{len(LAWS) * len(ROUNDS) * len(GRIDS)} problems a level, {repetitions} logs each: mean ratio (worst ratio)")
    print(f"{'':18} rewards   auto to plain   auto to weights   weights to better   auto to better")
    worst = {}
    by_level = {level: widths(level, repetitions) for level in LEVELS}
    for side, name in enumerate(SIDES):
        for level, found in by_level.items():
            plain, weights, auto = found[:, side].T
            better = np.minimum(plain, weights)
            ratios = (auto / plain, auto / weights, weights / better, auto / better)
            worst[name, level] = float((auto / better).max())
            shown = "   ".join(f"{ratio.mean():5.3f} ({ratio.max():5.3f})" for ratio in ratios)
            print(f"{name:18} {level:7.0%}   {shown}", flush=True)
    name, level = max(worst, key=lambda key: worst[key])
    print(f"the worst of auto to better: {worst[name, level]:.3f}, {name} at rewards of {level:.0%}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
