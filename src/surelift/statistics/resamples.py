"""Sums over Poisson resamples, for the bootstrap: how often a round enters each follows from its number alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.quantities import Quantity
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.resampling import resample
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
