"""Sums over Poisson resamples, for the bootstrap: how often a round enters each follows from its number alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.arrays import FloatArray
from surelift.kernels.resamples import resample
from surelift.quantities import Quantity
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.splits import row_numbers
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class Resamples(Statistic):
    """The state is an array (2, count): for each resample its sum of terms and its number of rounds."""

    label: ClassVar[str] = "bootstrap resamples"
    shares_work: ClassVar[bool] = True
    candidate: str
    quantity: Quantity
    count: int

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        return self.of_all([self], reading, groups)[0]

    @classmethod
    def of_all(cls, statistics: Sequence[Any], reading: Reading, groups: Groups) -> list[Sequence[FloatArray]]:
        found: list[Sequence[FloatArray]] = [[]] * len(statistics)
        for count in dict.fromkeys(statistic.count for statistic in statistics):
            places = [place for place, statistic in enumerate(statistics) if statistic.count == count]
            terms = [reading.terms(statistics[place].candidate, statistics[place].quantity) for place in places]
            resampled = resample(terms, row_numbers(reading.rounds), count, groups.sorted(reading.rounds.size))
            for place, states in zip(places, resampled, strict=True):
                found[place] = list(states)
        return found
