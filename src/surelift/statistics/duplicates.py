"""How many rows are the same as another in all that was read of them, their time included, from a sample by hash."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from surelift.arrays import IntArray
from surelift.kernels.columns import Words
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic

MOST_KEYS = 1 << 15


@dataclass(frozen=True, slots=True, eq=False)
class DuplicateSample:
    """Hashes whose low bits are zero, with how often each came; more bits are asked for as there are more."""

    rows: int = 0
    same_time: int = 0
    """Rows that share their time with the row before: where most do, copies cannot be told from repetition."""
    mask: int = 0
    keys: Words = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    """In order."""
    counts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __add__(self, other: "DuplicateSample") -> "DuplicateSample":
        keys, counts = np.concatenate([self.keys, other.keys]), np.concatenate([self.counts, other.counts])
        mask = max(self.mask, other.mask)
        return _bounded(self.rows + other.rows, self.same_time + other.same_time, mask, keys, counts)

    @property
    def share(self) -> float:
        """Of the rows, those that are a copy of another."""
        total = int(self.counts.sum())
        return 0.0 if total == 0 or self.same_time > 0.5 * self.rows else 1.0 - len(self.counts) / total


def _bounded(rows: int, same_time: int, mask: int, keys: Words, counts: IntArray) -> DuplicateSample:
    kept = (keys & np.uint64(mask)) == 0
    distinct, places = np.unique(keys[kept], return_inverse=True)
    totals = np.bincount(places, weights=counts[kept], minlength=len(distinct)).astype(np.int64)
    while len(distinct) > MOST_KEYS:
        mask = 2 * mask + 1
        kept = (distinct & np.uint64(mask)) == 0
        distinct, totals = distinct[kept], totals[kept]
    return DuplicateSample(rows, same_time, mask, distinct, totals)


@dataclass(frozen=True, slots=True)
class Duplicates(Statistic):
    label: ClassVar[str] = "duplicated rows"

    def of(self, reading: Reading, groups: Groups) -> Sequence[DuplicateSample]:
        rounds = reading.rounds
        if rounds.declaration.time is None or rounds.size == 0:
            return [DuplicateSample()] * len(groups)
        times, words = _as_integers(rounds.times()), rounds.hashes.words()
        # A copy shares its time with its original, which says nothing about how finely time is recorded.
        repeated = np.concatenate([[False], (times[1:] == times[:-1]) & (words[1:] != words[:-1])])
        keys = words ^ (times.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        # The rows before these will have asked for as many bits.
        mask = (1 << ((rounds.start + rounds.size) // MOST_KEYS).bit_length()) - 1
        parts = zip(groups.split(keys), groups.split(repeated), strict=True)
        return [
            _bounded(len(part), int(np.count_nonzero(same)), mask, part, np.ones(len(part), dtype=np.int64))
            for part, same in parts
        ]

    def encode(self, state: Any) -> Any:
        counts = zip(map(str, state.keys.tolist()), state.counts.tolist(), strict=True)
        return [state.rows, state.same_time, state.mask, [list(pair) for pair in counts]]

    def decode(self, content: Any) -> Any:
        rows, same_time, mask, pairs = content
        keys = np.array([int(key) for key, _ in pairs], dtype=np.uint64)
        return DuplicateSample(rows, same_time, mask, keys, np.array([count for _, count in pairs], dtype=np.int64))


def _as_integers(times: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    if times.dtype.kind in "Mi":
        return times.astype(np.int64)
    if times.dtype.kind == "f":
        return np.ascontiguousarray(times, dtype=np.float64).view(np.int64)
    # Not Python's own hash, which differs from one process to the next.
    texts, codes = np.unique(times.astype(np.str_), return_inverse=True)
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.int64)[codes]
