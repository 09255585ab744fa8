"""What is remembered of rounds, so that none counts twice: a sample of their hashes, or of their ids."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from surelift.batch import Batch
from surelift.errors import LogsError
from surelift.kernels.columns import Words, scramble
from surelift.logs.ids import id_words
from surelift.logs.order import times_of
from surelift.logs.rows import Rows
from surelift.logs.seen import HashSample, SeenRounds
from surelift.statistics.statistic import Groups, Statistic

MOST_ROUNDS, MOST_IDS, MOST_KEYS, SEVERAL = 1 << 10, 1 << 14, 1 << 15, 50


@dataclass(frozen=True, slots=True)
class RoundMemory(Statistic):
    """A memory of all that was read of each round, its time and id included; or of its action and some contexts alone."""

    contexts: tuple[str, ...] | None = None
    most: int = MOST_ROUNDS
    label: ClassVar[str] = "a memory of the rounds"
    state: ClassVar[type] = SeenRounds

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.contexts or ()

    def of(self, batch: Batch, groups: Groups) -> Sequence[SeenRounds]:
        if self.contexts is not None:
            words = batch.rows.context_words(batch.decisions.taken, self.contexts)
        else:
            words = batch.rows.hashes.words()
            for _, name in batch.declared.identifying_roles:
                words = scramble(words ^ id_words(batch.rows.table[name]).view(np.uint64))
        return [SeenRounds.of(part, self.most) for part in groups.split(words)]


@dataclass(frozen=True, slots=True)
class IdMemory(Statistic):
    """A memory of the ids of rounds, or of clusters, that may not come again: a hash that was counted twice did."""

    column: str
    of_clusters: bool
    label: ClassVar[str] = "a memory of ids"
    state: ClassVar[type] = HashSample
    looks_at_rows: ClassVar[bool] = True

    def of(self, batch: Batch, groups: Groups) -> Sequence[HashSample]:
        words = hashed_ids(batch.rows, self.column)
        if self.of_clusters:
            words, groups = batch.units.first(words), groups.units
        return [HashSample.of(part, MOST_IDS) for part in groups.split(words)]

    def refuse_again(self, state: HashSample | None) -> None:
        if state is not None and (again := int(np.count_nonzero(state.counts > 1))):
            self.refuse(again, f"{len(state.keys):,}{' that were looked at' if state.bits else ''}")

    def refuse(self, again: int, of: str) -> None:
        known = f"{self.column!r}: {again:,} of {of} come"
        message = f"id {known} more than once; each round must be counted once."
        if self.of_clusters:
            message = (
                f"cluster {known} in several parts of the log, each time as another cluster. All rounds of a cluster must "
                "lie in one part: split the log by cluster, or wait until a cluster has ended."
            )
        raise LogsError(message)


def hashed_ids(rows: Rows, column: str) -> Words:
    return scramble(id_words(rows.table[column]).view(np.uint64))


@dataclass(frozen=True, slots=True, eq=False)
class DuplicateSample:
    rows: int = 0
    same_time: int = 0
    """Rows that share their time with the row before: where most do, copies cannot be told from repetition."""
    hashes: HashSample = HashSample(MOST_KEYS)

    def __add__(self, other: "DuplicateSample") -> "DuplicateSample":
        return DuplicateSample(self.rows + other.rows, self.same_time + other.same_time, self.hashes + other.hashes)

    @property
    def none_alone(self) -> bool:
        """Nearly every row has a copy, as where each was multiplied; few rows do not tell."""
        counts = self.hashes.counts
        return len(counts) >= SEVERAL and bool(np.count_nonzero(counts == 1) < 0.01 * len(counts))

    @property
    def share(self) -> float:
        """The share of rows that are a copy of another."""
        counts = self.hashes.counts
        total = int(counts.sum())
        return 0.0 if total == 0 or self.same_time > 0.5 * self.rows else 1.0 - len(counts) / total


@dataclass(frozen=True, slots=True)
class Duplicates(Statistic):
    label: ClassVar[str] = "duplicated rows"
    state: ClassVar[type] = DuplicateSample
    time: str

    def of(self, batch: Batch, groups: Groups) -> Sequence[DuplicateSample]:
        rows = batch.rows
        if batch.size == 0:
            return [DuplicateSample()] * len(groups.values)
        times, words = _as_integers(times_of(rows, self.time)), rows.hashes.words()
        # A copy shares its time with its original, which says nothing about how finely time is recorded.
        repeated = np.concatenate([[False], (times[1:] == times[:-1]) & (words[1:] != words[:-1])])
        keys = words ^ (times.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        # The rows before these will have asked for as many bits.
        bits = ((rows.start + rows.size) // MOST_KEYS).bit_length()
        parts = zip(groups.split(keys), groups.split(repeated), strict=True)
        return [DuplicateSample(len(part), int(same.sum()), HashSample.of(part, MOST_KEYS, bits)) for part, same in parts]


def _as_integers(times: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    if times.dtype.kind in "Mi":
        return times.astype(np.int64)
    if times.dtype.kind == "f":
        return np.ascontiguousarray(times, dtype=np.float64).view(np.int64)
    # Not Python's own hash, which differs from one process to the next.
    texts, codes = np.unique(times.astype(np.str_), return_inverse=True)
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.int64)[codes]
