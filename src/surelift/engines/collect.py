"""Sums of a log, added up where its rounds are, and what a first pass finds before they can be judged.

In this process that is one batch after the other, in memory that does not grow with the log.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from surelift import capabilities
from surelift.batch import Batch
from surelift.errors import LogsError
from surelift.logs.batch import ROWS_PER_BATCH, Needs
from surelift.logs.sources.tables import SparkFrame, SqlTable
from surelift.policies import Policy
from surelift.statistics.bets import Audit
from surelift.statistics.plan import Plan, Request
from surelift.statistics.splits import Key, KeyValue, Segment
from surelift.statistics.sums import COUNT, Sums, accumulate
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs
from surelift.traits.settled import as_moment, newest

Progress = Callable[[int], None]
EMPTY = "these logs are empty: no round was read. Check the path, or what leaves rounds out."
REMOTE: dict[type, tuple[str, str]] = {SparkFrame: ("Spark", "spark"), SqlTable: ("database", "sql")}
"""The name of the engine of each kind of source in the table of capabilities, and its module."""
MOST_SEGMENTS = 1000
WORTH_A_THREAD = 10_000
# Of so many rows all that is worked out at once stays small; the fast path works in blocks and takes longer batches.
MOST_ROWS = 2 * ROWS_PER_BATCH

# The C library of Linux gives arrays back to the system as they are freed, and to get them again takes as long as the
# sums; once a block of this size was freed, it keeps up to twice as much.
np.empty(16 << 20, dtype=np.uint8)


def engine_features(logs: Logs) -> frozenset[str]:
    """What the table of capabilities knows the engine of a log by."""
    return frozenset({REMOTE[type(logs.source)][0]}) if type(logs.source) in REMOTE else frozenset()


def _remote(logs: Logs) -> Any:
    """The engine of a log that is not read here, imported only where it is needed."""
    return import_module(f"surelift.engines.{REMOTE[type(logs.source)][1]}")


def collect(logs: Logs, plan: Plan, *, progress: Progress | None = None) -> Sums:
    """Add up the plan over all rounds, where they are; ``progress`` is told the rows read so far.

    Batches are taken one after the other, worked on in several threads, and added up in the order of the log.
    """
    if type(logs.source) in REMOTE:
        sums: Sums = _remote(logs).collect(logs, plan, progress=progress)
        return sums
    total: Sums | None = None
    waiting, threads, batches = deque[Callable[[], Sums]](), os.cpu_count() or 1, _batches(logs, plan)
    with ThreadPoolExecutor(threads) as pool:
        while (batch := next(batches, None)) is not None or waiting:
            if batch is not None:
                work = partial(accumulate, batch, plan)
                waiting.append(pool.submit(work).result if batch.size >= WORTH_A_THREAD else work)
            if batch is None or len(waiting) > 2 * threads:
                part = waiting.popleft()()
                total = part if total is None else total + part
                if plan.keys != ((),):
                    refuse_many_segments(total)
                if progress is not None:
                    progress(total.rows)
    return Sums(asked=plan.asked) if total is None else total


def _batches(logs: Logs, plan: Plan) -> Iterator[Batch]:
    """A reward model sees them in their order."""
    predictor = None if plan.model is None else plan.model.start(logs)
    for table in logs.batches(plan.needs(logs)):
        # One pass over plain columns works in blocks, and takes longer batches.
        for part in [table] if plan.looped is not None or table.is_remainder else table.cut(MOST_ROWS):
            batch = Batch(logs, part, plan.policies, plan.outcomes)
            if predictor is not None and not part.is_remainder:
                batch.predictor = predictor
                batch.read()
            yield batch


def refuse_many_segments(sums: Sums) -> None:
    for request, states in sums.states.items():
        split = request.key[0] if request.key and len(states) > MOST_SEGMENTS else None
        if isinstance(split, Segment) and len({value[0] for value in states}) > MOST_SEGMENTS:
            raise LogsError(
                f"{split.subject} has more than {MOST_SEGMENTS:,} segments, too many to certify anything for each.\nCut a "
                "column of numbers into bins, by=bins('column', [18, 30, 50]), leave a column out, or group its values into "
                "fewer first."
            )


def known_distributions(logs: Logs, policies: Mapping[str, Policy]) -> frozenset[str]:
    """The policies whose probabilities are known for every action, as production's are: a look at the first batch."""
    if capabilities.missing(logs.declaration.features, "control by weights"):
        return frozenset()
    plan = Plan(policies, ())
    if type(logs.source) in REMOTE:
        found: frozenset[str] = _remote(logs).known_distributions(logs, plan)
        return found
    for table in logs.batches(plan.needs(logs)):
        if not table.is_remainder:
            batch = Batch(logs, table, policies).read()
            # A log that is not fit will be refused, for a better reason.
            return frozenset(name for name in policies if not batch.fit or batch.policies[name].vectors is not None)
    return frozenset(policies)


def count_units(logs: Logs, key: Key = ()) -> dict[KeyValue, int]:
    """The number of rounds (or clusters) for each value of a key, for plans that depend on it."""
    known = None if key else logs.declaration.units_of(logs.count)
    if known is not None:
        counts: dict[KeyValue, int] = {(): known} if known else {}
    else:
        sums = collect(logs, Plan({}, (Request(COUNT, key),)))
        if sums.invalid:
            return {tuple("" for _ in key): 1}  # the log will be refused, for a better reason
        counts = dict(sums.by(COUNT, *key)) if sums.rows else {}
    if not counts:
        raise LogsError(EMPTY)
    return counts


def completed(logs: Logs, known: Declaration | None = None) -> Logs:
    """The same logs, with what a first pass finds declared: the newest time, and how many rounds each logger took.

    ``known`` says what was found before.
    """
    if logs.declaration.is_complete:
        return logs
    declared = logs.declaration if known is None else logs.declaration.found_in(known)

    def newest_of(column: str) -> str:
        if type(logs.source) in REMOTE:
            return as_moment(_remote(logs).newest_time(logs.source, column))
        return as_moment(newest(logs.source.batches(Needs(read=(column,))), column))

    def audited(declaration: Declaration) -> Any:
        sums = collect(logs.declared_as(declaration), Plan({}, (Request(Audit("propensity")),)))
        return None if sums.invalid or not sums.rows else sums.get(Audit("propensity"))

    whole = declared.completed(newest_of, audited)
    return logs if whole == logs.declaration else logs.declared_as(whole)
