"""The groups of one batch: which rounds, or units, belong to which value of a key."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch
from surelift.kernels.sorting import Sorted, distinct
from surelift.kernels.sums import group_sums
from surelift.logs import faults
from surelift.statistics.splits import NOWHERE, Key, KeyValue, Segment


@dataclass(frozen=True)
class Groups:
    """No group is empty; with ``codes`` None all rounds are one group."""

    values: Sequence[KeyValue]
    codes: IntArray | None = None
    starts: IntArray | None = None
    """The first row of each unit, and behind the last; None where every row is one."""

    @cached_property
    def units(self) -> "Groups":
        """The groups of units, each whole in the group of its first row."""
        if self.codes is None or self.starts is None:
            return self
        return Groups(self.values, self.codes[self.starts[:-1]])

    @cached_property
    def _sorted(self) -> Sorted:
        assert self.codes is not None
        return Sorted.by(self.codes, len(self.values))

    def sorted(self, size: int) -> Sorted:
        """Of ``size`` rounds, or units, those of each group."""
        return Sorted.whole(size) if self.codes is None else self._sorted

    def split(self, values: Any) -> Sequence[Any]:
        """What belongs to each group, in the order of the rounds."""
        return self.sorted(len(values)).split(values)

    def sums(self, values: FloatArray) -> FloatArray:
        return group_sums(values, self.sorted(len(values)))[:, 0]

    def counts(self, size: int) -> IntArray:
        """How many rounds of ``size`` are in each group."""
        return np.array([size]) if self.codes is None else np.diff(self._sorted.edges)


def groups_of(key: Key, batch: Batch) -> Groups:
    """Split the rounds of a batch; what cannot be split is counted as a fault."""
    codes, names = key[0].codes(batch)
    values: list[KeyValue] = [(name,) for name in names]
    for split in key[1:]:
        inner, names = split.codes(batch)
        codes = np.where((codes == NOWHERE) | (inner == NOWHERE), NOWHERE, codes * max(len(names), 1) + inner)
        values = [(*value, name) for value in values for name in names]
    torn = [split for split in key if isinstance(split, Segment) and not split.tears_clusters]
    starts = batch.units.starts
    if torn and starts is not None and batch.size:
        first = np.repeat(codes[starts[:-1]], np.diff(starts))
        batch.rows.refuse(torn[0].subject, faults.CLUSTER_VARIES, codes != first, None)
    # Groups are the codes that occur.
    present, places = distinct(codes)
    if len(present) and present[0] == NOWHERE:
        present, places = present[1:], places - 1
    return Groups([values[code] for code in present.tolist()], places, starts)
