"""Ids of rounds and clusters as words, a memory of those that were seen, and batches that split no cluster."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.arrays import ArrowColumn, BoolArray, IntArray, pc
from surelift.errors import LogsError, UsageError
from surelift.kernels.columns import hash_texts, scramble
from surelift.logs.batch import TableBatch
from surelift.logs.columns import as_array, decode, is_text

_WHOLE = 2.0**63  # whole numbers below it are the same as integers
MOST_DIGITS = 18  # digits of a whole number that fits 64 bits


def id_words(column: ArrowColumn) -> IntArray:
    """A word of 64 bits for each entry, the same for the same id; whole numbers are their own."""
    column, types = decode(column), pa.types
    kind = column.type
    if types.is_date(kind):
        column = column.cast(pa.timestamp("us"))
    if types.is_timestamp(column.type):
        ticks = as_array(column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).fill_null(0))
        if column.type.unit == "ns":
            # Microseconds, whatever the unit; hashes of what is finer.
            finer = as_array(column.cast(pa.int64()).fill_null(0))
            ticks = np.where(finer % 1000, scramble(finer.view(np.uint64)).view(np.int64), finer // 1000)
        return ticks
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind):
        return as_array(column.cast(pa.int64(), safe=False).fill_null(0))
    if types.is_floating(kind):
        values = as_array(column.cast(pa.float64()).fill_null(0.0))
        whole = (values == np.floor(values)) & (np.abs(values) < _WHOLE)
        bits = scramble(np.ascontiguousarray(values).view(np.uint64)).view(np.int64)
        return np.where(whole, np.where(whole, values, 0.0).astype(np.int64), bits)
    if types.is_fixed_size_binary(kind) or types.is_binary_view(kind):
        column = column.cast(pa.binary())
    elif not (is_text(column) or types.is_binary(kind) or types.is_large_binary(kind)):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException as error:
            raise UsageError(f"an id must be text or a number, but its column holds {kind}.") from error
    return _text_words(column.fill_null(b"" if types.is_binary(column.type) else ""))


def _text_words(column: ArrowColumn) -> IntArray:
    """Hashes; but whole numbers are their own, so that they are the same as text and as numbers."""
    _, offsets, data = column.buffers()
    if len(column) == 0 or offsets is None:
        return np.zeros(len(column), dtype=np.int64)
    large = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    places = np.frombuffer(offsets, dtype=np.int64 if large else np.int32)[column.offset :][: len(column) + 1]
    letters = np.frombuffer(data, dtype=np.uint8) if data is not None and data.size else np.zeros(1, dtype=np.uint8)
    words = hash_texts(letters, places)
    if is_text(column) and (digits := as_array(pc.ascii_is_decimal(column))).any():
        sizes = np.diff(places)
        padded = (letters[np.minimum(places[:-1], len(letters) - 1)] == ord("0")) & (sizes > 1)
        whole, words = digits & (sizes <= MOST_DIGITS) & ~padded, words.copy()
        words[whole] = as_array(column.filter(pa.array(whole)).cast(pa.int64()))
    return words


class SeenIds:
    """Ids in sorted runs, each as small differences from its first: ids in order take 2 to 4 bytes each, others up to 8."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def add(self, ids: IntArray) -> BoolArray:
        """Which of these were seen before, or earlier among these."""
        again = np.ones(len(ids), dtype=np.bool_)
        if len(ids) == 0:
            return again
        first, places = np.unique(ids, return_index=True)
        again[places], run = False, _Run(first)
        for other in self._runs:
            if other.overlaps(run):
                again[places[other.contains(first)]] = True
        while self._runs and self._runs[-1].overlaps(run) and len(self._runs[-1]) <= 2 * len(run):
            run = _Run(np.union1d(self._runs.pop().ids(), run.ids()))
        self._runs.append(run)
        return again


class _Run:
    def __init__(self, ids: IntArray) -> None:
        differences = ids.view(np.uint64) - ids.view(np.uint64)[0]
        self._least, self._most = int(ids[0]), int(ids[-1])
        self._differences: npt.NDArray[np.unsignedinteger] = differences.astype(np.min_scalar_type(int(differences[-1])))

    def __len__(self) -> int:
        return len(self._differences)

    def ids(self) -> IntArray:
        return (self._differences.astype(np.uint64) + np.int64(self._least).view(np.uint64)).view(np.int64)

    def overlaps(self, other: "_Run") -> bool:
        return self._least <= other._most and other._least <= self._most

    def contains(self, ids: IntArray) -> BoolArray:
        inside = (ids >= self._least) & (ids <= self._most)
        wanted = np.where(inside, ids, self._least).view(np.uint64) - np.int64(self._least).view(np.uint64)
        wanted = wanted.astype(self._differences.dtype)
        places = np.searchsorted(self._differences, wanted)
        return np.asarray(inside & (self._differences[places] == wanted))


def whole_clusters(batches: Iterator[TableBatch], column: str) -> Iterator[TableBatch]:
    """The same rounds, re-batched so that no cluster is split; rounds of a cluster that had already ended are marked."""
    seen, pending = SeenIds(), None
    for batch in chain(batches, (None,)):
        joined = pending if batch is None else batch if pending is None else _join(pending, batch)
        if joined is None:
            return
        words, table = id_words(joined.table[column]), joined.table
        starts = np.append(np.flatnonzero(np.append(len(words) > 0, words[1:] != words[:-1])), len(words))
        if batch is not None:
            starts = starts[: max(len(starts) - 1, 1)]  # the last cluster may go on in the next batch
        end = int(starts[-1])
        pending = replace(joined, table=table.slice(end), start=joined.start + end)
        if end:
            again = seen.add(words[starts[:-1]])
            mark = np.repeat(again, np.diff(starts)) if again.any() else None
            yield replace(joined, table=table.slice(0, end), cluster_starts=starts, again=mark)


def _join(first: TableBatch, second: TableBatch) -> TableBatch:
    if first.table.num_rows == 0:
        return second
    if first.place != second.place:
        # The batch spans two files, so report only row numbers in the whole log.
        second = replace(second, place="", place_start=0)
    try:
        # Column types may differ as files do: integers and floats, dictionary codes and text.
        names, tables = first.table.column_names, (first.table, second.table)
        decoded = [pa.table({name: decode(table[name]) for name in names}) for table in tables]
        joined = pa.concat_tables(decoded, promote_options="permissive")
    except pa.ArrowException as error:
        raise LogsError(f"two files share a cluster but differ in the type of a column: {error}") from error
    return replace(second, table=joined, start=first.start)
