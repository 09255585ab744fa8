"""Spark does the adding: the same loops in its workers, one row of sums from each partition, added up here.

A task that Spark kills and tries again gives its sums once: a partition's row counts when its task succeeds.
"""

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from surelift.engines import stream
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import ROWS_PER_BATCH
from surelift.logs.faults import Tally
from surelift.logs.logs import Logs
from surelift.logs.sources.remote import SparkFrame
from surelift.statistics.plan import Plan
from surelift.statistics.sums import Sums


def collect(logs: Logs, plan: Plan, *, progress: Callable[[int], None] | None = None) -> Sums:
    """Add up the plan over all rounds, where they are."""
    assert isinstance(logs.source, SparkFrame)
    _refuse_what_needs_order(logs, plan)
    # Workers run the Python that runs here, unless somebody chose another.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    needed = stream.needs_of(logs, plan).columns()
    declaration, names = logs.declaration, list(dict.fromkeys([*logs.needs().columns(), *needed]))

    def add_up(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        place = f"partition {context.partitionId()}" if context is not None else "a partition"
        sums = Sums()
        for table in _longer(batches):
            sums = sums + _placed(stream.collect(Logs.of(table, declaration), plan), place)
        yield pa.record_batch({"sums": pa.array([pickle.dumps(sums)], pa.binary())})

    try:
        rows = logs.source.frame.select(*names).mapInArrow(add_up, "sums binary").collect()
    except Exception as error:
        reason = next((line for line in str(error).splitlines() if "Error" in line), str(error).splitlines()[0])
        raise LogsError(f"Spark could not add up these logs: {reason}\nNothing was computed.") from error
    total = Sums()
    for row in rows:
        total = total + pickle.loads(row["sums"])
        if progress is not None:
            progress(total.rows)
    return total


def _longer(batches: Iterator[Any]) -> Iterator[Any]:
    """Spark's batches put together to such as are worth compiled loops."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= ROWS_PER_BATCH:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _placed(sums: Sums, place: str) -> Sums:
    """Rows are numbered within a batch of Spark's, so the partition is told beside."""
    if not sums.invalid:
        return sums
    invalid = {fault: Tally(one.count, one.row, one.value, f" ({place})") for fault, one in sums.invalid.items()}
    return replace(sums, invalid=invalid)


def _refuse_what_needs_order(logs: Logs, plan: Plan) -> None:
    """What this engine cannot do, and why."""
    reasons = {
        "a bootstrap, which goes by row numbers": any(term.needed.resamples for term in plan.terms),
        "efron-stein, which needs the whole log at once": any(term.needed.efron_stein for term in plan.terms),
        "clusters, which must lie whole in one shard": logs.declaration.cluster is not None,
        "a reward model that is refitted in the order of time": plan.model is not None and plan.model.in_order,
    }
    for reason, applies in reasons.items():
        if applies:
            raise UsageError(f"Spark knows no order of rows, and so not {reason}; read the log as files instead.")
