"""The rounds of a log as learning reads them: cut into parts, none of them invalid, with a fingerprint."""

import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pyarrow.compute as pc

from surelift.batch import Batch
from surelift.logs.batch import Needs, TableBatch
from surelift.logs.columns import decode, is_list, is_text
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.seen import Contexts, Origins
from surelift.traits.logs import Logs


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
