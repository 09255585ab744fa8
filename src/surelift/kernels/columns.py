"""Columns of plain numbers as they lie in memory, in double precision, looked through on the way; and their hashes."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from operator import lshift
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.library import Packed, compiled

# The types that loops read, by their number there.
KINDS = ("float64", "float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
LARGEST = float(np.finfo(np.float64).max)
Words = npt.NDArray[np.uint64]
HashedColumn = FloatArray | tuple[Words, Words]  # numbers, or two words for each round
# Where the two lanes of a hash begin, and what they are multiplied by.
SEEDS: Words = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)
# The places of the halves of both words in a hash of 128 bits, and the modulus of their sums.
HALVES, MODULUS = (0, 32, 64, 96), 1 << 128


def read_numbers(column: npt.NDArray[Any], least: float = -LARGEST, most: float = LARGEST) -> tuple[FloatArray, int]:
    """The column in double precision, and how many of its values are not between two numbers.

    >>> read_numbers(np.array([1, 2, 3], dtype=np.int8), 0.0, 2.0)
    (array([1., 2., 3.]), 1)
    """
    library = compiled()
    if library is None or column.dtype == np.float64 or column.dtype.name not in KINDS:
        values = np.ascontiguousarray(column, dtype=np.float64)
        return values, count_outside(values, least, most)
    values, kind = np.empty(len(column)), KINDS.index(column.dtype.name)
    return values, library.call("read_numbers", column, kind, len(column), float(least), float(most), values)


def count_outside(values: FloatArray, least: float, most: float) -> int:
    """How many are not from ``least`` to ``most``; what is no number is not.

    >>> count_outside(np.array([0.0, 0.5, np.nan, 2.0]), 0.0, 1.0)
    2
    """
    library = compiled()
    if library is None:
        return int(np.count_nonzero(~((values >= least) & (values <= most))))
    return library.call("count_outside", values, len(values), float(least), float(most))


def bits_of(values: FloatArray) -> Words:
    # Adding 0.0 turns -0.0 into 0.0: equal numbers, different bits.
    return (values + 0.0).view(np.uint64)


def scramble(words: Words) -> Words:
    """The finaliser of splitmix64: each input bit flips about half of the output bits."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def hash_columns(columns: Sequence[HashedColumn], rows: int) -> tuple[Words, int]:
    """A word of 64 bits for each round; and the sum of the hashes of 128 bits."""
    library = compiled()
    if library is None:
        first, second = (scramble(lane) for lane in mixed_lanes(columns, rows))
        return first, hash_total(first, second)
    firsts = [column[0] if isinstance(column, tuple) else column for column in columns]
    seconds = [column[1] if isinstance(column, tuple) else None for column in columns]
    words, totals = np.empty(rows, dtype=np.uint64), np.zeros(4, dtype=np.uint64)
    library.call("hash_columns", Packed(*firsts), Packed(*seconds), len(columns), rows, words, totals)
    return words, sum(map(lshift, totals.tolist(), HALVES)) % MODULUS


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


def hash_total(first: Words, second: Words) -> int:
    """The sum of hashes of two words each. Of their halves, of which no sum overflows before 2^32 rounds."""
    parts = (half for words in (first, second) for half in (words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)))
    return sum(int(part.sum(dtype=np.uint64)) << place for part, place in zip(parts, HALVES, strict=True)) % MODULUS


def hash_texts(data: npt.NDArray[np.uint8], offsets: npt.NDArray[Any]) -> IntArray:
    """A word of 64 bits for each text, which lies between two offsets of ``data``; for use in one process only.

    Two of n different texts share one with probability n^2 / 2^65: in one of 40,000 logs with 30 million ids.
    """
    library = compiled()
    if library is None:
        whole = data.tobytes()
        texts = [whole[start:stop] for start, stop in pairwise(offsets.tolist())]
        known = {text: hashlib.blake2b(text, digest_size=8).digest() for text in set(texts)}
        return np.frombuffer(b"".join(known[text] for text in texts), dtype=np.int64)
    words = np.empty(len(offsets) - 1, dtype=np.int64)
    library.call("hash_texts", data, offsets, int(offsets.itemsize == 8), len(words), words)
    return words


def hash_vectors(values: FloatArray | npt.NDArray[np.float32], starts: IntArray, seeds: Words) -> Words:
    """(seeds, vectors): sums of hashes modulo 2^64. Vector i is ``values[starts[i]:starts[i + 1]]``.

    Numbers in single precision have the hashes of the same numbers in double precision.

    >>> first, second = hash_vectors(np.array([0.5, 0.0, -0.0, 0.5]), np.array([0, 2, 4]), np.array([7], np.uint64))[0]
    >>> bool(first == second)  # the positions differ
    False
    """
    library, lengths = compiled(), np.diff(starts)
    sums = np.zeros((len(seeds), len(lengths)), dtype=np.uint64)
    if library is not None:
        single = int(values.dtype == np.float32)
        library.call("hash_vectors", values, single, starts, len(lengths), seeds, len(seeds), sums)
        return sums
    bits, filled = bits_of(values.astype(np.float64, copy=False)), lengths > 0
    positions = (np.arange(len(values)) - np.repeat(starts[:-1], lengths)).astype(np.uint64)
    for lane, seed in enumerate(seeds):
        entries = scramble(scramble(bits + seed) + positions * seed)
        if filled.any():
            sums[lane, filled] = np.add.reduceat(entries, starts[:-1][filled])
    return sums
