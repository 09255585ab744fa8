"""How fast are the variance proxies of the Efron-Stein bound, compared with plain vectorised NumPy?

28,056 rounds and 18 actions, like the paper's largest labelled set. The plain version is timed on fewer draws and scaled,
as both are linear in the number of draws: python benchmarks/efron_stein.py [draws]
"""

import math
import os
import resource
import sys
import time
from typing import Any

import numpy as np

from surelift import Logs
from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS
from surelift.datasets import faulty_policy, ideal_policy, supervised_to_bandit
from surelift.engines import collect
from surelift.policies.resolve import name_policies
from surelift.quantities import Value
from surelift.statistics import Term, plan_of
from surelift.statistics.redraws import Proxies

ROUNDS, ACTIONS, PLAIN_DRAWS = 28_056, 18, 200


def plain_proxies(
    candidate: FloatArray, logging: FloatArray, logged: FloatArray, *, draws: int, rng: np.random.Generator
) -> Proxies:
    """The same expectations as the library's, one redrawn log at a time, in a few NumPy calls each."""
    weights = candidate / logging
    edges = np.cumsum(logging, axis=1)[:, :-1]
    rows = np.arange(len(logged))
    prefix = np.cumsum(logged)

    def redraw() -> FloatArray:
        actions = (rng.random(len(logged))[:, None] >= edges).sum(axis=1)
        redrawn: FloatArray = weights[rows, actions]
        return redrawn

    variance, expected = np.empty(draws), np.empty(draws)
    for draw in range(draws):
        redrawn = redraw()
        after = np.cumsum(redrawn[::-1])[::-1] - redrawn
        mixed = prefix + after
        variance[draw] = ((logged / mixed + redrawn / (mixed - logged + redrawn)) ** 2).sum()
        fresh = redraw()
        expected[draw] = ((fresh / fresh.sum()) ** 2).sum()
    return Proxies(
        float(variance.mean()),
        float(expected.mean()),
        float(variance.std() / math.sqrt(draws)),
        float(expected.std() / math.sqrt(draws)),
        float((candidate * weights).sum()),
        draws,
    )


def library_proxies(logs: Logs, candidate: Any, *, draws: int) -> Proxies:
    needed = BOUNDS["efron-stein"].plan(quantity=Value(), offset=0.0, count=logs.count, draws=draws)
    term = Term("new", Value(), needed)
    proxies = collect(logs, plan_of(name_policies({"new": candidate}), (term,))).of(term).proxies
    assert proxies is not None
    return proxies


def main(draws: int = 10_000) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, ACTIONS, ROUNDS)
    logging = faulty_policy(labels, ACTIONS, temperature=0.25)
    candidate = ideal_policy(labels, ACTIONS, temperature=0.1)
    feedback = supervised_to_bandit(np.zeros((ROUNDS, 1)), [f"{label:02}" for label in labels], logging, noise=0.2, rng=rng)
    logs = feedback.logs()
    logged = (candidate / logging)[np.arange(ROUNDS), feedback.action]

    library_proxies(logs, candidate, draws=2)  # compiles
    start = time.perf_counter()
    ours = library_proxies(logs, candidate, draws=draws)
    our_time = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6

    start = time.perf_counter()
    plain = plain_proxies(candidate, logging, logged, draws=PLAIN_DRAWS, rng=rng)
    plain_time = (time.perf_counter() - start) * draws / PLAIN_DRAWS

    distance = (ours.variance - plain.variance) / math.hypot(ours.variance_error, plain.variance_error)
    print(f"efron-stein, {ROUNDS:,} rounds, {ACTIONS} actions, {draws:,} draws")
    print(f"  plain NumPy 1.00x ({plain_time:.1f} s, scaled from {PLAIN_DRAWS} draws, one thread)")
    print(f"  surelift {plain_time / our_time:.1f}x ({our_time:.2f} s, {os.cpu_count()} threads)")
    print(f"  variance proxy {ours.variance:.6g} and {plain.variance:.6g}, {distance:+.1f} standard errors distance")
    print(f"  expected proxy {ours.expected:.6g} and {plain.expected:.6g}; peak memory of surelift {memory:.2f} GB")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
