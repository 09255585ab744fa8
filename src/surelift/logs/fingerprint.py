"""A fingerprint of the rounds that were read, independent of row order, sharding and file format.

Each round is hashed to 128 bits over the float64 bits of the values read from it, and the hashes are added modulo 2^128,
so shards can be read separately and in any order. It detects accidental differences between logs; it does not protect
against deliberate forgery.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray
from surelift.kernels.vector_hashes import hash_vectors
from surelift.logs.vectors import Vectors

_WordArray = npt.NDArray[np.uint64]
_MODULUS = 1 << 128
_UNKNOWN = -1
LANES = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    rounds: int = 0
    total: int = 0

    def __add__(self, other: "Fingerprint") -> "Fingerprint":
        if not (self.known and other.known):
            return Fingerprint.unknown(self.rounds + other.rounds)
        return Fingerprint(self.rounds + other.rounds, (self.total + other.total) % _MODULUS)

    @classmethod
    def of_halves(cls, rounds: int, halves: Sequence[int]) -> "Fingerprint":
        """From sums of the lower and upper 32 bits of both words of every hash."""
        low, high = halves[0] + (halves[1] << 32), halves[2] + (halves[3] << 32)
        return cls(rounds, (low + (high << 64)) % _MODULUS)

    @classmethod
    def of_lanes(cls, lanes: Sequence[_WordArray]) -> "Fingerprint":
        low, high = (_sum_words(scramble(lane)) for lane in lanes)
        return cls(len(lanes[0]), (low + (high << 64)) % _MODULUS)

    @classmethod
    def unknown(cls, rounds: int) -> "Fingerprint":
        """For rounds summed in an engine that does not expose their bits."""
        return cls(rounds, _UNKNOWN)

    @property
    def known(self) -> bool:
        return self.total != _UNKNOWN

    def __str__(self) -> str:
        return f"{self.rounds}:{self.total:032x}" if self.known else f"{self.rounds}:none"


def _bits(values: FloatArray) -> _WordArray:
    # Adding 0.0 turns -0.0 into 0.0: equal numbers, different bits.
    return (values + 0.0).view(np.uint64)


def scramble(words: _WordArray) -> _WordArray:
    """The finaliser of splitmix64: each input bit flips about half of the output bits."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


def _stir(lane: _WordArray, words: _WordArray, seed: np.uint64) -> _WordArray:
    """One invertible multiplication per column; ``scramble`` does the rest at the end."""
    stirred = (lane ^ words) * seed
    return stirred ^ (stirred >> np.uint64(29))


class RoundHashes:
    """The hashes of the rounds of one batch, updated as columns are read."""

    def __init__(self, rounds: int) -> None:
        self.lanes = [np.full(rounds, seed, dtype=np.uint64) for seed in LANES]

    def mix(self, values: FloatArray) -> None:
        words = _bits(values)
        self.lanes = [_stir(lane, words, seed) for lane, seed in zip(self.lanes, LANES, strict=True)]

    def mix_vectors(self, vectors: Vectors) -> None:
        """Mix in one vector per round: each entry is hashed with its position, and the hashes are added."""
        hashes = hash_vectors(vectors.values, vectors.starts, np.array(LANES)) + vectors.lengths.astype(np.uint64)
        for lane, seed in enumerate(LANES):
            self.lanes[lane] = _stir(self.lanes[lane], hashes[lane], seed)

    def words(self) -> _WordArray:
        """A hash of 64 bits for each round, of all that was read so far."""
        return scramble(self.lanes[0])

    def fingerprint(self) -> Fingerprint:
        return Fingerprint.of_lanes(self.lanes)


def _sum_words(words: _WordArray) -> int:
    """An exact sum of 64-bit words: sums of 32-bit halves cannot overflow before 2^32 rounds."""
    low = int((words & np.uint64(0xFFFFFFFF)).sum(dtype=np.uint64))
    high = int((words >> np.uint64(32)).sum(dtype=np.uint64))
    return low + (high << 32)
