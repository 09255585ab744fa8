"""How fast are the compiled loops, compared with NumPy?

One thread, process time, the median of several alternating runs: python benchmarks/kernels.py
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from surelift.kernels.control import ControlComponents, ControlledTerms, controlled_log_sums
from surelift.kernels.library import compiled
from surelift.kernels.log_sums import log_sums, log_terms
from surelift.kernels.loop import LoopUnits
from surelift.kernels.sorting import Sorted

ROWS, TURNS = 1_000_000, 7


def ratio(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """The median time of the first, and the ratio of the second's to it."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(TURNS):
        for function, spent in zip((first, second), times, strict=True):
            start = time.process_time()
            function()
            spent.append(time.process_time() - start)
    return statistics.median(times[0]), statistics.median(times[1]) / statistics.median(times[0])


def log_sums_against_numpy() -> None:
    x = np.random.default_rng(0).exponential(size=ROWS)
    for components in (8, 27, 32, 128):
        smoothings = 2.0 ** np.linspace(-12, 4, components)
        spent, times = ratio(
            lambda: log_sums(x, smoothings, Sorted.whole(ROWS)),
            lambda: [np.log1p(smoothing * x).sum() for smoothing in smoothings],
        )
        print(
            f"  {components:4} components: {1e9 * spent / ROWS / components:.3f} ns per row, component; NumPy {times:.1f}x"
        )


def control_against_numpy() -> None:
    rng, rows, components = np.random.default_rng(0), 65_536, 27
    beta = 2.0 ** np.arange(-20.0, 7.0)
    caps = 8 / 9 / beta
    for actions in (5, 20, 100):
        logging, new = rng.dirichlet(np.ones(actions), rows), rng.dirichlet(np.ones(actions), rows)
        taken, values, starts = rng.random(rows), rng.random(rows), np.arange(rows + 1) * actions

        terms = ControlledTerms(values, taken, starts, new.ravel(), logging.ravel())
        parts = ControlComponents(caps, caps, 9 * beta)

        def ours() -> None:
            controlled_log_sums(terms, LoopUnits(rows, 1), parts)

        def numpy() -> None:
            for cap, smoothing in zip(caps, 9 * beta, strict=True):
                mean = np.minimum(new, cap * logging).sum(axis=1)
                log_terms(values - np.minimum(taken, cap) + mean + cap, smoothing).sum()

        spent, times = ratio(ours, numpy)
        print(
            f"  {actions:4} actions: {1e9 * spent / rows:.0f} ns per round for {components} components, NumPy {times:.1f}x"
        )


if __name__ == "__main__":
    library = compiled()
    print("no compiled library" if library is None else f"compiled for {library.instruction_set}")
    print("log sums, compared with numpy.log1p")
    log_sums_against_numpy()
    print("weight control, compared with the NumPy path")
    control_against_numpy()
