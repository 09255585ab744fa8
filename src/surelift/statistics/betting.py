"""Wealth of many bets at once, round after round: the sums of log((1 + rate x)/(1 + rate y)) in every segment."""

from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray

_compiled: Any = None


def log_wealth(x: FloatArray, y: FloatArray, rates: FloatArray, segments: IntArray, count: int) -> FloatArray:
    """(segments, rates): what betting at each rate has won in each segment, as a logarithm.

    >>> won = log_wealth(np.array([1.0, -0.5]), np.zeros(2), np.array([0.5]), np.array([0, 0]), 1)
    >>> np.exp(won).tolist()  # 1.5 times 0.75
    [[1.125]]
    """
    logs = np.zeros((count, len(rates)))
    _kernel()(x, y, rates, segments, logs)
    return logs


def _kernel() -> Any:
    """Compiled at first use, and kept on disk: numba takes half a second to import."""
    global _compiled
    if _compiled is None:
        from numba import njit

        _compiled = njit(cache=True, nogil=True)(_bet)
    return _compiled


def _bet(x: FloatArray, y: FloatArray, rates: FloatArray, segments: IntArray, logs: FloatArray) -> None:
    # Products, with a logarithm only now and then: fifty times fewer than one a round.
    held = np.ones(logs.shape)
    for i in range(len(x)):
        segment = segments[i]
        for j in range(len(rates)):
            product = held[segment, j] * ((1.0 + rates[j] * x[i]) / (1.0 + rates[j] * y[i]))
            if product > 1e100 or product < 1e-100:
                logs[segment, j] += np.log(product)
                product = 1.0
            held[segment, j] = product
    logs += np.log(held)
