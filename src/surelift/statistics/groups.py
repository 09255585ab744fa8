"""The groups of one batch: which rounds, or units, belong to which value of a key."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.logs import faults
from surelift.logs.rounds import Rounds
from surelift.statistics.splits import NOWHERE, Key, KeyValue, Segment


@dataclass(frozen=True)
class Groups:
    """No group is empty; with ``codes`` None all rounds are one group."""

    values: Sequence[KeyValue]
    codes: IntArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """The rounds sorted by group, and where each group starts."""
        assert self.codes is not None
        order = np.argsort(self.codes, kind="stable")
        return order, np.searchsorted(self.codes[order], np.arange(len(self) + 1))

    def split(self, values: Any) -> list[Any]:
        """What belongs to each group, in the order of the rounds."""
        if self.codes is None:
            return [values]
        order, edges = self._order
        sorted_values = values[order]
        return [sorted_values[start:stop] for start, stop in pairwise(edges.tolist())]

    def sums(self, values: FloatArray) -> FloatArray:
        """The sum over each group."""
        if self.codes is None:
            return np.array([values.sum()])
        order, edges = self._order
        totals: FloatArray = np.add.reduceat(values[order], edges[:-1]) if len(self) else np.zeros(0)
        return totals

    def counts(self, size: int) -> IntArray:
        """How many rounds of ``size`` are in each group."""
        return np.array([size]) if self.codes is None else np.diff(self._order[1])

    def of_units(self, rounds: Rounds) -> "Groups":
        """The groups of clusters, each whole in the group of its first round."""
        if self.codes is None or rounds.clusters is None:
            return self
        return Groups(self.values, self.codes[rounds.clusters.starts[:-1]])


def groups_of(key: Key, rounds: Rounds) -> Groups:
    """Split the rounds of a batch; what cannot be split is counted as a fault."""
    if not key:
        return Groups([()])
    values: list[KeyValue] = [()]
    codes = np.zeros(rounds.size, dtype=np.int64)
    for split in key:
        inner, names = split.codes(rounds)
        codes = np.where((codes == NOWHERE) | (inner == NOWHERE), NOWHERE, codes * max(len(names), 1) + inner)
        values = [(*value, name) for value in values for name in names]
    _refuse_torn_clusters(key, codes, rounds)
    present, compact = np.unique(codes, return_inverse=True)
    if len(present) and present[0] == NOWHERE:
        present, compact = present[1:], compact - 1
    return Groups([values[code] for code in present.tolist()], compact.astype(np.int64))


def _refuse_torn_clusters(key: Key, codes: IntArray, rounds: Rounds) -> None:
    columns = [split.column for split in key if isinstance(split, Segment) and not split.missing_is_one]
    if rounds.clusters is None or not rounds.size or not columns:
        return
    first = np.repeat(codes[rounds.clusters.starts[:-1]], rounds.clusters.sizes)
    rounds.refuse(f"by {', '.join(map(repr, columns))}", faults.CLUSTER_VARIES, codes != first, None)
