"""A database does the adding: one aggregate query, through Ibis, with the validation in the same pass.

Sums are made in a thousand groups, so that rounding cannot pile up, and added here. Where there is no log1p, with u = 1 + y
as it is rounded, log(1 + y) is ln u + (y - (u - 1))/u, exact to a few units in the last place, however small y. What
rounding may have added is taken off the log sums. A fingerprint is not made: it would need every bit of every row.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from surelift.engines import stream
from surelift.errors import LogsError
from surelift.logs import faults
from surelift.logs.columns import TOLERANCE, TOLERANCE_FLOAT32
from surelift.logs.faults import Fault, Reason, Tally
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.logs.sources.remote import SqlTable
from surelift.quantities import Decline, Shortfall
from surelift.statistics.fused import Fused, Simple
from surelift.statistics.plan import MEAN, SQUARES, Plan, Term
from surelift.statistics.reading import LARGEST_WEIGHT
from surelift.statistics.sums import LoggingSums, LogSumKey, MomentKey, Sums, WeightSums

GROUPS = 1009
_EPSILON = 2.0**-52


def collect(logs: Logs, plan: Plan, *, progress: Callable[[int], None] | None = None) -> Sums:
    """Add up where the table lies; what needs more than three columns and sums is read in batches instead."""
    assert isinstance(logs.source, SqlTable)
    fused = Fused.of(logs, plan)
    if fused is None:
        return stream.collect_here(logs, plan, progress=progress)
    backend = logs.source.table.get_backend()
    query = Aggregate(logs, plan, fused.simple, fenced=backend.name == "postgres")
    try:
        with _planned_simply(backend):
            found = query.expression().to_pyarrow().to_pylist()
    except Exception:
        # PostgreSQL ends a query at an overflow, in an unfit row, and at an underflow: read here, neither is in the way.
        return stream.collect_here(logs, plan, progress=progress)
    sums = query.sums(found)
    if progress is not None:
        progress(sums.rows)
    return sums


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


class Bad(NamedTuple):
    """A condition that makes a row unfit, and the values to show."""

    fault: Fault
    condition: Any
    value: Any


class Aggregate:
    """A plan of plain quantities as one aggregate."""

    def __init__(self, logs: Logs, plan: Plan, simple: dict[str, Simple], *, fenced: bool = False) -> None:
        assert isinstance(logs.source, SqlTable)
        self._logs, self._plan, self._simple, self._fenced = logs, plan, simple, fenced
        self._table = logs.source.table

    def expression(self) -> Any:
        """Sums in groups dealt out by chance; the names of the columns are ours.

        Unfit rows are counted and not kept out: with one of them nothing is computed from the sums.
        """
        rows = self._rows()
        columns: dict[str, Any] = {
            "rows": rows.count(),
            "rewards": rows.earned.sum(),
            "smallest": rows.propensity.min(),
        }
        for place in range(len(list(self._bad()))):
            columns[f"bad{place}"] = rows[f"bad{place}"].sum()
            columns[f"shown{place}"] = rows[f"bad{place}"].ifelse(rows[f"value{place}"], None).min()
        for c in range(len(self._simple)):
            weight = rows[f"weight{c}"]
            columns |= {f"w{c}": weight.sum(), f"ww{c}": (weight * weight).sum(), f"largest{c}": weight.max()}
        for t, term in enumerate(self._plan.terms):
            columns |= self._sums_of(rows[f"term{t}"], t, term)
        return rows.group_by("bucket").aggregate(**columns)

    def _rows(self) -> Any:
        """What the sums are of, in a query of its own: a database works out every column of it once."""
        import ibis

        zero, divisor = self._logs.scale.affine
        earned = (self._number(self._logs.declaration.outcome) - zero) / divisor
        propensity = self._number(str(self._logs.declaration.propensity)).nullif(0.0)
        bucket = (ibis.random() * GROUPS).floor().cast("int64")
        columns: dict[str, Any] = {"bucket": bucket, "earned": earned, "propensity": propensity}
        for place, one in enumerate(self._bad()):
            columns |= {f"bad{place}": one.condition, f"value{place}": one.value}
        for c, name in enumerate(sorted(self._simple)):
            alpha, p = self._simple[name].alpha, self._number(self._simple[name].column)
            p = (p > 1.0).ifelse(1.0, p)
            weight = ((1.0 - alpha) * propensity + alpha * p) / propensity
            excess = alpha * ((p - propensity) / propensity)
            columns[f"weight{c}"] = weight
            for t, term in enumerate(self._plan.terms):
                if term.candidate == name:
                    of = 1.0 - earned if isinstance(term.quantity, Shortfall | Decline) else earned
                    columns[f"term{t}"] = (excess if term.quantity.paired else weight) * of
        rows = self._table.select(**columns)
        # PostgreSQL would write out every column again wherever it is used, were it not for a limit.
        return rows.limit(2**62) if self._fenced else rows

    @staticmethod
    def _sums_of(value: Any, t: int, term: Term) -> dict[str, Any]:
        """Rounds whose term is 0 all add the same to a log sum: they are counted, and spared the logarithms."""
        columns = {f"m{t}": value.sum(), f"mm{t}": (value * value).sum(), f"zero{t}": (value == 0.0).sum()}
        shifted = value + term.needed.offset
        shifted = (shifted > 0.0).ifelse(shifted, 0.0)
        for j, component in enumerate(term.needed.components):
            y = component.smoothing * shifted
            grown = 1.0 + y
            # What rounding took from 1 + y is put back to first order, which is all of it.
            logarithm = grown.ln() + (y - (grown - 1.0)) / grown
            columns[f"s{t}_{j}"] = (value != 0.0).ifelse(logarithm, None).sum()
        return columns

    def _number(self, column: str) -> Any:
        raw = self._table[column]
        return raw.ifelse(1.0, 0.0) if raw.type().is_boolean() else raw.cast("float64")

    def _bad(self) -> Iterator[Bad]:
        """Every way in which a row can be unfit, as the path that reads it would count them."""
        logs, scale = self._logs, self._logs.scale
        kind = "cost" if scale.is_cost else "reward"
        yield from self._bad_numbers(logs.declaration.outcome, f"{kind} {logs.declaration.outcome!r}")
        reward = self._number(logs.declaration.outcome)
        yield self._one(
            f"{kind} {logs.declaration.outcome!r}, declared in [{scale.low:g}, {scale.high:g}]", faults.REWARD,
            ~reward.isnan() & ((reward < scale.low) | (reward > scale.high)), reward,
        )  # fmt: skip
        yield from self._bad_probability(
            str(logs.declaration.propensity), f"propensity {logs.declaration.propensity!r}", faults.PROPENSITY
        )
        for name, one in self._simple.items():
            yield from self._bad_probability(one.column, f"policy {name!r}", faults.PROBABILITY)
            p, q = self._number(one.column), self._number(str(logs.declaration.propensity))
            weight = p / q.nullif(0.0)
            # Databases call NaN larger than any number; it is told as NaN, and an infinity as one.
            above = ~(p.isnan() | p.isinf() | q.isnan() | q.isinf()) & (weight > LARGEST_WEIGHT)
            yield self._one(f"policy {name!r}", faults.WEIGHT_OVERFLOW, above, weight)

    def _bad_probability(self, column: str, subject: str, reason: Reason) -> Iterator[Bad]:
        yield from self._bad_numbers(column, subject)
        value = self._number(column)
        tolerance = TOLERANCE_FLOAT32 if self._table[column].type().is_float32() else TOLERANCE
        low = value <= 0.0 if reason is faults.PROPENSITY else value < 0.0
        yield self._one(subject, reason, ~value.isnan() & (low | (value > 1.0 + tolerance)), value)

    def _bad_numbers(self, column: str, subject: str) -> Iterator[Bad]:
        raw = self._table[column]
        if not (raw.type().is_numeric() or raw.type().is_boolean()):
            raise LogsError(f"{subject}: the column holds {raw.type()}, not numbers.")
        value = self._number(column)
        yield Bad(Fault(subject, faults.NULL), raw.isnull(), value)
        if raw.type().is_floating():
            yield self._one(subject, faults.NOT_A_NUMBER, value.isnan(), value)
            yield self._one(subject, faults.INFINITE, value.isinf(), value)

    @staticmethod
    def _one(subject: str, reason: Reason, condition: Any, value: Any) -> Bad:
        # What is unknown because something is null is counted as null, not here.
        return Bad(Fault(subject, reason), condition.fill_null(False), value)

    def sums(self, rows: list[dict[str, Any]]) -> Sums:
        """From the groups to one total: exact here, and below what rounding in a group may have added."""
        bad = list(self._bad())

        def total(name: str) -> float:
            return math.fsum(float(row[name] or 0.0) for row in rows)

        largest_group = max((int(row["rows"]) for row in rows), default=0)
        # Adding n numbers is off by n units in the last place at most, relative to their sum; a logarithm by a few.
        keep = 1.0 - (largest_group + 16) * _EPSILON
        units = int(total("rows"))
        invalid = {}
        for place, one in enumerate(bad):
            count = int(total(f"bad{place}"))
            if count > 0:
                shown = next((row[f"shown{place}"] for row in rows if row[f"bad{place}"]), None)
                invalid[one.fault] = Tally(count, -1, "null" if shown is None else repr(float(shown)), "")
        names = sorted(self._simple)
        return Sums(
            rows=int(total("rows")),
            units=units,
            log_sums={
                LogSumKey(term.candidate, term.quantity, part): keep
                * (total(f"s{t}_{j}") + total(f"zero{t}") * math.log1p(part.smoothing * term.needed.offset))
                for t, term in enumerate(self._plan.terms)
                for j, part in enumerate(term.needed.components)
            },
            moments={
                MomentKey(term.candidate, term.quantity, moment): total(f"{name}{t}")
                for t, term in enumerate(self._plan.terms)
                for name, moment in (("m", MEAN), ("mm", SQUARES))
            },
            weights={
                name: WeightSums(
                    total(f"w{c}"),
                    total(f"ww{c}"),
                    max((float(row[f"largest{c}"] or 0.0) for row in rows), default=0.0),
                    None,
                )
                for c, name in enumerate(names)
            },
            logging=LoggingSums(
                total("rewards"),
                min((float(row["smallest"]) for row in rows if row["smallest"] is not None), default=math.inf),
            ),
            invalid=invalid,
            fingerprint=Fingerprint.unknown(units),
        )
