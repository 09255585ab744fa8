"""Ids of rounds and clusters as words, and a memory of those that were seen: exact, and small where ids come in order."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.arrays import ArrowColumn, BoolArray, IntArray, pc
from surelift.errors import UsageError
from surelift.kernels.columns import scramble
from surelift.kernels.texts import hash_texts
from surelift.logs.columns import as_array, decode, is_text

# Whole numbers below it are the same as integers.
_WHOLE = 2.0**63
# Of a whole number that fits 64 bits.
MOST_DIGITS = 18


def id_words(column: ArrowColumn) -> IntArray:
    """A word of 64 bits for each entry, the same for the same id; whole numbers are their own."""
    if pa.types.is_nested(column.type):
        raise UsageError(f"an id must be text or a number, but its column holds {column.type}.")
    column = decode(column)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int64)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_timestamp(column.type):
        return _time_words(column)
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return as_array(column.cast(pa.int64(), safe=False).fill_null(0))
    if pa.types.is_floating(column.type):
        values = as_array(column.cast(pa.float64()).fill_null(0.0))
        whole = (values == np.floor(values)) & (np.abs(values) < _WHOLE)
        bits = scramble(np.ascontiguousarray(values).view(np.uint64)).view(np.int64)
        return np.where(whole, np.where(whole, values, 0.0).astype(np.int64), bits)
    if pa.types.is_fixed_size_binary(column.type) or pa.types.is_binary_view(column.type):
        column = column.cast(pa.binary())
    elif not (is_text(column) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException as error:
            raise UsageError(f"an id must be text or a number, but its column holds {column.type}.") from error
    return _text_words(column.fill_null(b"" if pa.types.is_binary(column.type) else ""))


def _time_words(column: ArrowColumn) -> IntArray:
    """Microseconds, whatever the unit; hashes of what is finer."""
    ticks = as_array(column.cast(pa.int64()).fill_null(0))
    if column.type.unit != "ns":
        return as_array(column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).fill_null(0))
    return np.where(ticks % 1000, scramble(ticks.view(np.uint64)).view(np.int64), ticks // 1000)


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
