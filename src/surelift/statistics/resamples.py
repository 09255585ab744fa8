"""Sums over Poisson resamples, for the bootstrap: how often a round enters each follows from its number alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from surelift.arrays import FloatArray
from surelift.kernels.resamples import resample
from surelift.kernels.sorting import Sorted
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
        by_group = Sorted.whole(len(terms)) if groups.codes is None else Sorted.by(groups.codes, len(groups))
        return list(resample(terms, row_numbers(reading.rounds), self.count, by_group))
