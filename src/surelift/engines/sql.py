"""A database does the adding: one aggregate query for each key, through Ibis, with the validation in the same pass.

Sums are made in a thousand groups, so that rounding cannot pile up, and added here. Where there is no log1p, with u = 1 + y
as it is rounded, log(1 + y) is ln u + (y - (u - 1))/u, exact to a few units in the last place, however small y. What
rounding may have added is taken off the log sums. No fingerprint is made: it would need every bit of every row.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from surelift.engines.sql_query import AggregateQuery, rows_of
from surelift.errors import LogsError, UsageError
from surelift.logs import faults
from surelift.logs.batch import left_behind
from surelift.logs.faults import Fault, Tally
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.hash_sample import HashSample
from surelift.logs.logs import Logs
from surelift.logs.sources.remote import SqlTable
from surelift.statistics.dealing import Dealt
from surelift.statistics.fused import SimplePlan
from surelift.statistics.log_sums import LogSums
from surelift.statistics.memories import IdMemory
from surelift.statistics.moments import MomentSums
from surelift.statistics.plan import Plan, Request
from surelift.statistics.production import ProductionSums, ProductionTotals
from surelift.statistics.splits import Day, Key, KeyValue, RandomBlocks, Segment
from surelift.statistics.sums import Sums
from surelift.statistics.weights import PolicyWeights, WeightSums

_EPSILON = 2.0**-52
Row = Mapping[str, Any]


def collect(logs: Logs, plan: Plan, *, progress: Callable[[int], None] | None = None) -> Sums:
    """Add up where the table lies; no row of it comes to this process."""
    assert isinstance(logs.source, SqlTable)
    plan.needs(logs)
    asked = plan.requests
    plan = replace(plan, requests=tuple(request for request in asked if not request.statistic.optional))
    ids = {request: request.statistic for request in plan.requests if isinstance(request.statistic, IdMemory)}
    simple = {key: _simple(logs, plan, key) for key in plan.keys}
    states, invalid, rows = dict[Request, Any](), dict[Fault, Tally](), set[int]()
    for request, memory in ids.items():
        _refuse_repeated(rows_of(logs), memory)
        states[request] = {(): HashSample(0)}
    for key in plan.keys:
        query = AggregateQuery(logs, simple[key], key)
        answered = _Answer(query, _run(query.expression()))
        own = [request for request in plan.requests if request.key == key and request not in ids]
        states |= {request: answered.states(request) for request in own}
        # Every query counts the faults of the columns again, and those of its own key.
        invalid |= answered.invalid()
        rows.add(answered.rows)
    if len(rows) > 1:
        raise LogsError(
            f"the table had {min(rows):,} rows and then {max(rows):,}: it was written to while it was read.\nNothing was "
            "computed. Ask of a snapshot, or of the rows up to a time that has passed."
        )
    (count,) = rows
    if progress is not None:
        progress(count)
    in_order = {request: states.get(request, {}) for request in asked}
    excluded = 0 if logs.declaration.where is None else left_behind(logs.source.count(), count)
    return Sums(count, in_order, invalid, Fingerprint.unknown(count), excluded=excluded)


def _simple(logs: Logs, plan: Plan, key: Key) -> SimplePlan:
    """What is added up under one key; raises where a database cannot."""
    own = [request for request in plan.requests if request.key == key and not isinstance(request.statistic, IdMemory)]
    simple = SimplePlan.of(logs, own, plan.policies)
    unable = [split.label for split in key if not isinstance(split, Segment | Day | RandomBlocks | Dealt)]
    if plan.model is not None:
        unable.append("a reward model")
    if isinstance(simple, SimplePlan) and not unable:
        return simple
    what = simple if isinstance(simple, str) else unable[0]
    raise UsageError(
        f"a database cannot add up {what}; bring the rows here first, logs.here(), or read the log as files."
    )


def _refuse_repeated(table: Any, memory: IdMemory) -> None:
    """A database counts ids to the last; here nothing has to be remembered."""
    column = table[memory.column]
    counts = table.filter(column.notnull()).group_by(key=column).aggregate(times=lambda rows: rows.count())
    (row,) = _run(counts.aggregate(ids=counts.count(), again=(counts.times > 1).sum()))
    memory.refuse(int(row["again"] or 0), f"{int(row['ids']):,}")


def _run(expression: Any) -> list[Row]:
    try:
        with _planned_simply(expression.get_backend()):
            rows: list[Row] = expression.to_pyarrow().to_pylist()
            return rows
    except (LogsError, UsageError):
        raise
    except Exception as error:
        reason = (str(error).splitlines() or ["no message"])[0]
        raise LogsError(
            f"the database could not add up these logs: {reason}\nNothing was computed. If the table is sound, bring its "
            "rows here, logs.here(), or read it as files."
        ) from error


@contextmanager
def _planned_simply(backend: Any) -> Iterator[None]:
    """PostgreSQL would compile the query first, which takes ten times as long as answering it."""
    if backend.name != "postgres":
        yield
        return
    backend.raw_sql("SET jit = off").close()
    try:
        yield
    finally:
        backend.raw_sql("RESET jit").close()


class _Answer:
    """The groups of one query, and what they add up to for each value of its key."""

    def __init__(self, query: AggregateQuery, rows: Sequence[Row]) -> None:
        self._query, self._groups = query, dict[KeyValue, list[Row]]()
        for row in rows:
            value = query.value_of(row)
            if value is not None:
                self._groups.setdefault(value, []).append(row)
        self._rows = rows
        self.rows = sum(int(row["rows"]) for row in rows)

    def states(self, request: Request) -> dict[KeyValue, Any]:
        return {value: self._state(request.statistic, rows) for value, rows in sorted(self._groups.items())}

    def _state(self, statistic: Any, rows: Sequence[Row]) -> Any:
        query = self._query
        if isinstance(statistic, LogSums):
            place = query.place(statistic)
            # Adding n numbers is off by n units in the last place at most, relative to their sum; a logarithm by a few.
            keep = 1.0 - (max(int(row["rows"]) for row in rows) + 16) * _EPSILON
            zeros = _total(rows, f"zero{place}")
            return query.array(
                keep * (_total(rows, f"s{place}_{j}") + zeros * math.log1p(part.smoothing * statistic.offset))
                for j, part in enumerate(statistic.components)
            )
        if isinstance(statistic, MomentSums):
            place = query.place(statistic)
            return query.array(_total(rows, f"{name}{place}") for name in ("m", "mm"))
        if isinstance(statistic, PolicyWeights):
            place = query.names.index(statistic.candidate)
            largest = max(float(row[f"largest{place}"] or 0.0) for row in rows)
            return WeightSums(_total(rows, f"w{place}"), _total(rows, f"ww{place}"), largest, None)
        if isinstance(statistic, ProductionTotals):
            smallest = min((float(row["smallest"]) for row in rows if row["smallest"] is not None), default=math.inf)
            return ProductionSums(_total(rows, "rewards"), smallest)
        return sum(int(row["rows"]) for row in rows)

    def invalid(self) -> dict[Fault, Tally]:
        invalid = {}
        for place, bad in enumerate(self._query.bad):
            count = int(_total(self._rows, f"bad{place}"))
            if count > 0:
                shown = next((row[f"shown{place}"] for row in self._rows if row[f"bad{place}"]), None)
                text = "null" if shown is None else repr(shown if isinstance(shown, str) else float(shown))
                invalid[bad.fault] = Tally(count, -1, text, "")
        return invalid | self._undeclared()

    def _undeclared(self) -> dict[Fault, Tally]:
        """Segments that were not declared, by the text that they have in this process, as everywhere."""
        invalid = {}
        for place, split in enumerate(self._query.key):
            if isinstance(split, Segment) and split.declared is not None:
                names = [(str(self._query.name_of(place, row)), int(row["rows"])) for row in self._rows]
                others = [(name, rows) for name, rows in names if name not in split.declared]
                if others:
                    fault = Fault(split.subject, faults.SEGMENT_UNDECLARED)
                    invalid[fault] = Tally(sum(rows for _, rows in others), -1, repr(min(others)[0]), "")
        return invalid


def _total(rows: Sequence[Row], name: str) -> float:
    return math.fsum(float(row[name] or 0.0) for row in rows)
