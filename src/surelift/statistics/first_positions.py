"""From which number positions count: from 0 or from 1, the same in the whole log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import LogsError
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class FirstPositions(Statistic):
    """The state is an array: the clusters that begin at 0, and those that begin at 1."""

    label: ClassVar[str] = "where positions begin"
    column: str

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        rounds = reading.rounds
        assert rounds.clusters is not None
        first = rounds.plain_numbers(self.column).values[rounds.clusters.starts[:-1]]
        return list(np.column_stack([groups.units.sums((first == start) * 1.0) for start in (0.0, 1.0)]))

    def refuse_again(self, state: FloatArray | None) -> None:
        if state is not None and state.all():
            at_zero, at_one = state.tolist()
            raise LogsError(
                f"position {self.column!r}: {at_zero:,.0f} clusters begin at 0, and {at_one:,.0f} at 1. The first rounds of "
                "some are missing, or parts of the log count differently: the weight of a round needs all before it."
            )
