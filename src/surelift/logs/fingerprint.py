"""A fingerprint of the rounds that were read: the same for any order, any shards, any file format.

Each round is hashed to 128 bits over the float64 bits of what was read from it, and the hashes are added modulo 2^128.
Addition is what lets shards be read apart and in any order. It tells logs apart that differ by accident; it is not a
defence against somebody who forges them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surelift.arrays import BoolArray, FloatArray
from surelift.logs.vectors import Vectors

_WordArray = npt.NDArray[np.uint64]
_MODULUS = 1 << 128
_LANES = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    rounds: int = 0
    total: int = 0

    def __add__(self, other: "Fingerprint") -> "Fingerprint":
        return Fingerprint(self.rounds + other.rounds, (self.total + other.total) % _MODULUS)

    def __str__(self) -> str:
        return f"{self.rounds}:{self.total:032x}"


def _bits(values: FloatArray) -> _WordArray:
    # Adding 0.0 turns -0.0 into 0.0, which are the same number with other bits.
    return (values + 0.0).view(np.uint64)


def _scramble(words: _WordArray) -> _WordArray:
    """The finaliser of splitmix64: every bit of the input moves about half the bits of the output."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


class RoundHashes:
    """The hashes of the rounds of one batch, built up as their columns are read."""

    def __init__(self, rounds: int) -> None:
        self._lanes = [np.full(rounds, seed, dtype=np.uint64) for seed in _LANES]

    def mix(self, values: FloatArray) -> None:
        words = _bits(values)
        self._lanes = [_scramble(lane * seed + words) for lane, seed in zip(self._lanes, _LANES, strict=True)]

    def mix_vectors(self, vectors: Vectors) -> None:
        """Mix in one vector per round: each entry is hashed with its position, and the hashes are added."""
        positions = (np.arange(len(vectors.values)) - np.repeat(vectors.starts[:-1], vectors.lengths)).astype(np.uint64)
        words = _bits(vectors.values)
        for lane, seed in enumerate(_LANES):
            entries = _scramble(_scramble(words + seed) + positions * seed)
            folded = vectors.fold(np.add, entries, empty=0)
            self._lanes[lane] = _scramble(self._lanes[lane] * seed + folded + vectors.lengths.astype(np.uint64))

    def only(self, chosen: BoolArray) -> "RoundHashes":
        part = RoundHashes(0)
        part._lanes = [lane[chosen] for lane in self._lanes]
        return part

    def words(self) -> _WordArray:
        """A hash of 64 bits for each round, of all that was read so far."""
        return self._lanes[0].copy()

    def fingerprint(self) -> Fingerprint:
        low, high = (_sum_words(lane) for lane in self._lanes)
        return Fingerprint(len(self._lanes[0]), (low + (high << 64)) % _MODULUS)


def _sum_words(words: _WordArray) -> int:
    """An exact sum of 64-bit words: halves of 32 bits cannot overflow before 2^32 rounds."""
    low = int((words & np.uint64(0xFFFFFFFF)).sum(dtype=np.uint64))
    high = int((words >> np.uint64(32)).sum(dtype=np.uint64))
    return low + (high << 32)
