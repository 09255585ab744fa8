"""The embedded engine: one batch after the other, in this process, in memory that does not grow with the log."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from surelift.errors import LogsError
from surelift.logs.batch import Batch
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.statistics.accumulate import accumulate
from surelift.statistics.fused import Fused, Partial
from surelift.statistics.log_sums import WORTH_COMPILING
from surelift.statistics.plan import Plan
from surelift.statistics.reading import Reading, read
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums

Progress = Callable[[int], None]
MOST_SEGMENTS = 1000
WORTH_A_THREAD = 10_000


def collect(logs: Logs, plan: Plan, *, progress: Progress | None = None) -> Sums:
    """Add up the plan over all rounds; ``progress`` is told the rows read so far."""
    fused = Fused.of(logs, plan)
    return _collect(logs, plan, progress) if fused is None else _collect_fused(logs, plan, fused, progress)


def first_reading(logs: Logs, plan: Plan) -> Reading | None:
    """The first batch, which shows what policies give; None where there is no round."""
    for batch in logs.batches(plan.needs(logs)):
        return read(Rounds(logs, batch), plan)
    return None


def _collect(logs: Logs, plan: Plan, progress: Progress | None) -> Sums:
    """Batches are read one after the other, and added up in several threads, in the order of the log."""
    total, waiting = Sums(), deque[Future[Sums] | Reading]()
    threads = os.cpu_count() or 1

    def settle() -> None:
        nonlocal total
        first = waiting.popleft()
        total = total + (accumulate(first, plan) if isinstance(first, Reading) else first.result())
        refuse_many_segments(total)
        if progress is not None:
            progress(total.rows)

    with ThreadPoolExecutor(threads) as pool:
        for reading in _readings(logs, plan):
            waiting.append(pool.submit(accumulate, reading, plan) if reading.rounds.size >= WORTH_A_THREAD else reading)
            while len(waiting) > threads:
                settle()
        while waiting:
            settle()
    return total


def _readings(logs: Logs, plan: Plan) -> Iterator[Reading]:
    predictor = None if plan.model is None else plan.model.start(logs)
    for batch in logs.batches(plan.needs(logs)):
        yield read(Rounds(logs, batch), plan, predictor)
    if predictor is not None:
        predictor.finish()


def _collect_fused(logs: Logs, plan: Plan, fused: Fused, progress: Progress | None) -> Sums:
    """Compiled loops over batches in several threads; they are added up in the order of the log, so that sums repeat."""
    odd, plain, rows, worth = Sums(), None, 0, False
    waiting, threads = deque[tuple[Batch, Future[Partial | None] | None]](), os.cpu_count() or 1

    def settle() -> None:
        nonlocal odd, plain, rows
        batch, future = waiting.popleft()
        partial = None if future is None else future.result()
        if partial is None:
            odd = odd + accumulate(read(Rounds(logs, batch), plan), plan)
        else:
            plain = partial if plain is None else plain + partial
        rows += batch.table.num_rows
        if progress is not None:
            progress(rows)

    with ThreadPoolExecutor(threads) as pool:
        for batch in logs.batches(plan.needs(logs)):
            # Once the compiler is loaded, short batches have the use of it too.
            worth = worth or batch.table.num_rows >= WORTH_COMPILING
            waiting.append((batch, pool.submit(fused.add_up, batch) if worth else None))
            while len(waiting) > 2 * threads:
                settle()
        while waiting:
            settle()
    return odd if plain is None else odd + fused.sums(plain)


def refuse_many_segments(sums: Sums) -> None:
    for request, states in sums.states.items():
        if len(states) > MOST_SEGMENTS and request.key and isinstance(request.key[0], Segment):
            names = {value[0] for value in states}
            if len(names) > MOST_SEGMENTS:
                raise LogsError(
                    f"by {request.key[0].column!r} has more than {MOST_SEGMENTS:,} segments, too many to certify anything "
                    "for each; group them into fewer first."
                )
