"""The rounds of a log in checked batches, whole or split into parts."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from surelift.logs.batch import Batch, Needs
from surelift.logs.faults import refuse_faults
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds


def checked_rounds(logs: Logs, contexts: Sequence[str] = ()) -> Iterator[Rounds]:
    """The rounds in batches; a batch with an invalid round is refused."""
    rows = 0
    for batch in logs.batches(Needs(handed_on=tuple(contexts))):
        rounds = Rounds(logs, batch)
        rows += rounds.size
        refuse_faults(rounds.faults.tallies, rows=rows)
        if rounds.size:
            yield rounds


def split_batches(batches: Iterable[Batch], cuts: Sequence[int]) -> Iterator[tuple[int, Batch]]:
    """Each batch with the number of its part; a new part begins at every round in ``cuts``."""
    seen = 0
    for batch in batches:
        rows = batch.table.num_rows
        for part, (first, last) in enumerate(pairwise((0, *cuts, sys.maxsize))):
            begin, end = max(first - seen, 0), min(last - seen, rows)
            if begin < end:
                yield part, replace(batch, table=batch.table.slice(begin, end - begin), start=batch.start + begin)
        seen += rows
