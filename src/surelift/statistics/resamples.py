"""Resamples of the rounds, for the bootstrap: how often a round enters one follows from its number, so they add up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.kernels.resamples import resample
from surelift.quantities import Quantity
from surelift.statistics.groups import Groups
from surelift.statistics.splits import row_numbers
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class Resamples(Statistic):
    """The state is an array (2, count): for each resample its sum of terms and its number of units."""

    label: ClassVar[str] = "bootstrap resamples"
    candidate: str
    quantity: Quantity
    count: int

    def of(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        return self.of_all([self], batch, groups)[0]

    @classmethod
    def of_all(cls, statistics: Sequence[Any], batch: Batch, groups: Groups) -> list[Sequence[FloatArray]]:
        found: list[Sequence[FloatArray]] = [[]] * len(statistics)
        numbers, by_group = batch.units.first(row_numbers(batch)), groups.units.sorted(batch.units.count)
        for count in dict.fromkeys(statistic.count for statistic in statistics):
            places = [place for place, statistic in enumerate(statistics) if statistic.count == count]
            pieces = [statistics[place].quantity.pieces(statistics[place].candidate) for place in places]
            terms = [batch.scaled(batch.units.mean(batch.terms(of), batch.padding(of))) for of in pieces]
            for place, states in zip(places, resample(terms, numbers, count, by_group), strict=True):
                found[place] = list(states)
        return found


Resamples.works_with = Resamples
