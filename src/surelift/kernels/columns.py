"""Columns of plain numbers as they lie in memory, in double precision, looked through on the way; and their hashes."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray
from surelift.kernels.library import compiled

KINDS = ("float64", "float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""The types that loops read, by their number there."""
Words = npt.NDArray[np.uint64]
LARGEST = float(np.finfo(np.float64).max)
SEEDS: Words = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)
"""Where the two lanes of a hash begin, and what they are multiplied by."""


def read_numbers(column: npt.NDArray[Any], least: float = -LARGEST, most: float = LARGEST) -> tuple[FloatArray, int]:
    """The column in double precision, and how many of its values are not between two numbers.

    >>> read_numbers(np.array([1, 2, 3], dtype=np.int8), 0.0, 2.0)
    (array([1., 2., 3.]), 1)
    """
    library = compiled()
    if library is None or column.dtype.name not in KINDS:
        values = np.ascontiguousarray(column, dtype=np.float64)
        return values, count_outside(values, least, most)
    if column.dtype == np.float64:
        values = np.ascontiguousarray(column)
        return values, count_outside(values, least, most)
    values, source = np.empty(len(column)), np.ascontiguousarray(column)
    kind = KINDS.index(column.dtype.name)
    return values, library.call("read_numbers", source, kind, len(source), float(least), float(most), values)


def count_outside(values: FloatArray, least: float, most: float) -> int:
    """How many are not from ``least`` to ``most``; what is no number is not.

    >>> count_outside(np.array([0.0, 0.5, np.nan, 2.0]), 0.0, 1.0)
    2
    """
    library = compiled()
    if library is None:
        return int(np.count_nonzero(~((values >= least) & (values <= most))))
    return library.call("count_outside", np.ascontiguousarray(values), len(values), float(least), float(most))


def bits_of(values: FloatArray) -> Words:
    # Adding 0.0 turns -0.0 into 0.0: equal numbers, different bits.
    return (values + 0.0).view(np.uint64)


def scramble(words: Words) -> Words:
    """The finaliser of splitmix64: each input bit flips about half of the output bits."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


HashedColumn = FloatArray | tuple[Words, Words]
"""Numbers, or two words for each round."""


def hash_columns(columns: Sequence[HashedColumn], rows: int) -> tuple[Words, tuple[int, int, int, int]]:
    """A word of 64 bits for each round; and the sums of the lower and upper halves of both words of its hash."""
    library = compiled()
    if library is None:
        return _reference(columns, rows)
    firsts = [column[0] if isinstance(column, tuple) else column for column in columns]
    seconds = [column[1] if isinstance(column, tuple) else None for column in columns]
    words, totals = np.empty(rows, dtype=np.uint64), np.zeros(4, dtype=np.uint64)
    library.call("hash_columns", pointers(firsts), pointers(seconds), len(columns), rows, words, totals)
    low, high, other_low, other_high = totals.tolist()
    return words, (low, high, other_low, other_high)


def pointers(arrays: Sequence[npt.NDArray[Any] | None]) -> Any:
    """Where arrays lie, as C expects a list of them; they must outlive it."""
    assert all(array is None or array.flags.c_contiguous for array in arrays)
    return (ctypes.c_void_p * len(arrays))(*[None if array is None else array.ctypes.data for array in arrays])


def mixed_lanes(columns: Sequence[HashedColumn], rows: int) -> list[Words]:
    """Both lanes, not yet scrambled: one invertible multiplication for each column."""
    lanes = []
    for lane, seed in enumerate(SEEDS):
        words = np.full(rows, seed, dtype=np.uint64)
        for column in columns:
            words = (words ^ (column[lane] if isinstance(column, tuple) else bits_of(column))) * seed
            words = words ^ (words >> np.uint64(29))
        lanes.append(words)
    return lanes


def _reference(columns: Sequence[HashedColumn], rows: int) -> tuple[Words, tuple[int, int, int, int]]:
    low, high = (scramble(lane) for lane in mixed_lanes(columns, rows))
    return low, (*halves(low), *halves(high))


def halves(words: Words) -> tuple[int, int]:
    """Sums of the lower and of the upper 32 bits: neither overflows before 2^32 rounds."""
    low = int((words & np.uint64(0xFFFFFFFF)).sum(dtype=np.uint64))
    return low, int((words >> np.uint64(32)).sum(dtype=np.uint64))
