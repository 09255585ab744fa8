"""How fast are the compiled loops, compared with NumPy and with the best the processor could do?

One thread, process time, the median of several alternating runs: python benchmarks/kernels.py
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from numba import njit

from surelift.arrays import FloatArray
from surelift.statistics.kernels import controlled_log_sums, log_sums
from surelift.statistics.log_sums import log_terms

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


@njit(fastmath=True)
def read_all(x: FloatArray) -> float:
    total = 0.0
    for value in x:
        total += value
    return total


@njit(fastmath={"contract"})
def multiply_add(x: FloatArray, y: FloatArray, turns: int) -> None:
    """Sixteen dependent operations per number, none of which waits for memory."""
    for _ in range(turns):
        for i in range(len(x)):
            value = x[i]
            for _ in range(16):
                value = value * 0.5 + 0.25
            y[i] = value


def log_sums_against_numpy() -> None:
    x = np.random.default_rng(0).exponential(size=ROWS)
    for components in (8, 27, 32, 128):
        smoothings = 2.0 ** np.linspace(-12, 4, components)
        log_sums(x, smoothings)
        spent, times = ratio(
            lambda: log_sums(x, smoothings),
            lambda: [np.log1p(smoothing * x).sum() for smoothing in smoothings],
        )
        print(
            f"  {components:4} components: {1e9 * spent / ROWS / components:.3f} ns per row, component; NumPy {times:.1f}x"
        )
    read_all(x)
    spent, _ = ratio(lambda: read_all(x), lambda: None)
    print(f"  reading the rows only: {1e9 * spent / ROWS:.3f} ns per row")
    block, out = x[:2048].copy(), np.empty(2048)
    multiply_add(block, out, 1)
    spent, _ = ratio(lambda: multiply_add(block, out, 1_000), lambda: None)
    each = 1e9 * spent / (16 * 1_000 * len(block))
    print(f"  one multiply-add: {each:.3f} ns at best; the log sums need 1.25 per row and component")


def control_against_numpy() -> None:
    rng, rows, components = np.random.default_rng(0), 65_536, 27
    beta = 2.0 ** np.arange(-20.0, 7.0)
    caps = 8 / 9 / beta
    for actions in (5, 20, 100):
        logging, new = rng.dirichlet(np.ones(actions), rows), rng.dirichlet(np.ones(actions), rows)
        taken, values, starts = rng.random(rows), rng.random(rows), np.arange(rows + 1) * actions

        def ours() -> None:
            controlled_log_sums(
                values,
                taken,
                new.ravel(),
                logging.ravel(),
                starts,
                caps,
                caps,
                9 * beta,
                np.zeros(components),
            )

        def numpy() -> None:
            for cap, smoothing in zip(caps, 9 * beta, strict=True):
                mean = np.minimum(new, cap * logging).sum(axis=1)
                log_terms(values - np.minimum(taken, cap) + mean + cap, smoothing=smoothing).sum()

        ours()
        spent, times = ratio(ours, numpy)
        print(
            f"  {actions:4} actions: {1e9 * spent / rows:.0f} ns per round for {components} components, NumPy {times:.1f}x"
        )


if __name__ == "__main__":
    print("log sums, compared with numpy.log1p")
    log_sums_against_numpy()
    print("weight control, compared with the NumPy path")
    control_against_numpy()
