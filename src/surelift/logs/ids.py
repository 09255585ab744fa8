"""Ids of rounds and clusters as words, and a memory of those that were seen: exact, and small where ids come in order."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.arrays import ArrowColumn, BoolArray, IntArray
from surelift.errors import UsageError
from surelift.kernels.columns import scramble
from surelift.kernels.texts import hash_texts
from surelift.logs.columns import as_array, decode, is_text

# Whole numbers below it are the same as integers.
_WHOLE = 2.0**63


def id_words(column: ArrowColumn) -> IntArray:
    """A word of 64 bits for each entry, the same for the same id; whole numbers are their own."""
    if pa.types.is_nested(column.type):
        raise UsageError(f"an id must be text or a number, but its column holds {column.type}.")
    column = decode(column)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int64)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    elif pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return as_array(column.cast(pa.int64(), safe=False).fill_null(0))
    if pa.types.is_floating(column.type):
        values = as_array(column.cast(pa.float64()).fill_null(0.0))
        whole = (values == np.floor(values)) & (np.abs(values) < _WHOLE)
        bits = scramble(np.ascontiguousarray(values).view(np.uint64)).view(np.int64)
        return np.where(whole, np.where(whole, values, 0.0).astype(np.int64), bits)
    return _text_words((column if is_text(column) else column.cast(pa.string())).fill_null(""))


def _text_words(column: ArrowColumn) -> IntArray:
    _, offsets, data = column.buffers()
    if len(column) == 0 or offsets is None:
        return np.zeros(len(column), dtype=np.int64)
    places = np.frombuffer(offsets, dtype=np.int64 if pa.types.is_large_string(column.type) else np.int32)
    letters = np.frombuffer(data, dtype=np.uint8) if data is not None and data.size else np.zeros(1, dtype=np.uint8)
    return hash_texts(letters, places[column.offset : column.offset + len(column) + 1])


class SeenIds:
    """Ids in sorted runs, each as small differences from its first. Runs that overlap are merged as they grow: ids in
    order take 2 to 4 bytes each, others up to 8.
    """

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def add(self, ids: IntArray) -> BoolArray:
        """Which of these were seen before, or earlier among these."""
        first, places = np.unique(ids, return_index=True)
        again = np.ones(len(ids), dtype=np.bool_)
        again[places] = False
        if len(first) == 0:
            return again
        run = _Run.of(first)
        for other in self._runs:
            if other.overlaps(run):
                again[places[other.contains(first)]] = True
        while self._runs and self._runs[-1].overlaps(run) and len(self._runs[-1]) <= 2 * len(run):
            run = _Run.of(np.union1d(self._runs.pop().ids(), run.ids()))
        self._runs.append(run)
        return again


class _Run:
    def __init__(self, least: int, differences: npt.NDArray[np.unsignedinteger]) -> None:
        self._least, self._differences = least, differences
        self._most = least + int(differences[-1])

    @classmethod
    def of(cls, ids: IntArray) -> "_Run":
        differences = ids.view(np.uint64) - ids.view(np.uint64)[0]
        return cls(int(ids[0]), differences.astype(np.min_scalar_type(int(differences[-1]))))

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
