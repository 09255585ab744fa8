"""What is remembered of rounds, so that none counts twice: a sample of their hashes, or of their ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.batch import Batch
from surelift.errors import LogsError
from surelift.kernels.columns import Words, scramble
from surelift.logs.ids import id_words
from surelift.logs.rows import Rows
from surelift.logs.seen import HashSample, SeenRounds
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic

MOST_ROUNDS, MOST_IDS = 1 << 10, 1 << 14


@dataclass(frozen=True, slots=True)
class RoundMemory(Statistic):
    """Of all that was read of each round, its time and id included; or of its action and some contexts alone."""

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
    """Of the ids of rounds, or of clusters, that may not come again: a hash that was counted twice did."""

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
