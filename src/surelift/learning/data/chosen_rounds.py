"""The rounds that meet ``where=`` as a log of their own: learning cuts a log by counting rounds, and only these count."""

import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from surelift.arrays import IntArray
from surelift.engines import engine_features
from surelift.learning.data.survey import require_learnable
from surelift.logs.batch import Needs, Slice, TableBatch
from surelift.traits.logs import Logs


class ChosenRounds:
    """A source of the rounds of a log that meet its condition, numbered from 0; messages speak of their rows in the log."""

    skips_rows = True  # by itself, outside a slice

    def __init__(self, logs: Logs) -> None:
        self.logs, self.source, self.ordered = logs, logs.source, logs.source.ordered
        self._before: list[int] = []  # rounds before each batch
        self._marks: list[tuple[int, npt.NDArray[np.uint8]]] = []  # its first row, and a bit for every row from there on
        self._rounds, begin = 0, getattr(logs.source, "first", 0)  # of a part of a log
        needs = Needs(read=logs.declaration.which.chosen_by, where=logs.declaration.pushed)
        for batch in logs.declaration.batches(logs.source.batches(needs)):
            if batch.table.num_rows:
                rows = _rows_of(batch) - begin
                met = np.zeros(rows[-1] - rows[0] + 1, dtype=np.bool_)
                met[rows - rows[0]] = True
                self._before.append(self._rounds)
                self._marks.append((int(rows[0]), np.packbits(met)))
                self._rounds += len(rows)

    def column_names(self) -> list[str]:
        return self.logs.column_names()

    def count(self) -> int:
        return self._rounds

    def row(self, number: int) -> int:
        """The row of a round in the log; behind the last round, the number of rows."""
        if number >= self._rounds:
            return self.logs.count()
        batch = bisect_right(self._before, number) - 1
        first, met = self._marks[batch]
        return first + int(np.flatnonzero(np.unpackbits(met))[number - self._before[batch]])

    def batches(self, needs: Needs, first: int = 0, last: int = sys.maxsize) -> Iterator[TableBatch]:
        whole = first == 0 and last >= self._rounds
        part = self.logs if whole else self.logs.part(self.row(first), self.row(last))
        for batch in part.batches(needs):
            yield replace(batch, start=first, rows=_rows_of(batch))
            first += batch.table.num_rows


def _rows_of(batch: TableBatch) -> IntArray:
    return batch.start + np.arange(batch.table.num_rows) if batch.rows is None else batch.rows


def counted(logs: Logs) -> Logs:
    """The logs, whose rows are the rounds to learn from: only those that meet the condition, where there is one."""
    source = logs.source.source if isinstance(logs.source, Slice) else logs.source
    # Rows that lie in another engine are refused when they are read.
    if not logs.declaration.has("where") or isinstance(source, ChosenRounds) or engine_features(logs):
        return logs
    require_learnable(logs)
    return Logs.of(ChosenRounds(logs), logs.declaration)


def rows_of(logs: Logs, first: int, last: int) -> tuple[int, int]:
    """The rows in the log, as it was given, of some rounds of ``counted(logs)``."""
    source = logs.source
    return (source.row(first), source.row(last)) if isinstance(source, ChosenRounds) else (first, last)
