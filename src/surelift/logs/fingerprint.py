"""A fingerprint of the rounds that were read, independent of row order, sharding and file format.

Each round is hashed to 128 bits over the float64 bits of the values read from it, and the hashes are added modulo 2^128,
so shards can be read separately and in any order. It detects accidental differences between logs; it does not protect
against deliberate forgery.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.columns import SEEDS, HashedColumn, Words, bits_of, halves, hash_columns, mixed_lanes, scramble
from surelift.kernels.sorting import Sorted
from surelift.logs.vectors import Vectors

_MODULUS = 1 << 128
_UNKNOWN = -1
# Below this many entries, loading the compiler costs more than it saves.
WORTH_COMPILING = 200_000


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
    def unknown(cls, rounds: int) -> "Fingerprint":
        """For rounds summed in an engine that does not expose their bits."""
        return cls(rounds, _UNKNOWN)

    @property
    def known(self) -> bool:
        return self.total != _UNKNOWN

    def __str__(self) -> str:
        return f"{self.rounds}:{self.total:032x}" if self.known else f"{self.rounds}:none"


def _hash_entries(values: FloatArray, starts: IntArray, seed: np.uint64) -> Words:
    """For every vector, the sum of the hashes of its entries and positions."""
    lengths = np.diff(starts)
    positions = (np.arange(len(values)) - np.repeat(starts[:-1], lengths)).astype(np.uint64)
    entries = scramble(scramble(bits_of(values) + seed) + positions * seed)
    return Vectors(values, starts, 0.0).fold(np.add, entries, empty=0)


def _hash_entries_in_a_loop(values: FloatArray, starts: IntArray, seed: np.uint64) -> Words:
    bits = values.view(np.uint64)
    first, second = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    out = np.zeros(len(starts) - 1, np.uint64)
    for i in range(len(out)):
        total, shift = np.uint64(0), np.uint64(0)
        for k in range(starts[i], starts[i + 1]):
            word = (bits[k] if values[k] != 0.0 else np.uint64(0)) + seed
            for again in range(2):
                word = (word ^ (word >> np.uint64(30))) * first
                word = (word ^ (word >> np.uint64(27))) * second
                word = word ^ (word >> np.uint64(31))
                if again == 0:
                    word += shift
            total += word
            shift += seed
        out[i] = total
    return out


@cache
def _compile_loop() -> Any:
    """Compiled at first use and cached on disk: numba takes half a second to import."""
    from numba import njit

    return njit(cache=True, nogil=True)(_hash_entries_in_a_loop)


class RoundHashes:
    """The hashes of the rounds of one batch: of all columns that were read, in their order."""

    def __init__(self, rounds: int) -> None:
        self._rounds, self._columns = rounds, list[HashedColumn]()
        self._known: tuple[Words, tuple[int, int, int, int]] | None = None

    def mix(self, values: FloatArray) -> None:
        self._columns.append(np.ascontiguousarray(values))
        self._known = None

    def mix_vectors(self, vectors: Vectors) -> None:
        """Mix in one vector per round: each entry is hashed with its position, and the hashes are added."""
        hash_entries = _hash_entries if len(vectors.values) < WORTH_COMPILING else _compile_loop()
        lengths = vectors.lengths.astype(np.uint64)
        first, second = (hash_entries(vectors.values, vectors.starts, seed) + lengths for seed in SEEDS)
        self._columns.append((first, second))
        self._known = None

    def _hashed(self) -> tuple[Words, tuple[int, int, int, int]]:
        if self._known is None:
            self._known = hash_columns(self._columns, self._rounds)
        return self._known

    def words(self) -> Words:
        """A hash of 64 bits for each round, of all that was read so far."""
        return self._hashed()[0]

    def fingerprint(self) -> Fingerprint:
        return Fingerprint.of_halves(self._rounds, self._hashed()[1])

    def fingerprints(self, groups: Sorted) -> list[Fingerprint]:
        """That of each group of the rounds."""
        lanes = np.stack([scramble(lane) for lane in mixed_lanes(self._columns, self._rounds)], axis=1)
        return [
            Fingerprint.of_halves(len(part), (*halves(part[:, 0]), *halves(part[:, 1]))) for part in groups.split(lanes)
        ]
