"""What a statistic is: something that adds up over rounds, in every group that they are split into."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, get_origin

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch
from surelift.kernels.sorting import Sorted, distinct
from surelift.kernels.sums import group_sums
from surelift.logs import faults
from surelift.statistics.splits import NOWHERE, Key, KeyValue, Segment

INFINITE = float("inf")


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
        """The rounds, or units, of each group, of ``size`` in all."""
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


class Statistic(Protocol):
    """Frozen and hashable: a statistic is the key under which its states are kept.

    A state is a frozen value with ``+``, small whatever the number of rounds: an array, or a dataclass.
    """

    label: ClassVar[str]
    """Its name, for an engine that cannot add it up."""
    needs_order: ClassVar[bool] = False
    """It needs the whole log in its order, in one process."""
    works_with: ClassVar[type | None] = None
    """Those that are made sooner together."""
    looks_at_rows: ClassVar[bool] = False
    """It looks at the columns of the rows alone, and at no number that is made of them."""
    optional: ClassVar[bool] = False
    """An answer does without it, where an engine cannot add it up or a state was saved before it was kept."""
    state: ClassVar[Any] = FloatArray
    columns: ClassVar[tuple[str, ...]] = ()
    """Those it looks at beside those of the log and the policies."""

    def of(self, batch: Batch, groups: Groups) -> Sequence[Any]:
        """The state of every group of a batch without faults."""

    @classmethod
    def of_all(cls, statistics: Sequence[Any], batch: Batch, groups: Groups) -> list[Sequence[Any]]:
        return [statistic.of(batch, groups) for statistic in statistics]

    def absent(self) -> Any:
        """The state where it was not kept, of an optional one."""
        return None

    def encode(self, state: Any) -> Any:
        """A state as JSON keeps it, to the last bit."""
        return _encoded(state)

    def decode(self, content: Any) -> Any:
        return _decoded(self.state, content)


def _encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return value.encode() if hasattr(value, "encode") else [_encoded(getattr(value, of.name)) for of in fields(value)]
    if isinstance(value, frozenset):
        return sorted(value)
    return None if value == INFINITE else value


def _decoded(kind: Any, content: Any) -> Any:
    if is_dataclass(kind):
        if hasattr(kind, "decode"):
            return kind.decode(content)
        pairs = zip(fields(kind), content, strict=True)
        return kind(*(_decoded(of.type, each) for of, each in pairs))  # type: ignore[operator]
    if kind in (FloatArray, IntArray):
        return np.array(content, dtype=np.float64 if kind == FloatArray else np.int64)
    if kind is float and content is None:
        return INFINITE
    if isinstance(content, list):
        return frozenset(content) if get_origin(kind) is frozenset else tuple(content)
    return content
