"""A slice of the rounds of a source, by row number."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surelift.logs.batch import Batch, Needs, Source


@dataclass(slots=True)
class Slice:
    """The rows from ``first`` to ``last`` (exclusive)."""

    source: Source
    first: int
    last: int
    ordered: bool = True

    def column_names(self) -> list[str]:
        return self.source.column_names()

    def overlaps(self, other: Source) -> bool:
        """Whether the two share rows of the same source."""
        other_slice = other if isinstance(other, Slice) else Slice(other, 0, sys.maxsize)
        return other_slice.source is self.source and self.first < other_slice.last and other_slice.first < self.last

    def count(self) -> int:
        return max(0, min(self.last, self.source.count()) - self.first)

    def batches(self, needs: Needs) -> Iterator[Batch]:
        for batch in self.source.batches(needs):
            begin = max(self.first - batch.start, 0)
            end = min(self.last - batch.start, batch.table.num_rows)
            if batch.start >= self.last:
                break
            if begin < end:
                yield replace(batch, table=batch.table.slice(begin, end - begin), start=batch.start + begin)
