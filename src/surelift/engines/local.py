"""The embedded engine: one batch after the other, in this process, in memory that does not grow with the log."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from surelift.batch import Batch
from surelift.errors import LogsError
from surelift.logs.batch import ROWS_PER_BATCH, Needs, Source
from surelift.statistics.plan import Plan
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums, accumulate
from surelift.traits.logs import Logs
from surelift.traits.settled import newest

Progress = Callable[[int], None]
MOST_SEGMENTS = 1000
WORTH_A_THREAD = 10_000
# Of so many rows all that is worked out at once stays small; the fast path works in blocks and takes longer batches.
MOST_ROWS = 2 * ROWS_PER_BATCH

# The C library of Linux gives arrays back to the system as they are freed, and to get them again takes as long as the
# sums; once a block of this size was freed, it keeps up to twice as much.
np.empty(16 << 20, dtype=np.uint8)


def collect(logs: Logs, plan: Plan, *, progress: Progress | None = None) -> Sums:
    """Batches are taken one after the other, worked on in several threads, and added up in the order of the log."""
    total, waiting, threads = Sums(asked=plan.asked), deque[Callable[[], Sums]](), os.cpu_count() or 1

    def settle() -> None:
        nonlocal total
        total = total + waiting.popleft()()
        if plan.keys != ((),):
            refuse_many_segments(total)
        if progress is not None:
            progress(total.rows)

    with ThreadPoolExecutor(threads) as pool:
        for batch in _batches(logs, plan):
            work = partial(accumulate, batch, plan)
            waiting.append(pool.submit(work).result if batch.size >= WORTH_A_THREAD else work)
            while len(waiting) > 2 * threads:
                settle()
        while waiting:
            settle()
    return total


def _batches(logs: Logs, plan: Plan) -> Iterator[Batch]:
    """A reward model sees them in their order."""
    predictor = None if plan.model is None else plan.model.start(logs)
    for table in logs.batches(plan.needs(logs)):
        # One pass over plain columns works in blocks, and takes longer batches.
        for part in [table] if plan.one_pass or table.is_remainder else table.cut(MOST_ROWS):
            batch = Batch(logs, part, plan.policies, plan.outcomes)
            if predictor is not None and not part.is_remainder:
                batch.predictor = predictor
                batch.read()
            yield batch


def first_batch(logs: Logs, plan: Plan) -> Batch | None:
    """Which shows what policies give; None where there is no round."""
    for table in logs.batches(plan.needs(logs)):
        if not table.is_remainder:
            return Batch(logs, table, plan.policies, plan.outcomes).read()
    return None


def known_distributions(logs: Logs, plan: Plan) -> frozenset[str]:
    batch = first_batch(logs, plan)
    if batch is None or not batch.fit:
        return frozenset(plan.policies)  # the log will be refused, for a better reason
    return frozenset(name for name, found in batch.policies.items() if found.vectors is not None)


def newest_time(source: Source, time: str) -> int | None:
    return newest(source.batches(Needs(read=(time,))), time)


def refuse_many_segments(sums: Sums) -> None:
    for request, states in sums.states.items():
        split = request.key[0] if request.key and len(states) > MOST_SEGMENTS else None
        if isinstance(split, Segment) and len({value[0] for value in states}) > MOST_SEGMENTS:
            raise LogsError(
                f"{split.subject} has more than {MOST_SEGMENTS:,} segments, too many to certify anything for each.\nCut a "
                "column of numbers into bins, by=bins('column', [18, 30, 50]), leave a column out, or group its values into "
                "fewer first."
            )
