"""The embedded engine: one batch after the other, in this process, in memory that does not grow with the log."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from surelift.errors import LogsError
from surelift.logs.batch import ROWS_PER_BATCH, Batch
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.statistics.accumulate import accumulate
from surelift.statistics.fused import Fused, Partial
from surelift.statistics.plan import Plan
from surelift.statistics.reading import Reading, read
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums

Progress = Callable[[int], None]
MOST_SEGMENTS = 1000
WORTH_A_THREAD = 10_000
# Of so many rows all that is worked out at once stays small; the fast path works in blocks and takes longer batches.
MOST_ROWS = 2 * ROWS_PER_BATCH


def collect(logs: Logs, plan: Plan, *, progress: Progress | None = None) -> Sums:
    """Add up the plan over all rounds; ``progress`` is told the rows read so far."""
    _hold_on_to_memory()
    fused = Fused.of(logs, plan)
    return _collect(logs, plan, progress) if fused is None else _collect_fused(logs, plan, fused, progress)


def _hold_on_to_memory() -> None:
    """The C library of Linux gives arrays back to the system as they are freed, and to get them again takes as long as the
    sums; once a block of this size was freed, it keeps up to twice as much.
    """
    np.empty(16 << 20, dtype=np.uint8)


def first_reading(logs: Logs, plan: Plan) -> Reading | None:
    """The first batch, which shows what policies give; None where there is no round."""
    for batch in logs.batches(plan.needs(logs)):
        if not batch.is_remainder:
            return read(Rounds(logs, batch), plan)
    return None


def _collect(logs: Logs, plan: Plan, progress: Progress | None) -> Sums:
    """Batches are taken one after the other, worked on in several threads, and added up in the order of the log."""
    total, waiting, threads = Sums(), deque[Callable[[], Sums]](), os.cpu_count() or 1

    def settle() -> None:
        nonlocal total
        total = total + waiting.popleft()()
        refuse_many_segments(total)
        if progress is not None:
            progress(total.rows)

    with ThreadPoolExecutor(threads) as pool:
        for rows, work in _works(logs, plan):
            waiting.append(pool.submit(work).result if rows >= WORTH_A_THREAD else work)
            while len(waiting) > threads:
                settle()
        while waiting:
            settle()
    return total


def _works(logs: Logs, plan: Plan) -> Iterator[tuple[int, Callable[[], Sums]]]:
    """For every batch its rows, and what adds it up; a reward model sees the batches in their order."""
    batches = logs.batches(plan.needs(logs))
    if plan.model is None:
        for batch in batches:
            for part in batch.cut(MOST_ROWS):
                yield part.table.num_rows, partial(_sums_of, logs, part, plan)
        return
    predictor = plan.model.start(logs)
    for batch in batches:
        if batch.is_remainder:
            yield 0, partial(_sums_of, logs, batch, plan)
            continue
        reading = read(Rounds(logs, batch), plan, predictor)
        yield reading.rounds.size, partial(accumulate, reading, plan)


def _sums_of(logs: Logs, batch: Batch, plan: Plan) -> Sums:
    if batch.is_remainder:
        return Sums(left_out=batch.left_out, excluded=batch.excluded)
    return accumulate(read(Rounds(logs, batch), plan), plan)


def _collect_fused(logs: Logs, plan: Plan, fused: Fused, progress: Progress | None) -> Sums:
    """Compiled loops over batches in several threads; they are added up in the order of the log, so that sums repeat."""
    odd, plain, rows, excluded = Sums(), None, 0, 0
    waiting, threads = deque[tuple[Batch, Callable[[], Partial | None]]](), os.cpu_count() or 1

    def settle() -> None:
        nonlocal odd, plain, rows, excluded
        batch, result = waiting.popleft()
        found = None if batch.is_remainder else result()
        if found is None:
            odd = odd + _sums_of(logs, batch, plan)
        else:
            plain, excluded = found if plain is None else plain + found, excluded + batch.excluded
        rows += batch.table.num_rows
        if progress is not None:
            progress(rows)

    with ThreadPoolExecutor(threads) as pool:
        for batch in logs.batches(plan.needs(logs)):
            small = batch.table.num_rows < WORTH_A_THREAD
            waiting.append((batch, partial(fused.add_up, batch) if small else pool.submit(fused.add_up, batch).result))
            while len(waiting) > 2 * threads:
                settle()
        while waiting:
            settle()
    return odd if plain is None else odd + replace(fused.sums(plain), excluded=excluded)


def refuse_many_segments(sums: Sums) -> None:
    for request, states in sums.states.items():
        split = request.key[0] if request.key and len(states) > MOST_SEGMENTS else None
        if isinstance(split, Segment) and len({value[0] for value in states}) > MOST_SEGMENTS:
            raise LogsError(
                f"{split.subject} has more than {MOST_SEGMENTS:,} segments, too many to certify anything for each.\nCut a "
                "column of numbers into bins, by=bins('column', [18, 30, 50]), leave a column out, or group its values into "
                "fewer first."
            )
