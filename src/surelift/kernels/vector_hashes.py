"""Hashes of vectors: each entry is hashed with its position, and the hashes are added."""

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.columns import Words, bits_of, scramble
from surelift.kernels.library import compiled


def hash_vectors(values: FloatArray, starts: IntArray, seeds: Words) -> Words:
    """(seeds, vectors): sums of hashes modulo 2^64. Vector i is ``values[starts[i]:starts[i + 1]]``.

    >>> first, second = hash_vectors(np.array([0.5, 0.0, -0.0, 0.5]), np.array([0, 2, 4]), np.array([7], np.uint64))[0]
    >>> bool(first == second)  # the positions differ
    False
    """
    library = compiled()
    if library is None:
        return _reference(values, starts, seeds)
    sums = np.empty((len(seeds), len(starts) - 1), dtype=np.uint64)
    library.call(
        "hash_vectors", *map(np.ascontiguousarray, (values, starts)), len(starts) - 1, seeds, len(seeds), sums
    )  # fmt: skip
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
