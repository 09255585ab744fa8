"""A database does the adding: one aggregate query for each key, through Ibis, with the validation in the same pass.

Sums are made in a thousand groups, so that rounding cannot pile up, and added here. Where there is no log1p, with u = 1 + y
as it is rounded, log(1 + y) is ln u + (y - (u - 1))/u, exact to a few units in the last place, however small y. What
rounding may have added is taken off the log sums. No fingerprint is made: it would need every bit of every row.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import numpy as np

from surelift import capabilities
from surelift.engines.collect import refuse_many_segments
from surelift.engines.sql_query import AggregateQuery, Part, rows_of
from surelift.errors import LogsError, UsageError, first_line
from surelift.kernels.loop import LoopSums
from surelift.logs import faults
from surelift.logs.batch import left_behind
from surelift.logs.faults import Fault, Tally
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.seen import HashSample
from surelift.logs.sources.tables import SqlTable
from surelift.policies.policy import Production
from surelift.statistics.dealing import Dealt
from surelift.statistics.looped import Looped
from surelift.statistics.memories import IdMemory
from surelift.statistics.plan import MEAN, SQUARES, Plan, Request
from surelift.statistics.splits import Day, Key, KeyValue, RandomBlocks, Segment
from surelift.statistics.sums import Sums
from surelift.statistics.terms import LogSums, MomentSums
from surelift.traits.logs import Logs

_EPSILON = 2.0**-52
Row = Mapping[str, Any]


def collect(logs: Logs, plan: Plan, *, progress: Callable[[int], None] | None = None) -> Sums:
    """Add up where the table lies; no row of it comes to this process."""
    assert isinstance(logs.source, SqlTable)
    plan.needs(logs)
    asked = plan.requests
    plan = replace(plan, requests=tuple(request for request in asked if not request.statistic.optional))
    _refuse_unable(logs, plan)
    ids = {request: request.statistic for request in plan.requests if isinstance(request.statistic, IdMemory)}
    states, invalid, rows = dict[Request, Any](), dict[Fault, Tally](), set[int]()
    for request, memory in ids.items():
        # A database counts ids to the last; here nothing has to be remembered.
        table = rows_of(logs)
        column = table[memory.column]
        counts = table.filter(column.notnull()).group_by(key=column).aggregate(times=lambda rows: rows.count())
        (row,) = _run(counts.aggregate(ids=counts.count(), again=(counts.times > 1).sum()))
        if row["again"]:
            memory.refuse(int(row["again"]), f"{int(row['ids']):,}")
        states[request] = {(): HashSample(0)}
    for key in plan.keys:
        own = [request for request in plan.requests if request.key == key and request not in ids]
        query = AggregateQuery(logs, plan, own, key)
        answered = _Answer(query, _run(query.expression()))
        states |= answered.states(key)
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
    excluded = left_behind(logs.source.count(), count) if logs.declaration.pushed is not None else 0
    states = {request: states.get(request, {}) for request in asked}
    sums = Sums(count, states, invalid, Fingerprint.unknown(count), excluded=excluded, asked=plan.asked)
    refuse_many_segments(sums)
    return sums


def known_distributions(logs: Logs, plan: Plan) -> frozenset[str]:
    return frozenset()


def newest_time(source: SqlTable, time: str) -> int | None:
    raise UsageError("a database does not tell the newest time of its rounds; give as_of=, or logs.here().")


def _refuse_unable(logs: Logs, plan: Plan) -> None:
    features = set(logs.declaration.features).union({"database"}, *(policy.features for policy in plan.policies.values()))
    if any(policy.recipe is None and not isinstance(policy, Production) for policy in plan.policies.values()):
        features.add("policy that is no column")
    if any(isinstance(split, Dealt) for key in plan.keys for split in key) and not logs.declaration.dealt_by:
        features.add("dealt by rows")
    unable = [request.statistic.label for request in plan.requests if not _adds_up(request.statistic)]
    splits = [split for key in plan.keys for split in key]
    unable += [split.label for split in splits if not isinstance(split, Segment | Day | RandomBlocks | Dealt)]
    unable += [] if plan.model is None else ["a reward model"]
    read = (logs.declaration.propensity, logs.declaration.reward)
    unable += [f"the trait {type(trait).__name__}" for trait in read if trait.recipe is None]
    if unable:
        features.add("what databases do not add up")
    capabilities.check(frozenset(features), named={"what databases do not add up": unable[0]} if unable else {})


def _adds_up(statistic: Any) -> bool:
    """A database adds up no control that asks for every action of a round, and no regularizer that asks for its weight."""
    capped = isinstance(statistic, LogSums) and any(hasattr(part.control, "cap") for part in statistic.components)
    regularized = isinstance(statistic, MomentSums) and statistic.moments != (MEAN, SQUARES)
    return isinstance(statistic, Looped | IdMemory) and not (capped or regularized)


def _run(expression: Any) -> list[Row]:
    try:
        with _planned_simply(expression.get_backend()):
            rows: list[Row] = expression.to_pyarrow().to_pylist()
            return rows
    except (LogsError, UsageError):
        raise
    except Exception as error:
        raise LogsError(
            f"the database could not add up these logs: {first_line(error)}\nNothing was computed. If the table is sound, "
            "bring its rows here, logs.here(), or read it as files."
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
    """The groups of one query, and what they add up to for each value of its key.

    To statistics it stands for a batch and its groups, of which rounds were only counted.
    """

    count, codes, keep, scale, is_read = 0, (), None, None, False

    def __init__(self, query: AggregateQuery, rows: Sequence[Row]) -> None:
        self._query, self._rows, groups = query, rows, dict[KeyValue, list[Row]]()
        for row in rows:
            value = query.value_of(row)
            if value is not None:
                groups.setdefault(value, []).append(row)
        self._groups = dict(sorted(groups.items()))
        self.values, self.units, self.rows = list(self._groups), self, _rounds(rows)

    def counts(self, size: int) -> Any:
        return np.array([_rounds(rows) for rows in self._groups.values()])

    def states(self, key: Key) -> dict[Request, dict[KeyValue, Any]]:
        found, itself = dict[Request, dict[KeyValue, Any]](), cast(Any, self)
        for part in self._query.parts:
            sums = self._sums(part)
            for statistic, places in part.program.places:
                states = statistic.states(itself, itself, sums, places)
                found[Request(statistic, key, part.outcome)] = dict(zip(self.values, states, strict=True))
        return found

    def _sums(self, part: Part) -> LoopSums:
        groups, lines = list(self._groups.values()), part.lines
        moments, deepest = np.zeros((len(groups), len(lines), 3)), np.zeros(len(lines))
        totals = [np.zeros((len(groups), len(line.smoothings))) for _, line in lines]
        for place, (name, line) in enumerate(lines):
            least = math.inf if line.smoothings and groups else 0.0
            for group, rows in enumerate(groups):
                moments[group, place] = _total(rows, f"m{name}"), _total(rows, f"mm{name}"), _largest(rows, f"largest{name}")
                if line.smoothings:
                    # The sum of n numbers is off by n units in the last place at most, a logarithm by a few.
                    keep = 1.0 - (max(int(row["rows"]) for row in rows) + 16) * _EPSILON
                    zeros, least = _total(rows, f"zero{name}"), min(least, -_largest(rows, f"least{name}", -1.0))
                    for j, smoothing in enumerate(line.smoothings):
                        of_zeros = zeros * math.log1p(smoothing * line.offset)
                        totals[place][group, j] = keep * (_total(rows, f"s{name}_{j}") + of_zeros)
            deepest[place] = -(least + line.offset) / (1.0 + line.offset)
        smallest = np.array([min(float(row["smallest"]) for row in rows) for rows in groups])
        return LoopSums(totals, moments, deepest, smallest)

    def invalid(self) -> dict[Fault, Tally]:
        invalid = {}
        for place, bad in enumerate(self._query.bad):
            count = int(_total(self._rows, f"bad{place}"))
            if count > 0:
                shown = next((row[f"shown{place}"] for row in self._rows if row[f"bad{place}"]), None)
                text = "null" if shown is None else repr(shown if isinstance(shown, str) else float(shown))
                invalid[bad.fault] = Tally(count, -1, text, "")
        # Segments that were not declared, by the text that they have in this process, as everywhere.
        for place, split in enumerate(self._query.key):
            if isinstance(split, Segment) and split.declared is not None:
                named = [(str(self._query.name_of(place, row)), row) for row in self._rows]
                others = [(name, row) for name, row in named if name not in split.declared]
                if others:
                    tally = Tally(_rounds(row for _, row in others), -1, repr(min(name for name, _ in others)), "")
                    invalid[Fault(split.subject, faults.SEGMENT_UNDECLARED)] = tally
        return invalid


def _rounds(rows: Iterable[Row]) -> int:
    return sum(int(row["rows"]) for row in rows)


def _total(rows: Sequence[Row], name: str) -> float:
    return math.fsum(float(row[name] or 0.0) for row in rows)


def _largest(rows: Sequence[Row], name: str, sign: float = 1.0) -> float:
    return max((sign * float(row[name]) for row in rows if row[name] is not None), default=0.0)
