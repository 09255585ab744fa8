"""How often the smallest and the largest of continuous actions came: a density has no such action twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.batch import Batch
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class EndCounts:
    least: float
    at_least: int
    most: float
    at_most: int

    def __add__(self, other: "EndCounts") -> "EndCounts":
        least, most = min(self.least, other.least), max(self.most, other.most)
        both = (self, other)
        return EndCounts(
            least, sum(part.at_least for part in both if part.least == least),
            most, sum(part.at_most for part in both if part.most == most),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ends(Statistic):
    label: ClassVar[str] = "the smallest and the largest action"
    state: ClassVar[type] = EndCounts

    def of(self, batch: Batch, groups: Groups) -> Sequence[EndCounts]:
        ends = ((part, float(part.min()), float(part.max())) for part in groups.split(batch.decisions.continuous))
        return [
            EndCounts(least, int(np.count_nonzero(part == least)), most, int(np.count_nonzero(part == most)))
            for part, least, most in ends
        ]
