"""A fingerprint of the rounds that were read, independent of row order, sharding and file format.

Each round is hashed to 128 bits over the float64 bits of the values read from it, and the hashes are added modulo 2^128,
so shards can be read separately and in any order. It detects accidental differences between logs; it does not protect
against deliberate forgery.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain

import numpy as np

from surelift.kernels.columns import (
    MODULUS,
    SEEDS,
    HashedColumn,
    Words,
    hash_columns,
    hash_total,
    hash_vectors,
    mixed_lanes,
    scramble,
)
from surelift.kernels.sorting import Sorted
from surelift.logs.vectors import Vectors

_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Fingerprint:
    rounds: int = 0
    total: int = 0

    def __add__(self, other: "Fingerprint") -> "Fingerprint":
        if _UNKNOWN in (self.total, other.total):
            return Fingerprint.unknown(self.rounds + other.rounds)
        return Fingerprint(self.rounds + other.rounds, (self.total + other.total) % MODULUS)

    @classmethod
    def unknown(cls, rounds: int) -> "Fingerprint":
        """The fingerprint of rounds summed in an engine that does not expose their bits."""
        return cls(rounds, _UNKNOWN)

    @property
    def known(self) -> bool:
        return self.total != _UNKNOWN

    def __str__(self) -> str:
        return f"{self.rounds}:{self.total:032x}" if self.known else f"{self.rounds}:none"


def vector_words(vectors: Vectors) -> tuple[Words, Words]:
    """Two words for the vector of each round: each entry is hashed with its position, and the hashes are added."""
    lengths = vectors.lengths.astype(np.uint64)
    first, second = (words + lengths for words in hash_vectors(vectors.values, vectors.starts, SEEDS))
    return first, second


class Stage(IntEnum):
    """What a column is read for, in the order of the fingerprint, whatever is read first."""

    REWARD, PROPENSITY, UNIT, KEPT, POLICIES, EMBEDDING, OUTCOMES, BESIDES = range(8)


@dataclass(slots=True)
class RoundHashes:
    """The hashes of the rounds of one batch: of all columns that were read, in their order."""

    rounds: int
    columns: list[list[HashedColumn]] = field(default_factory=lambda: [[] for _ in Stage])
    """What was read for each stage."""
    _now: Stage = Stage.BESIDES
    _hashed: tuple[Words, int] | None = None

    @contextmanager
    def at(self, stage: Stage) -> Iterator[None]:
        before, self._now = self._now, stage
        try:
            yield
        finally:
            self._now = before

    def mix(self, column: HashedColumn | Vectors, stage: Stage | None = None) -> None:
        """Numbers of the rounds, their vectors, or two words of each that were hashed already."""
        if isinstance(column, Vectors):
            column = vector_words(column)
        elif isinstance(column, np.ndarray):
            column = np.ascontiguousarray(column)
        self.columns[self._now if stage is None else stage].append(column)
        self._hashed = None

    def words(self) -> Words:
        """A hash of 64 bits for each round, of all that was read so far."""
        self._hashed = self._hashed or hash_columns([*chain(*self.columns)], self.rounds)
        return self._hashed[0]

    def fingerprint(self) -> Fingerprint:
        self._hashed = self._hashed or hash_columns([*chain(*self.columns)], self.rounds)
        return Fingerprint(self.rounds, self._hashed[1])

    def fingerprints(self, groups: Sorted) -> list[Fingerprint]:
        lanes = np.stack([scramble(lane) for lane in mixed_lanes([*chain(*self.columns)], self.rounds)], axis=1)
        return [Fingerprint(len(part), hash_total(part[:, 0], part[:, 1])) for part in groups.split(lanes)]
