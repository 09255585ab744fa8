"""Rounds that belong together (one user, one session, one slate) and enter a bound as a single unit."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowTable, FloatArray, IntArray
from surelift.errors import LogsError
from surelift.kernels.sums import cluster_means
from surelift.logs.batch import Batch
from surelift.logs.columns import decode
from surelift.logs.ids import SeenIds, id_words


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

    def mean(self, values: FloatArray, *, padded_with: float | FloatArray) -> FloatArray:
        """The mean over each cluster, with ``padded_with`` (of each cluster) in place of each missing round."""
        if isinstance(padded_with, float):
            return cluster_means(values, self.starts, self.divisor, padded_with)
        lacking = padded_with * (self.divisor - self.sizes) / self.divisor
        return cluster_means(values, self.starts, self.divisor, 0.0) + lacking

    def largest(self, values: FloatArray) -> FloatArray:
        return np.zeros(0) if len(self) == 0 else np.maximum.reduceat(values, self.starts[:-1])


def whole_clusters(batches: Iterator[Batch], column: str) -> Iterator[Batch]:
    """The same rounds, re-batched so that no cluster is split; rounds of a cluster that had already ended are marked."""
    seen, pending = SeenIds(), None
    for batch in batches:
        joined = batch if pending is None else _join(pending, batch)
        words = id_words(joined.table[column])
        starts = _run_starts(words)
        last = int(starts[-2]) if len(starts) > 1 else 0
        pending = _slice(joined, last, joined.table.num_rows)
        if last:
            yield _marked(_slice(joined, 0, last), words, starts[:-1], seen)
    if pending is not None and pending.table.num_rows:
        words = id_words(pending.table[column])
        yield _marked(pending, words, _run_starts(words), seen)


def _run_starts(words: IntArray) -> IntArray:
    """The start of each run of equal entries, followed by the total length."""
    if len(words) == 0:
        return np.zeros(1, dtype=np.int64)
    changes = np.flatnonzero(words[1:] != words[:-1]) + 1
    return np.concatenate([[0], changes, [len(words)]]).astype(np.int64)


def _marked(batch: Batch, words: IntArray, starts: IntArray, seen: SeenIds) -> Batch:
    again = seen.add(words[starts[:-1]])
    return replace(batch, cluster_starts=starts, again=np.repeat(again, np.diff(starts)) if again.any() else None)


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
