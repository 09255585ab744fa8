"""Sums over Poisson resamples, for the bootstrap: how often a round enters each follows from its number alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray
from surelift.quantities import Quantity
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.splits import row_numbers
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class Resamples(Statistic):
    """The state is an array (2, count): for each resample its sum of terms and its number of rounds."""

    label: ClassVar[str] = "bootstrap resamples"
    candidate: str
    quantity: Quantity
    count: int

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        terms = self.quantity.terms(self.candidate, reading.weights, reading.rounds.reward)
        rows = row_numbers(reading.rounds).astype(np.int64)
        parts = zip(groups.split(terms), groups.split(rows), strict=True)
        return [resample(part, numbers, self.count) for part, numbers in parts]


# The chances of at most 0, 1, 2, ... copies under a Poisson law of mean 1, as 32-bit fixed point.
_POISSON = np.cumsum([np.exp(-1.0) / np.prod(np.arange(1, k + 1)) for k in range(12)])
_EDGES: npt.NDArray[np.uint64] = (_POISSON * 2**32).astype(np.uint64)
_compiled: Any = None


def resample(terms: FloatArray, rows: npt.NDArray[np.int64], resamples: int) -> FloatArray:
    """For each resample, the sum of terms and the number of rounds, (2, resamples)."""
    totals = np.zeros((2, resamples))
    _kernel()(terms, rows, _EDGES, totals)
    return totals


def _kernel() -> Any:
    global _compiled
    if _compiled is None:
        from numba import njit

        _compiled = njit(cache=True, nogil=True)(_resample)
    return _compiled


def _resample(
    terms: FloatArray, rows: npt.NDArray[np.int64], edges: npt.NDArray[np.uint64], totals: FloatArray
) -> None:
    step, first, second = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    resamples = totals.shape[1]
    for i in range(len(terms)):
        term = terms[i]
        counter = np.uint64(rows[i]) * np.uint64(resamples) + np.uint64(1)
        for b in range(resamples):
            word = (counter + np.uint64(b)) * step
            word = (word ^ (word >> np.uint64(30))) * first
            word = (word ^ (word >> np.uint64(27))) * second
            chance = (word ^ (word >> np.uint64(31))) >> np.uint64(32)
            copies = 0
            while copies < 11 and chance >= edges[copies]:
                copies += 1
            totals[0, b] += copies * term
            totals[1, b] += copies
