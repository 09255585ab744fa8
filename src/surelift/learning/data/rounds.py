"""The rounds of a log as learning reads them: those that count, cut into parts, none of them invalid, with a fingerprint."""

import sys
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from surelift import capabilities
from surelift.arrays import IntArray
from surelift.batch import Batch
from surelift.engines import engine_features
from surelift.errors import UsageError
from surelift.logs.batch import Needs, Slice, TableBatch
from surelift.logs.columns import decode, is_list, is_text
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.seen import Contexts, Origins
from surelift.traits.logs import Logs

SUBJECT = "a policy to learn"


def require_learnable(logs: Logs) -> None:
    features = logs.declaration.features
    capabilities.require(features, ("policy over all actions", "policy over counted actions"), SUBJECT)
    if not logs.contexts:
        shown = ", ".join(logs.column_names()[:30])
        raise UsageError(f"{SUBJECT} needs contexts: name their columns in contexts=. The columns are: {shown}.")
    capabilities.check(features | {"learning"})


def needs_of(logs: Logs, several: Iterable[Contexts]) -> Needs:
    names = tuple(dict.fromkeys(name for contexts in several for name in contexts))
    logs.require_columns(names, role="a context of what was learned before")
    return Needs(handed_on=names)


def checked_rounds(logs: Logs, batches: Iterable[TableBatch]) -> Iterator[Batch]:
    """The rounds, as long as none is invalid; those that are are counted over the whole log."""
    rows, invalid = 0, dict[Fault, Tally]()
    for batch in batches:
        rounds = Batch(logs, batch).read()
        rows += rounds.size
        invalid = merge_tallies(invalid, rounds.rows.tallies)
        if rounds.size and not invalid:
            yield rounds
    if invalid:
        refuse_faults(invalid, rows=rows)


def survey_again(logs: Logs, contexts: Contexts, others: Origins) -> tuple[Fingerprint, Origins]:
    """The fingerprint of all that was learned from, and what tells whether some of these rounds are among ``others``."""
    fingerprint, origins = Fingerprint(), Origins()
    for rounds in checked_rounds(logs, logs.batches(needs_of(logs, [contexts, *others.memories]))):
        origins += Origins.of(rounds.rows, rounds.decisions.taken, others.memories)
        fingerprint += fingerprint_of_all(rounds, contexts)
    return fingerprint, origins


def fingerprint_of_all(batch: Batch, contexts: Sequence[str]) -> Fingerprint:
    """The fingerprint of everything read so far and the contexts; call it once for each batch: it adds to the hashes."""
    rows = batch.rows
    table = rows.handed_on(contexts)
    for name in contexts:
        column = decode(table[name])
        if is_list(column):
            rows.hashes.mix(rows.list_words(name))
        elif is_text(column):
            encoded = column.dictionary_encode()
            checksums = [float(zlib.crc32(text.encode())) for text in encoded.dictionary.to_pylist()]
            codes = np.asarray(encoded.indices.fill_null(len(checksums)))
            rows.hashes.mix(np.array([*checksums, -1.0])[codes])
        else:
            rows.hashes.mix(np.ascontiguousarray(rows.context_numbers(name).values))
    return rows.hashes.fingerprint()


def split_batches(batches: Iterable[TableBatch], cuts: Sequence[int]) -> Iterator[tuple[int, TableBatch]]:
    """Each batch with the number of its part; a new part begins at every round in ``cuts``."""
    seen = 0
    for batch in batches:
        rows = batch.table.num_rows
        for part, (first, last) in enumerate(pairwise((0, *cuts, sys.maxsize))):
            begin, end = max(first - seen, 0), min(last - seen, rows)
            if begin < end:
                numbers = None if batch.rows is None else batch.rows[begin:end]
                table = batch.table.slice(begin, end - begin)
                yield part, replace(batch, table=table, start=batch.start + begin, rows=numbers)
        seen += rows


def parts_of(logs: Logs, needs: Needs, cuts: list[int], share: range | None) -> Iterator[tuple[int, TableBatch]]:
    """The batches with the number of their part; the round before a share is of part -1."""
    if share is None:
        batches = logs.batches(needs)
        for time in logs.declaration.times if cuts else ():
            batches = between_times(batches, cuts, time)
        yield from split_batches(batches, cuts)
    elif len(share):
        lead = int(share.start > 0)
        begins = [max(cut - share.start, 0) + lead for cut in cuts]
        for part, batch in split_batches(logs.part(share.start - lead, share.stop).batches(needs), (lead, *begins)):
            yield part - 1, batch


def between_times(batches: Iterable[TableBatch], cuts: list[int], time: str) -> Iterator[TableBatch]:
    """The batches; ``cuts`` in a batch are moved, before it is handed on, to the first round at or after them whose time is
    not that of the round before: the order of rounds within one time may tell of their rewards.
    """
    seen, last = 0, None
    for batch in batches:
        column = decode(batch.table[time])
        rows = len(column)
        changes = pc.not_equal(column.slice(0, max(rows - 1, 0)), column.slice(1)).fill_null(True)
        new = [*([0] if rows and column[0] != last else []), *(1 + np.flatnonzero(np.asarray(changes))).tolist()]
        for place, cut in enumerate(cuts):
            if seen <= cut < seen + rows:
                cuts[place] = seen + next((row for row in new if row >= cut - seen), rows)
        seen, last = seen + rows, column[rows - 1] if rows else last
        yield batch


def moved_cuts(logs: Logs, cuts: Sequence[int]) -> list[int]:
    """What ``between_times`` makes of cuts, from a few rounds behind each, or more where they are of one time."""
    moved, rounds = list(cuts), logs.count()
    for time, (number, cut) in product(logs.declaration.times if rounds else (), enumerate(cuts)):
        for few in (1 << 6, 1 << 9, 1 << 12, 1 << 18, rounds):
            end, place = min(cut + few, rounds), [1]
            for _ in between_times(logs.part(cut - 1, end).batches(), place, time):
                pass
            moved[number] = cut - 1 + place[0]
            if moved[number] < end:
                break
    return moved


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
    if "where" not in logs.declaration.features or isinstance(source, ChosenRounds) or engine_features(logs):
        return logs
    require_learnable(logs)
    return Logs.of(ChosenRounds(logs), logs.declaration)


def rows_of(logs: Logs, first: int, last: int) -> tuple[int, int]:
    """The rows in the log, as it was given, of some rounds of ``counted(logs)``."""
    source = logs.source
    return (source.row(first), source.row(last)) if isinstance(source, ChosenRounds) else (first, last)
