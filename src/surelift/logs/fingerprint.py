"""A fingerprint of the rounds that were read, independent of row order, sharding and file format.

Each round is hashed to 128 bits over the float64 bits of the values read from it, and the hashes are added modulo 2^128,
so shards can be read separately and in any order. It detects accidental differences between logs; it does not protect
against deliberate forgery.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from surelift.arrays import ArrowColumn, FloatArray, IntArray
from surelift.kernels.columns import SEEDS, HashedColumn, Words, halves, hash_columns, mixed_lanes, scramble
from surelift.kernels.sorting import Sorted
from surelift.kernels.vector_hashes import hash_vectors
from surelift.logs.columns import equal_lists, list_to_vectors
from surelift.logs.vectors import Vectors

_MODULUS = 1 << 128
_UNKNOWN = -1


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


def vector_words(values: FloatArray | npt.NDArray[np.float32], starts: IntArray) -> tuple[Words, Words]:
    """Two words for the vector of each round: each entry is hashed with its position, and the hashes are added."""
    lengths = np.diff(starts).astype(np.uint64)
    first, second = (words + lengths for words in hash_vectors(values, starts, SEEDS))
    return first, second


def words_of_lists(column: ArrowColumn) -> tuple[Words, Words]:
    matrix = equal_lists(column)
    if matrix is None:
        vectors = list_to_vectors(column)[0]
        return vector_words(vectors.values, vectors.starts)
    return vector_words(matrix.ravel(), np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1])


class Stage(IntEnum):
    """What a column is read for, in the order of the fingerprint, whatever is read first."""

    REWARD, PROPENSITY, UNIT, KEPT, POLICIES, EMBEDDING, OUTCOMES, BESIDES = range(8)


class RoundHashes:
    """The hashes of the rounds of one batch: of all columns that were read, in their order."""

    def __init__(self, rounds: int) -> None:
        self._rounds, self._stages, self._now = rounds, [list[HashedColumn]() for _ in Stage], Stage.BESIDES
        self._known: tuple[Words, tuple[int, int, int, int]] | None = None

    @contextmanager
    def at(self, stage: Stage) -> Iterator[None]:
        """What is read meanwhile belongs to this stage."""
        before, self._now = self._now, stage
        try:
            yield
        finally:
            self._now = before

    def of(self, *stages: Stage) -> list[HashedColumn]:
        return [column for stage in stages for column in self._stages[stage]]

    @property
    def _columns(self) -> list[HashedColumn]:
        return self.of(*Stage)

    def mix(self, values: FloatArray, stage: Stage | None = None) -> None:
        self._mix(np.ascontiguousarray(values), stage)

    def _mix(self, column: HashedColumn, stage: Stage | None = None) -> None:
        self._stages[self._now if stage is None else stage].append(column)
        self._known = None

    def mix_words(self, words: Words) -> None:
        self._mix((words, words))

    def mix_vectors(self, vectors: Vectors) -> None:
        self.mix_hashed(vector_words(vectors.values, vectors.starts))

    def mix_hashed(self, words: tuple[Words, Words]) -> None:
        """Mix in what was hashed already, as by ``vector_words``."""
        self._mix(words)

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
        return [Fingerprint.of_halves(len(part), (*halves(part[:, 0]), *halves(part[:, 1]))) for part in groups.split(lanes)]
