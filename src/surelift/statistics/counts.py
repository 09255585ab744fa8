"""How many units there are: rounds, or clusters of rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic
from surelift.statistics.units import Units


@dataclass(frozen=True, slots=True)
class Count(Statistic):
    """The n of the bounds, as whole numbers."""

    label: ClassVar[str] = "the number of rounds"
    state: ClassVar[type] = int

    def of(self, reading: Reading, groups: Groups) -> Sequence[int]:
        units = Units.of(reading.rounds)
        counts: list[int] = groups.units.counts(units.count).tolist()
        return counts
