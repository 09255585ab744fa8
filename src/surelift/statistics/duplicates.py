"""How many rows are the same as another in all that was read of them, their time included, from a sample by hash."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic

MOST_KEYS = 1 << 15


@dataclass(frozen=True, slots=True)
class DuplicateSample:
    """Hashes whose low bits are zero, with how often each came; more bits are asked for as there are more."""

    rows: int = 0
    same_time: int = 0
    """Rows that share their time with the row before: where most do, copies cannot be told from repetition."""
    mask: int = 0
    counts: Mapping[int, int] = field(default_factory=dict)

    def __add__(self, other: "DuplicateSample") -> "DuplicateSample":
        mask = max(self.mask, other.mask)
        counts = {key: count for key, count in self.counts.items() if key & mask == 0}
        for key, count in other.counts.items():
            if key & mask == 0:
                counts[key] = counts.get(key, 0) + count
        return _bounded(DuplicateSample(self.rows + other.rows, self.same_time + other.same_time, mask, counts))

    @property
    def share(self) -> float:
        """Of the rows, those that are a copy of another."""
        total = sum(self.counts.values())
        return 0.0 if total == 0 or self.same_time > 0.5 * self.rows else 1.0 - len(self.counts) / total


def _bounded(sample: DuplicateSample) -> DuplicateSample:
    mask, counts = sample.mask, sample.counts
    while len(counts) > MOST_KEYS:
        mask = 2 * mask + 1
        counts = {key: count for key, count in counts.items() if key & mask == 0}
    return DuplicateSample(sample.rows, sample.same_time, mask, counts)


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
        parts = zip(groups.split(keys), groups.split(repeated), strict=True)
        return [_of_group(part, int(np.count_nonzero(same))) for part, same in parts]

    def encode(self, state: Any) -> Any:
        return [state.rows, state.same_time, state.mask, [[str(key), count] for key, count in state.counts.items()]]

    def decode(self, content: Any) -> Any:
        rows, same_time, mask, counts = content
        return DuplicateSample(rows, same_time, mask, {int(key): count for key, count in counts})


def _of_group(keys: npt.NDArray[np.uint64], same_time: int) -> DuplicateSample:
    mask = 0
    while len(keys) >> mask.bit_length() > MOST_KEYS:
        mask = 2 * mask + 1
    chosen, counts = np.unique(keys[(keys & np.uint64(mask)) == 0], return_counts=True)
    pairs = zip(chosen.tolist(), counts.tolist(), strict=True)
    return _bounded(DuplicateSample(len(keys), same_time, mask, dict(pairs)))


def _as_integers(times: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    if times.dtype.kind in "Mi":
        return times.astype(np.int64)
    if times.dtype.kind == "f":
        return np.ascontiguousarray(times, dtype=np.float64).view(np.int64)
    # Not Python's own hash, which differs from one process to the next.
    texts, codes = np.unique(times.astype(np.str_), return_inverse=True)
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.int64)[codes]
