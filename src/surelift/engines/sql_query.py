"""A plan over plain columns as one aggregate query of Ibis."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, reduce
from operator import add, or_
from typing import Any, NamedTuple

import numpy as np

from surelift.batch import LARGEST_WEIGHT, RewardColumn
from surelift.errors import LogsError, UsageError
from surelift.kernels.loop import LoopTerm
from surelift.logs import faults
from surelift.logs.columns import TOLERANCE, TOLERANCE_FLOAT32
from surelift.logs.faults import Fault, Reason
from surelift.logs.segments import MISSING, Bins, SegmentColumn, column_name, segment_name
from surelift.logs.sources.pushdown import filtered
from surelift.logs.sources.tables import SqlTable
from surelift.policies.policy import Production
from surelift.statistics.dealing import HEX_DIGITS, MODULUS, PLACES, SALT, STEPS, Dealt
from surelift.statistics.looped import Program, program_of
from surelift.statistics.plan import Plan, Request
from surelift.statistics.splits import Day, Key, KeyValue, RandomBlocks, Segment
from surelift.traits.logs import Logs
from surelift.traits.reward import Reward

# Of all rounds, whatever the blocks they are dealt into besides.
BUCKETS = 1009
# PostgreSQL ends a query where a number underflows; what is this small adds nothing.
_TINY = 1e-150


class Bad(NamedTuple):
    """A condition that makes a row unfit, and the values to show."""

    fault: Fault
    condition: Any
    value: Any


def rows_of(logs: Logs) -> Any:
    assert isinstance(logs.source, SqlTable)
    condition = logs.needs().where
    if condition is None:
        return logs.source.table
    chosen = filtered(logs.source.table, condition)
    if chosen is None:
        raise UsageError(
            "where= compares a date with text, or finer than a column stores it, which databases do in their own ways; make "
            "the column a date or a timestamp in the query, or bring the rows here, logs.here()."
        )
    return chosen


class Part(NamedTuple):
    outcome: RewardColumn | None
    program: Program
    lines: Sequence[tuple[str, LoopTerm]]


class AggregateQuery:
    """Unfit rows are counted, and enter no sum: with one of them nothing is computed from the sums."""

    def __init__(self, logs: Logs, plan: Plan, requests: Sequence[Request], key: Key) -> None:
        assert isinstance(logs.source, SqlTable)
        self._logs, self.key = logs, key
        self._table = rows_of(logs)
        self.backend = self._table.get_backend()
        by_outcome = dict[RewardColumn | None, list[Any]]()
        for request in requests:
            by_outcome.setdefault(request.outcome, []).append(request.statistic)
        self.parts = list[Part]()
        for place, (outcome, found) in enumerate(by_outcome.items()):
            program = program_of(tuple(found), True)
            lines = [(f"{place}_{t}", line) for t, line in enumerate(program.plan.terms)]
            self.parts.append(Part(outcome, program, lines))
        names = sorted({name for part in self.parts for name in part.program.plan.policies})
        # What cannot be read by a recipe was refused: the table of capabilities lists what a database does not add up.
        self._propensity: Any = logs.declaration.propensity.recipe
        itself = self._propensity, 0.0  # production, blended with nothing
        policies = {name: plan.policies[name] for name in names}
        self._policies: dict[str, Any] = {
            name: itself if isinstance(policy, Production) else policy.recipe for name, policy in policies.items()
        }
        self.bad = list(self._conditions())

    def value_of(self, row: Mapping[str, Any]) -> KeyValue | None:
        """The value of the key that a group of the answer belongs to; None for rounds that belong to none."""
        names = list[str]()
        for place, split in enumerate(self.key):
            name = self.name_of(place, row)
            if name is None or (isinstance(split, Segment) and split.only not in (None, name)):
                return None
            names.append(name)
        return tuple(names)

    def name_of(self, place: int, row: Mapping[str, Any]) -> str | None:
        split = self.key[place]
        if isinstance(split, Segment):
            values = [row[f"key{place}_{j}"] for j in range(len(split.by))]
            missing = [value is None or value == "" or value != value for value in values]
            return segment_name(
                [
                    MISSING if lacks else part.names[value] if isinstance(part, Bins) else str(value)
                    for part, value, lacks in zip(split.by, values, missing, strict=True)
                ]
            )
        value = row[f"key{place}"]
        if isinstance(split, Dealt) and value is not None:
            value = int(split.blocks(np.array(value)))
        return None if value is None or value == "" else str(value)

    def expression(self) -> Any:
        """Sums in groups dealt out by chance within every value of the key; the names of the columns are ours."""
        rows = self._rows()
        columns: dict[str, Any] = {"rows": rows.count(), "smallest": rows.propensity.min()}
        for place in range(len(self.bad)):
            bad = rows[f"bad{place}"]
            columns |= {f"bad{place}": bad.sum(), f"shown{place}": bad.ifelse(rows[f"value{place}"], None).min()}
        for part in self.parts:
            for name, line in part.lines:
                columns |= _sums_of(rows[f"line{name}"], name, line)
        return rows.group_by(["bucket", *self._key_columns()]).aggregate(**columns)

    def _rows(self) -> Any:
        """What the sums are of, in a query of its own: a database works out every column of it once."""
        import ibis

        fit = ~reduce(or_, (bad.condition for bad in self.bad))
        propensity = fit.ifelse(self._number(self._propensity.column), 1.0)
        counts = [split.count for split in self.key if isinstance(split, RandomBlocks)]
        counts += [PLACES for split in self.key if isinstance(split, Dealt)]
        bucket = (ibis.random() * max(1, BUCKETS // math.prod(counts))).floor().cast("int64")
        columns: dict[str, Any] = {"bucket": bucket, "propensity": propensity, **self._key_columns()}
        for place, bad in enumerate(self.bad):
            columns |= {f"bad{place}": bad.condition, f"value{place}": bad.value}
        pieces: dict[tuple[str, bool], Any] = {}
        for name, (recipe, alpha) in self._policies.items():
            p = fit.ifelse(self._number(recipe.column), 1.0)
            p = (p > 1.0).ifelse(1.0, p)
            pieces[name, False] = ((1.0 - alpha) * propensity + alpha * p) / propensity
            pieces[name, True] = alpha * ((p - propensity) / propensity)
        for part in self.parts:
            reward, _ = self._reward(part.outcome)
            earned = fit.ifelse((self._number(reward.column) - reward.zero) / reward.divisor, 0.0)
            columns |= {f"line{name}": _line(line, pieces, earned) for name, line in part.lines}
        rows = self._table.select(**columns)
        # PostgreSQL would write out every column again wherever it is used, were it not for a limit.
        return rows.limit(2**62) if self.backend.name == "postgres" else rows

    def _reward(self, outcome: RewardColumn | None) -> tuple[Any, str]:
        own = self._logs.declaration.reward
        if outcome is not None:
            scale = outcome.scale
            role: Any = {"cost" if scale.is_cost else "reward": outcome.column}
            own = Reward(**role, reward_range=(scale.low, scale.high))
        return own.recipe, own.subject

    def _key_columns(self) -> dict[str, Any]:
        import ibis

        columns: dict[str, Any] = {}
        for place, split in enumerate(self.key):
            if isinstance(split, Segment):
                columns |= {f"key{place}_{j}": self._segment(part) for j, part in enumerate(split.by)}
            elif isinstance(split, RandomBlocks):
                columns[f"key{place}"] = (ibis.random() * split.count).floor().cast("int64")
            elif isinstance(split, Dealt):
                columns[f"key{place}"] = self._place_of_id()
            else:
                assert isinstance(split, Day)
                columns[f"key{place}"] = _day(self._table[split.time])
        return columns

    def _segment(self, part: SegmentColumn) -> Any:
        if isinstance(part, str):
            return self._table[part]
        number = self._number(part.column)
        reached = reduce(add, ((number >= edge).ifelse(1, 0) for edge in part.edges))
        return (number.isnull() | number.isnan()).ifelse(None, reached)

    def _place_of_id(self) -> Any:
        """The place of an id as in ``key_places``: the same ids lie in the same blocks wherever they are dealt."""
        import ibis

        (name,) = self._logs.declaration.dealt_by
        column = self._table[name]
        if column.type().is_integer():
            number = (column.cast("int64") % MODULUS + MODULUS) % MODULUS
            for factor, added in STEPS:
                number = ((number if factor is None else factor) * number + added) % MODULUS
            return (number * PLACES / MODULUS).floor().cast("int64")
        if not (column.type().is_string() or column.type().is_uuid()):
            raise UsageError(f"id {name!r} holds {column.type()}; a database deals by whole numbers or texts.")

        digest, place = _md5()(ibis.literal(SALT) + column.cast("string")), 0
        for digit in range(HEX_DIGITS):
            place = 16 * place + ibis.literal("0123456789abcdef").find(digest.substr(digit, 1))
        return place

    def _number(self, column: str) -> Any:
        raw = self._table[column]
        return raw.ifelse(1.0, 0.0) if raw.type().is_boolean() else raw.cast("float64")

    def _conditions(self) -> Iterator[Bad]:
        for judged in dict.fromkeys([None, *(part.outcome for part in self.parts)]):
            recipe, subject = self._reward(judged)
            yield from self._bad_numbers(recipe.column, subject)
            reward = self._number(recipe.column)
            yield _unfit(
                f"{subject}, declared in [{recipe.least:g}, {recipe.most:g}]",
                faults.REWARD if judged is None else faults.OUTCOME,
                ~reward.isnan() & ((reward < recipe.least) | (reward > recipe.most)), reward,
            )  # fmt: skip
        propensity = self._propensity.column
        yield from self._bad_probability(propensity, f"propensity {propensity!r}", faults.PROPENSITY)
        for name, (recipe, _) in self._policies.items():
            yield from self._bad_probability(recipe.column, f"policy {name!r}", faults.PROBABILITY)
            p, q = self._number(recipe.column), self._number(propensity)
            # Databases call NaN larger than any number; it is told as NaN, and an infinity as one. No division: it
            # would overflow, which ends the query in some of them.
            above = ~(p.isnan() | p.isinf() | q.isnan() | q.isinf()) & (q > 0.0) & (p > LARGEST_WEIGHT * q)
            yield _unfit(f"policy {name!r}", faults.WEIGHT_OVERFLOW, above, p)
        for role, named in self._logs.declaration.identifying_roles:
            column = self._table[named]
            yield _unfit(f"{role} {named!r}", faults.NULL, column.isnull(), column.cast("string"))
        for split in self.key:
            if isinstance(split, Segment):
                for part in split.by:
                    yield from self._bad_segments(part)

    def _bad_segments(self, part: SegmentColumn) -> Iterator[Bad]:
        column, subject = self._table[column_name(part)], f"by {column_name(part)!r}"
        if column.type().is_nested():
            raise UsageError(f"{subject} holds {column.type()}; a segment is named by text, a number or a date.")
        if isinstance(part, Bins):
            _require_numbers(column, subject)
            if column.type().is_floating():
                yield _unfit(subject, faults.INFINITE, self._number(part.column).isinf(), self._number(part.column))
        elif column.type().is_string():
            yield _unfit(subject, faults.SEGMENT, column == MISSING, column)

    def _bad_probability(self, column: str, subject: str, reason: Reason) -> Iterator[Bad]:
        yield from self._bad_numbers(column, subject)
        value, single = self._number(column), self._table[column].type().is_float32()
        low = value <= 0.0 if reason is faults.PROPENSITY else value < 0.0
        high = value > 1.0 + (TOLERANCE_FLOAT32 if single else TOLERANCE)
        yield _unfit(subject, reason, ~value.isnan() & (low | high), value)

    def _bad_numbers(self, column: str, subject: str) -> Iterator[Bad]:
        raw = self._table[column]
        _require_numbers(raw, subject)
        value = self._number(column)
        yield Bad(Fault(subject, faults.NULL), raw.isnull(), value)
        if raw.type().is_floating():
            yield _unfit(subject, faults.NOT_A_NUMBER, value.isnan(), value)
            yield _unfit(subject, faults.INFINITE, value.isinf(), value)


def _day(column: Any) -> Any:
    import ibis

    if column.type().is_string():
        return column.re_search(r"^\d{4}-\d{2}-\d{2}").ifelse(column.substr(0, 10), None)
    if column.type().is_timestamp():
        return column.date()
    return column if column.type().is_date() else ibis.null(str)


@cache
def _md5() -> Any:
    import ibis

    def md5(text: str) -> str:
        return text  # what runs is the database's own

    return ibis.udf.scalar.builtin(md5)


def _require_numbers(column: Any, subject: str) -> None:
    if not (column.type().is_numeric() or column.type().is_boolean()):
        raise LogsError(f"{subject}: the column holds {column.type()}, not numbers.")


def _unfit(subject: str, reason: Reason, condition: Any, value: Any) -> Bad:
    # What is unknown because something is null is counted as null, not here.
    return Bad(Fault(subject, reason), condition.fill_null(False), value)


def _line(line: LoopTerm, pieces: Mapping[tuple[str, bool], Any], earned: Any) -> Any:
    """A term of each row: from its end at zero to that at one."""
    parts = list[Any]()
    for end, by in enumerate((1.0 - earned, earned)):
        each = [line.constants[end]] if line.constants[end] != 0.0 else []
        for name, excess, *often in line.pieces:
            if often[end] != 0.0:
                each.append(pieces[name, excess] if often[end] == 1.0 else often[end] * pieces[name, excess])
        if each:
            parts.append(reduce(add, each) * by)
    return reduce(add, parts) if parts else 0.0 * earned


def _sums_of(value: Any, name: str, line: LoopTerm) -> dict[str, Any]:
    """Rounds whose term is 0 all add the same to a log sum: they are counted, and spared the logarithms."""
    square = (value.abs() > _TINY).ifelse(value * value, 0.0)
    columns = {f"m{name}": value.sum(), f"mm{name}": square.sum(), f"largest{name}": value.max()}
    if not line.smoothings:
        return columns
    columns |= {f"zero{name}": (value == 0.0).sum(), f"least{name}": value.min()}
    shifted = value + line.offset
    shifted = (shifted > _TINY).ifelse(shifted, 0.0)
    for j, smoothing in enumerate(line.smoothings):
        y = smoothing * shifted
        grown = 1.0 + y
        # What rounding took from 1 + y is put back to first order, which is all of it.
        logarithm = grown.ln() + (y - (grown - 1.0)) / grown
        columns[f"s{name}_{j}"] = (value != 0.0).ifelse(logarithm, None).sum()
    return columns
