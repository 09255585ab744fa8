"""The condition of ``where=`` where the rows are: as a filter of another engine, and by the statistics of Parquet files."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from functools import reduce
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa

from surelift.logs.batch import TableBatch
from surelift.logs.chosen import holds_of, kind_of, met, require_comparable, ticks_of
from surelift.logs.where import Comparison, Condition, Joined, Missing

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda column, value: column == value, "!=": lambda column, value: column != value,
    "<": lambda column, value: column < value, "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value, ">=": lambda column, value: column >= value,
}  # fmt: skip


def filtered(frame: Any, condition: Condition) -> Any | None:
    """A query of DuckDB, polars, Spark or Ibis with the rows that meet a condition; None where it would not be the same.

    Raises where the types of its columns cannot be compared so.
    """
    import narwhals as nw

    query = nw.from_native(frame)
    expression = _expression(condition, query.collect_schema(), in_spark=query.implementation.is_spark_like())
    return None if expression is None else query.filter(expression).to_native()


def _expression(condition: Condition, schema: Mapping[str, Any], *, in_spark: bool) -> Any | None:
    import narwhals as nw

    if isinstance(condition, Joined):
        parts = [_expression(part, schema, in_spark=in_spark) for part in condition.parts]
        if any(part is None for part in parts):
            return None
        join: Callable[[Any, Any], Any] = (lambda a, b: a & b) if condition.all_of else (lambda a, b: a | b)
        return reduce(join, parts)
    dtype, column = schema[condition.column], nw.col(condition.column)
    if isinstance(condition, Missing):
        # What is not a number counts as null, as everywhere.
        absent = column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()
        return absent if condition.wanted else ~absent
    zone = getattr(dtype, "time_zone", None)
    holds, value = _holds(dtype), condition.value
    require_comparable(condition.column, holds, zone is not None, condition)
    if isinstance(value, date):
        stored: Any = _as_stored(value, dtype, zone)
        if in_spark and isinstance(stored, datetime) and zone is None:
            # Spark would take it for an instant, in the zone of this machine.
            stored = nw.lit(stored.isoformat(sep=" ")).cast(nw.Datetime("us"))
        return None if stored is None else _SIGNS[condition.sign](column, stored)
    if holds == "numbers":
        # In 64 bits, and no NaN, which engines hold to be larger than any number.
        column, value = column.cast(nw.Float64), float(value)
        return _SIGNS[condition.sign](column, value) & ~column.is_nan()
    if holds == "text" and dtype != nw.String:
        column = column.cast(nw.String)
    return _SIGNS[condition.sign](column, value)


def _holds(dtype: Any) -> str:
    import narwhals as nw

    if dtype.is_integer():
        return "whole numbers"
    if dtype.is_numeric():
        return "numbers"
    kinds = {nw.String: "text", nw.Categorical: "text", nw.Enum: "text", nw.Boolean: "truth values", nw.Date: "days"}
    return next((kind for of, kind in kinds.items() if dtype == of), "moments" if dtype == nw.Datetime else str(dtype))


def _as_stored(value: date, dtype: Any, zone: str | None) -> date | None:
    """A day or a moment in the type of its column; None where engines would round one of them."""
    import narwhals as nw

    midnight = not isinstance(value, datetime) or (value.tzinfo is None and value.time() == datetime.min.time())
    if dtype == nw.Date:
        return date(value.year, value.month, value.day) if midnight else None
    if dtype != nw.Datetime or dtype.time_unit != "us":
        return None
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    if zone is None:
        return moment
    return moment.replace(tzinfo=ZoneInfo("UTC")).astimezone(ZoneInfo(zone))


class Extremes(NamedTuple):
    """What the statistics of a column tell of some rows; ``low`` and ``high`` bound those that are not null."""

    low: Any
    high: Any
    nulls: int | None
    rows: int


def may_meet(condition: Condition, extremes: Callable[[str], Extremes | None], folders: Mapping[str, str | None]) -> bool:
    """Whether some of the rows may meet a condition, by what is known of their columns; True where nothing is.

    ``folders`` has the columns that are the same in all rows, since the names of folders hold them.
    """
    if isinstance(condition, Joined):
        each = (may_meet(part, extremes, folders) for part in condition.parts)
        return all(each) if condition.all_of else any(each)
    name = condition.column
    if name in folders:
        return bool(
            met(
                TableBatch(pa.table({name: pa.array([folders[name]], pa.string())}), 0, as_text=frozenset({name})),
                condition,
            )[0]
        )
    known = extremes(name)
    if known is None:
        return True
    if isinstance(condition, Missing):
        return known.nulls is None or (known.nulls > 0 if condition.wanted else known.nulls < known.rows)
    return known.low is None or _may_hold(condition, known)


def _may_hold(leaf: Comparison, known: Extremes) -> bool:
    low, high, value = known.low, known.high, leaf.value
    if isinstance(value, date):
        if not isinstance(low, date) or not isinstance(high, date):
            return True
        # A microsecond more: what is finer was cut off.
        low, high, value = ticks_of(low), ticks_of(high) + 1, ticks_of(value)
    elif kind_of(low) != kind_of(value) or isinstance(value, bool):
        return True
    # Written so that an extreme that is NaN leaves rows out by no comparison.
    outside = {"=": value < low or value > high, "!=": False, "<": low >= value, "<=": low > value}
    return not {**outside, ">": high <= value, ">=": high < value}[leaf.sign]


def extremes_of(row_group: Any, place: int, kind: pa.DataType) -> Extremes | None:
    """Of a column of a row group of Parquet, where its statistics are there to be trusted."""
    statistics = row_group.column(place).statistics
    if statistics is None:
        return None
    holds = holds_of(kind)
    nulls = statistics.null_count if statistics.has_null_count and holds != "numbers" else None
    try:
        plain = holds in ("whole numbers", "numbers", "text", "days", "moments") and not pa.types.is_decimal(kind)
        low, high = (statistics.min, statistics.max) if plain and statistics.has_min_max else (None, None)
    except ValueError:  # a moment that Python cannot tell
        low = high = None
    return Extremes(low, high, nulls, row_group.num_rows)
