"""Rounds that belong together (one user, one session, one slate) and enter a bound as a single unit."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowTable, IntArray
from surelift.errors import LogsError
from surelift.logs.batch import TableBatch
from surelift.logs.columns import decode
from surelift.logs.ids import SeenIds, id_words


def whole_clusters(batches: Iterator[TableBatch], column: str) -> Iterator[TableBatch]:
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


def _marked(batch: TableBatch, words: IntArray, starts: IntArray, seen: SeenIds) -> TableBatch:
    again = seen.add(words[starts[:-1]])
    return replace(batch, cluster_starts=starts, again=np.repeat(again, np.diff(starts)) if again.any() else None)


def _join(first: TableBatch, second: TableBatch) -> TableBatch:
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


def _slice(batch: TableBatch, start: int, stop: int) -> TableBatch:
    return replace(batch, table=batch.table.slice(start, stop - start), start=batch.start + start)
