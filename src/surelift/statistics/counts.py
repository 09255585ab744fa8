"""How many units there are: rounds, or clusters of rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from surelift.batch import Batch
from surelift.kernels.loop import LoopSums
from surelift.statistics.groups import Groups
from surelift.statistics.looped import Looped, Wanted


@dataclass(frozen=True, slots=True)
class Count(Looped):
    """The n of the bounds, as whole numbers."""

    label: ClassVar[str] = "the number of rounds"
    state: ClassVar[type] = int

    def wanted(self, simple: bool) -> Sequence[Wanted]:
        return []

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[int]:
        counts: list[int] = groups.units.counts(batch.units.count).tolist()
        return counts
