"""The parts of a log: rounds to learn from, to stop early on, to certify on."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from surelift.logs.batch import Batch


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
