"""Hashes of vectors: each entry is hashed with its position, and the hashes are added."""

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.columns import Words, bits_of, scramble
from surelift.kernels.library import compiled


def hash_vectors(values: FloatArray | npt.NDArray[np.float32], starts: IntArray, seeds: Words) -> Words:
    """(seeds, vectors): sums of hashes modulo 2^64. Vector i is ``values[starts[i]:starts[i + 1]]``.

    Numbers in single precision have the hashes of the same numbers in double precision.

    >>> first, second = hash_vectors(np.array([0.5, 0.0, -0.0, 0.5]), np.array([0, 2, 4]), np.array([7], np.uint64))[0]
    >>> bool(first == second)  # the positions differ
    False
    """
    library = compiled()
    if library is None:
        return _reference(values.astype(np.float64, copy=False), starts, seeds)
    sums = np.empty((len(seeds), len(starts) - 1), dtype=np.uint64)
    entries, single = np.ascontiguousarray(values), int(values.dtype == np.float32)
    library.call("hash_vectors", entries, single, np.ascontiguousarray(starts), len(starts) - 1, seeds, len(seeds), sums)
    return sums


def _reference(values: FloatArray, starts: IntArray, seeds: Words) -> Words:
    bits, lengths = bits_of(values), np.diff(starts)
    positions = (np.arange(len(values)) - np.repeat(starts[:-1], lengths)).astype(np.uint64)
    sums, filled = np.zeros((len(seeds), len(lengths)), dtype=np.uint64), lengths > 0
    for lane, seed in enumerate(seeds):
        entries = scramble(scramble(bits + seed) + positions * seed)
        if filled.any():
            sums[lane, filled] = np.add.reduceat(entries, starts[:-1][filled])
    return sums
