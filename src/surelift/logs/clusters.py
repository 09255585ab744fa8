"""Rounds that belong together (one user, one session, one slate) and enter a bound as a single unit."""

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
    """Cluster c of a batch is rounds ``starts[c]`` to ``starts[c + 1]``, in log order."""

    starts: IntArray
    divisor: FloatArray
    """Divides the sum over each cluster: its size, known in advance, or the declared maximum."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> IntArray:
        return np.diff(self.starts)

    @property
    def padding(self) -> FloatArray:
        """Number of rounds each cluster lacks to reach its divisor."""
        return np.asarray(self.divisor - self.sizes)

    def mean(self, values: FloatArray, *, padded_with: float) -> FloatArray:
        """The mean over each cluster, with ``padded_with`` in place of each missing round."""
        if len(self) == 0:
            return np.zeros(0)
        sums: FloatArray = np.add.reduceat(values, self.starts[:-1]) + padded_with * self.padding
        return sums / self.divisor

    def largest(self, values: FloatArray) -> FloatArray:
        return np.zeros(0) if len(self) == 0 else np.maximum.reduceat(values, self.starts[:-1])


def cluster_starts(column: ArrowColumn) -> IntArray:
    """The start of each run of equal entries, followed by the total length."""
    if pa.types.is_nested(column.type):
        raise UsageError(f"a cluster id must be text or a number, but its column holds {column.type}.")
    codes = np.asarray(decode(column).dictionary_encode().indices.fill_null(-1))
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.concatenate([[0], changes, [len(codes)]]).astype(np.int64) if len(codes) else np.zeros(1, dtype=np.int64)


def whole_clusters(batches: Iterator[Batch], column: str) -> Iterator[Batch]:
    """The same rounds, re-batched so that no cluster is split; rounds of a cluster that had already ended are marked."""
    seen: set[Any] = set()
    pending: Batch | None = None
    for batch in batches:
        joined = batch if pending is None else _join(pending, batch)
        starts = cluster_starts(joined.table[column])
        last = int(starts[-2]) if len(starts) > 1 else 0
        pending = _slice(joined, last, joined.table.num_rows)
        if last:
            yield _mark_repeats(_slice(joined, 0, last), column, seen)
    if pending is not None and pending.table.num_rows:
        yield _mark_repeats(pending, column, seen)


def _join(first: Batch, second: Batch) -> Batch:
    if first.table.num_rows == 0:
        return second
    if first.place != second.place:
        # The batch spans two files, so report only row numbers in the whole log.
        second = replace(second, place="", place_start=0)
    return replace(second, table=_concatenate(first.table, second.table), start=first.start)


def _concatenate(first: ArrowTable, second: ArrowTable) -> ArrowTable:
    """Concatenate tables whose column types may differ as files do: integers and floats, dictionary codes and text."""
    try:
        tables = [pa.table({name: decode(table[name]) for name in table.column_names}) for table in (first, second)]
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise LogsError(f"two files share a cluster but differ in the type of a column: {error}") from error


def _slice(batch: Batch, start: int, stop: int) -> Batch:
    return replace(batch, table=batch.table.slice(start, stop - start), start=batch.start + start)


def _mark_repeats(batch: Batch, column: str, seen: set[Any]) -> Batch:
    starts = cluster_starts(batch.table[column])
    names = decode(batch.table[column]).take(pa.array(starts[:-1])).to_pylist()
    again = np.zeros(batch.table.num_rows, dtype=np.bool_)
    for start, stop, name in zip(starts[:-1], starts[1:], names, strict=True):
        again[start:stop] = name in seen
        seen.add(name)
    return replace(batch, again=again)
