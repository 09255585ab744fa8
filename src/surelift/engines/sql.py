"""A database does the adding: one aggregate query for each key, through Ibis, with the validation in the same pass.

Sums are made in a thousand groups, so that rounding cannot pile up, and added here. Where there is no log1p, with u = 1 + y
as it is rounded, log(1 + y) is ln u + (y - (u - 1))/u, exact to a few units in the last place, however small y. What
rounding may have added is taken off the log sums. No fingerprint is made: it would need every bit of every row.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from surelift.engines.sql_query import AggregateQuery
from surelift.errors import LogsError, UsageError
from surelift.logs.faults import Fault, Tally
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.logs.sources.remote import SqlTable
from surelift.statistics.fused import SimplePlan
from surelift.statistics.log_sums import LogSums
from surelift.statistics.moments import MomentSums
from surelift.statistics.plan import Plan, Request
from surelift.statistics.production import ProductionSums, ProductionTotals
from surelift.statistics.splits import Day, KeyValue, RandomBlocks, Segment
from surelift.statistics.sums import Sums
from surelift.statistics.weights import PolicyWeights, WeightSums

_EPSILON = 2.0**-52
Row = Mapping[str, Any]


def collect(logs: Logs, plan: Plan, *, progress: Callable[[int], None] | None = None) -> Sums:
    """Add up where the table lies; no row of it comes to this process."""
    assert isinstance(logs.source, SqlTable)
    simple = SimplePlan.of(logs, plan.requests, plan.policies)
    if plan.model is not None:
        simple = "a reward model"
    for key in plan.keys:
        unsupported = [split.label for split in key if not isinstance(split, Segment | Day | RandomBlocks)]
        simple = unsupported[0] if unsupported else simple
    if isinstance(simple, str):
        raise UsageError(
            f"a database cannot add up {simple}; bring the rows here first, logs.here(), or read the log as files."
        )
    plan.needs(logs)
    total: Sums | None = None
    for key in plan.keys:
        requests = [request for request in plan.requests if request.key == key]
        query = AggregateQuery(logs, simple, key)
        answered = _Answer(query, _run(query))
        if total is None:
            total = Sums(rows=answered.rows, invalid=answered.invalid(), fingerprint=Fingerprint.unknown(answered.rows))
        states = {**total.states, **{request: answered.states(request) for request in requests}}
        total = Sums(total.rows, states, total.invalid, total.fingerprint)
    assert total is not None
    if progress is not None:
        progress(total.rows)
    # In the order of the plan.
    return Sums(total.rows, {request: total.states[request] for request in plan.requests}, total.invalid, total.fingerprint)


def _run(query: AggregateQuery) -> list[Row]:
    try:
        with _planned_simply(query.backend):
            rows: list[Row] = query.expression().to_pyarrow().to_pylist()
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
            place = query.place(statistic.candidate, statistic.quantity)
            # Adding n numbers is off by n units in the last place at most, relative to their sum; a logarithm by a few.
            keep = 1.0 - (max(int(row["rows"]) for row in rows) + 16) * _EPSILON
            zeros = _total(rows, f"zero{place}")
            return query.array(
                keep * (_total(rows, f"s{place}_{j}") + zeros * math.log1p(part.smoothing * statistic.offset))
                for j, part in enumerate(statistic.components)
            )
        if isinstance(statistic, MomentSums):
            place = query.place(statistic.candidate, statistic.quantity)
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
        return invalid


def _total(rows: Sequence[Row], name: str) -> float:
    return math.fsum(float(row[name] or 0.0) for row in rows)


