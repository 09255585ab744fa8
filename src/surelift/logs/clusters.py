"""Rounds that belong together: of one user, one session, one slate. They enter a bound as one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, ArrowTable, FloatArray, IntArray
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import Batch
from surelift.logs.columns import decode


@dataclass(frozen=True, slots=True)
class Clusters:
    """Cluster c of a batch is its rounds ``starts[c]`` to ``starts[c + 1]``, in the order of the log."""

    starts: IntArray
    divisor: FloatArray
    """What the sum over a cluster is divided by: its size known beforehand, or the declared maximum."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> IntArray:
        return np.diff(self.starts)

    @property
    def padding(self) -> FloatArray:
        """How many rounds are missing to the size a cluster is divided by."""
        padding: FloatArray = self.divisor - self.sizes
        return padding

    def mean(self, values: FloatArray, *, padded_with: float) -> FloatArray:
        """One number a cluster: the mean of its rounds, and of what stands for those it never had."""
        if len(self) == 0:
            return np.zeros(0)
        sums: FloatArray = np.add.reduceat(values, self.starts[:-1]) + padded_with * self.padding
        return sums / self.divisor

    def largest(self, values: FloatArray) -> FloatArray:
        return np.zeros(0) if len(self) == 0 else np.maximum.reduceat(values, self.starts[:-1])


def cluster_starts(column: ArrowColumn) -> IntArray:
    """Where each run of equal entries starts, and the end."""
    if pa.types.is_nested(column.type):
        raise UsageError(f"a cluster is named by text or a number, but its column holds {column.type}.")
    codes = np.asarray(decode(column).dictionary_encode().indices.fill_null(-1))
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.concatenate([[0], changes, [len(codes)]]).astype(np.int64) if len(codes) else np.zeros(1, dtype=np.int64)


def whole_clusters(batches: Iterator[Batch], column: str) -> Iterator[Batch]:
    """The same rounds, cut anew so that no cluster is torn apart; rounds of a cluster that had ended are marked."""
    seen: set[Any] = set()
    held: Batch | None = None
    for batch in batches:
        joined = batch if held is None else _joined(held, batch)
        starts = cluster_starts(joined.table[column])
        last = int(starts[-2]) if len(starts) > 1 else 0
        held = _part(joined, last, joined.table.num_rows)
        if last:
            yield _marked(_part(joined, 0, last), column, seen)
    if held is not None and held.table.num_rows:
        yield _marked(held, column, seen)


def _joined(first: Batch, second: Batch) -> Batch:
    if first.table.num_rows == 0:
        return second
    if first.place != second.place:
        # Rows of two files: only their number in the whole log is told.
        second = replace(second, place="", place_start=0)
    return replace(second, table=_laid_together(first.table, second.table), start=first.start)


def _laid_together(first: ArrowTable, second: ArrowTable) -> ArrowTable:
    """One table of two, whose columns may differ in type as files do: whole numbers beside others, codes beside text."""
    try:
        return pa.concat_tables([_plain(first), _plain(second)], promote_options="permissive")
    except pa.ArrowException as error:
        raise LogsError(f"files that share a cluster differ in the type of a column: {error}") from error


def _plain(table: ArrowTable) -> ArrowTable:
    return pa.table({name: decode(table[name]) for name in table.column_names})


def _part(batch: Batch, start: int, stop: int) -> Batch:
    return replace(batch, table=batch.table.slice(start, stop - start), start=batch.start + start)


def _marked(batch: Batch, column: str, seen: set[Any]) -> Batch:
    starts = cluster_starts(batch.table[column])
    names = decode(batch.table[column]).take(pa.array(starts[:-1])).to_pylist()
    again = np.zeros(batch.table.num_rows, dtype=np.bool_)
    for start, stop, name in zip(starts[:-1], starts[1:], names, strict=True):
        again[start:stop] = name in seen
        seen.add(name)
    return replace(batch, again=again)
