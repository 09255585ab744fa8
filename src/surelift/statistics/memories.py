"""What is remembered of rounds, so that none counts twice: a sample of their hashes, or of their ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.batch import Batch
from surelift.errors import LogsError
from surelift.kernels.columns import Words, scramble
from surelift.logs.context_words import words_of_contexts
from surelift.logs.hash_sample import HashSample
from surelift.logs.ids import id_words
from surelift.logs.rows import Rows
from surelift.logs.seen import SeenRounds
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic

MOST_ROUNDS, MOST_IDS = 1 << 10, 1 << 14


@dataclass(frozen=True, slots=True)
class RoundMemory(Statistic):
    """Of all that was read of each round, its time and id included; or of its action and some contexts alone."""

    contexts: tuple[str, ...] | None = None
    most: int = MOST_ROUNDS
    label: ClassVar[str] = "a memory of the rounds"

    def columns(self) -> tuple[str, ...]:
        return self.contexts or ()

    def of(self, batch: Batch, groups: Groups) -> Sequence[SeenRounds]:
        words = (
            words_read(batch)
            if self.contexts is None
            else words_of_contexts(batch.rows, batch.decisions.taken, self.contexts)
        )
        return [SeenRounds.of(part, self.most) for part in groups.split(words)]

    def encode(self, state: Any) -> Any:
        return state.encode()

    def decode(self, content: Any) -> Any:
        return SeenRounds.decode(content)


@dataclass(frozen=True, slots=True)
class IdMemory(Statistic):
    """Of the ids of rounds, or of clusters, that may not come again: a hash that was counted twice did."""

    column: str
    of_clusters: bool
    label: ClassVar[str] = "a memory of ids"
    looks_at_rows: ClassVar[bool] = True

    def of(self, batch: Batch, groups: Groups) -> Sequence[HashSample]:
        words = hashed_ids(batch.rows, self.column)
        if self.of_clusters:
            words, groups = batch.units.first(words), groups.units
        return [HashSample.of(part, MOST_IDS) for part in groups.split(words)]

    def refuse_again(self, state: HashSample | None) -> None:
        if state is not None:
            of = f"{len(state.keys):,}" + (" that were looked at" if state.bits else "")
            self.refuse(int(np.count_nonzero(state.counts > 1)), of)

    def refuse(self, again: int, of: str) -> None:
        """Where some ids come again."""
        if not again:
            return
        known = f"{again:,} of {of}"
        if self.of_clusters:
            raise LogsError(
                f"cluster {self.column!r}: {known} come in several parts of the log, each time as another cluster. All "
                "rounds of a cluster must lie in one part: split the log by cluster, or wait until a cluster has ended."
            )
        raise LogsError(f"id {self.column!r}: {known} come more than once; each round must be counted once.")

    def encode(self, state: Any) -> Any:
        return state.encode()

    def decode(self, content: Any) -> Any:
        return HashSample.decode(content)


def hashed_ids(rows: Rows, column: str) -> Words:
    return scramble(id_words(rows.table[column]).view(np.uint64))


def words_read(batch: Batch) -> Words:
    words = batch.rows.hashes.words()
    for name in batch.declared.telling_apart:
        words = scramble(words ^ id_words(batch.rows.table[name]).view(np.uint64))
    return words
