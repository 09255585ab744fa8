"""Spark does the adding: the same loops in its workers, one value of sums from each partition, added up on the cluster.

A task that Spark kills and tries again gives its sums once: a partition counts when its task succeeds. Only the total,
a few kilobytes whatever the number of rounds, comes to this process.
"""

import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from surelift import capabilities
from surelift.engines.collect import collect as collect_here
from surelift.engines.collect import known_distributions as known_here
from surelift.engines.collect import refuse_many_segments
from surelift.errors import LogsError, SureliftError
from surelift.logs.batch import ROWS_PER_BATCH, Needs, TableBatch, left_behind
from surelift.logs.sources.pushdown import filtered
from surelift.logs.sources.tables import SparkFrame
from surelift.statistics import Plan, Sums
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs
from surelift.traits.settled import newest

SCHEMA = "sums binary"


def collect(logs: Logs, plan: Plan, *, progress: Callable[[int], None] | None = None) -> Sums:
    if plan.needs_order is not None:
        unable = "what needs the order of the rows"
        capabilities.check(frozenset({"Spark", unable}), named={unable: plan.needs_order})
    declaration = logs.declaration
    frame, before = _selected(logs, plan)
    if order := declaration.unit.order:
        # The rounds of a unit go to one partition, and lie next to each other there.
        frame = frame.repartition(order[0]).sortWithinPartitions(*order)

    def add_up(batches: Iterator[Any]) -> Sums:
        source = Partition(batches)
        if source.empty:
            return Sums()
        sums = collect_here(_logs_of(source, declaration), plan)
        # Rows are numbered within a partition, so the partition is named beside them.
        place = f" (partition {source.part})"
        return replace(sums, invalid={fault: replace(tally, place=place) for fault, tally in sums.invalid.items()})

    def add_together(batches: Iterator[Any]) -> Sums:
        return sum((_unpacked(each) for batch in batches for each in batch.column(0).to_pylist()), Sums())

    parts = _in_workers(frame, add_up)
    total = sum(_fetched(lambda: _in_workers(parts.repartition(1), add_together)), Sums())
    if before is not None:
        read = total.rows + total.left_out + total.excluded
        total = total + Sums(excluded=left_behind(_run(before.count), read))
    refuse_many_segments(total)
    if progress is not None:
        progress(total.rows)
    return total


def known_distributions(logs: Logs, plan: Plan) -> frozenset[str]:
    """Seen in a worker, from a few rows, which may tear units; no row comes to this process."""
    declaration, everyone = logs.declaration.row_by_row(), plan.policies

    def look(batches: Iterator[Any]) -> frozenset[str]:
        source = Partition(batches)
        return frozenset(everyone) if source.empty else known_here(_logs_of(source, declaration), everyone)

    found = _fetched(lambda: _in_workers(_selected(logs, plan)[0].limit(100), look))
    return frozenset.intersection(*found) if found else frozenset()


def newest_time(source: SparkFrame, time: str) -> int | None:
    """The latest microsecond since 1970, found in the workers."""

    def look(batches: Iterator[Any]) -> int | None:
        return newest((TableBatch(pa.Table.from_batches([each]), 0) for each in batches), time)

    found = _fetched(lambda: _in_workers(source.frame.select(time), look))
    return max((latest for latest in found if latest is not None), default=None)


class Partition:
    """The batches of one of Spark's partitions, put together to lengths that are worth compiled loops; read once."""

    ordered = False

    def __init__(self, batches: Iterator[Any]) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        self.part = 0 if context is None else context.partitionId()
        self._batches = batches
        self._first = next(batches, None)

    @property
    def empty(self) -> bool:
        return self._first is None

    def column_names(self) -> list[str]:
        return [] if self._first is None else list(self._first.schema.names)

    def count(self) -> int:
        raise NotImplementedError

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        start, held = 0, [] if self._first is None else [self._first]
        for batch in self._batches:
            held.append(batch)
            if (rows := sum(part.num_rows for part in held)) >= ROWS_PER_BATCH:
                yield TableBatch(pa.Table.from_batches(held), start, part=self.part)
                start, held = start + rows, []
        if held:
            yield TableBatch(pa.Table.from_batches(held), start, part=self.part)


def _selected(logs: Logs, plan: Plan) -> tuple[Any, Any | None]:
    """The columns of the rows to read; and of the rows before Spark left some out, where it did."""
    assert isinstance(logs.source, SparkFrame)
    frame = logs.source.frame
    context = getattr(frame.sparkSession, "_sc", None)
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        # Workers on this machine run the Python that runs here, also where the session was started without saying so.
        context.pythonExec = sys.executable
    needs = Needs.all_of([logs.needs(), plan.needs(logs)])
    selected = frame.select(*needs.columns())
    chosen = None if needs.where is None else filtered(selected, needs.where)
    return (selected, None) if chosen is None else (chosen, frame)


def _in_workers(frame: Any, work: Callable[[Iterator[Any]], Any]) -> Any:
    """One row for each partition: what it gives, or the refusal of it."""

    def packed(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            value = work(batches)
        except SureliftError as error:
            value = error
        yield pa.record_batch({"sums": pa.array([pickle.dumps(value)], pa.binary())})

    return frame.mapInArrow(packed, SCHEMA)


def _unpacked(content: bytes) -> Any:
    value = pickle.loads(content)
    if isinstance(value, SureliftError):
        raise value
    return value


def _fetched(frame: Callable[[], Any]) -> list[Any]:
    return [_unpacked(row["sums"]) for row in _run(lambda: frame().collect())]


def _logs_of(source: Partition, declaration: Declaration) -> Logs:
    """Contexts are only there where something looks at them."""
    there = set(declaration.contexts or ()) <= set(source.column_names())
    return Logs.of(source, declaration if there else replace(declaration, contexts=None))


def _run(job: Callable[[], Any]) -> Any:
    try:
        return job()
    except Exception as error:
        raise LogsError(f"Spark could not add up these logs: {_reason(str(error))}\nNothing was computed.") from error


def _reason(message: str) -> str:
    """The line that tells the cause, and what to set where the workers are not as this process is."""
    if "PYTHON_VERSION_MISMATCH" in message or "different minor version" in message:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return (
            f"its workers run another Python than this process, {version}. Set PYSPARK_PYTHON, or "
            "spark.pyspark.python, to one of the same version on every worker."
        )
    missing = re.search(r"No module named '(surelift|pyarrow|numpy)", message)
    if missing:
        return (
            f"its workers lack {missing[1]}. Install it in the Python of the workers (set PYSPARK_PYTHON before the session "
            "starts), in the same version as here, or ship it with spark.archives."
        )
    lines = message.splitlines() or ["no message"]
    return next((line.strip() for line in lines if "Error" in line), lines[0])
