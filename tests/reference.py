"""An independent implementation of the certified bounds, in thirty lines of NumPy and bisection."""

import math
from collections.abc import Sequence

import numpy as np

from surelift.arrays import FloatArray

ANYTIME = [(2.0**j, (2 + abs(j + 4)) ** -1.5) for j in range(-20, 7)]


def planned(rounds: int, *, centre: float, spread: float) -> list[tuple[float, float]]:
    return [(centre * 2.0**j / math.sqrt(rounds), 1 / (1 + (j / spread) ** 2)) for j in range(-8, 9)]


def wealth(mean: float, terms: FloatArray, grid: Sequence[tuple[float, float]], offset: float) -> float:
    total = sum(weight for _, weight in grid)
    logs = [
        math.log(weight / total)
        + sum(math.log1p(lam * max(z, 0.0)) - math.log1p(lam * (mean + offset)) for z in terms + offset)
        for lam, weight in grid
    ]
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs))


def lower(terms: FloatArray, delta: float, grid: Sequence[tuple[float, float]] = ANYTIME, offset: float = 0.0) -> float:
    if wealth(-offset, terms, grid, offset) <= math.log(1 / delta):
        return -offset
    low, high = -offset, float(np.max(terms)) + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if wealth(middle, terms, grid, offset) > math.log(1 / delta) else (low, middle)
    return low
