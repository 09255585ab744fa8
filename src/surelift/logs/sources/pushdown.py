"""The condition of ``where=`` where the rows are: as a filter of another engine, and by the statistics of Parquet files."""

import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime
from functools import reduce
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa

from surelift.logs.batch import TableBatch
from surelift.logs.chosen import holds_of, kind_of, met, require_comparable, ticks_of
from surelift.logs.where import Condition, Joined, Missing

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def filtered(frame: Any, condition: Condition) -> Any | None:
    """A query of DuckDB, polars, Spark or Ibis with the rows that meet a condition; None where it would not be the same."""
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
        return reduce(operator.and_ if condition.all_of else operator.or_, parts)
    dtype, column = schema[condition.column], nw.col(condition.column)
    if isinstance(condition, Missing):
        # What is not a number counts as null, as everywhere.
        absent = column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()
        return absent if condition.wanted else ~absent
    zone = getattr(dtype, "time_zone", None)
    holds, value = _holds(dtype), condition.value
    require_comparable(condition.column, holds, zone is not None, condition)
    if isinstance(value, date):
        # In the type of its column; there is no filter where engines would round one of them.
        midnight = not isinstance(value, datetime) or (value.tzinfo is None and value.time() == datetime.min.time())
        stored: Any = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        if dtype == nw.Date and midnight:
            stored = stored.date()
        elif dtype != nw.Datetime or dtype.time_unit != "us":
            return None
        elif zone is not None:
            stored = stored.replace(tzinfo=ZoneInfo("UTC")).astimezone(ZoneInfo(zone))
        elif in_spark:
            # Spark would take it for an instant, in the zone of this machine.
            stored = nw.lit(stored.isoformat(sep=" ")).cast(nw.Datetime("us"))
        return _SIGNS[condition.sign](column, stored)
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


class Extremes(NamedTuple):
    """The statistics of a column of some rows; ``low`` and ``high`` bound those that are not null."""

    low: Any
    high: Any
    nulls: int | None
    rows: int


def may_meet(condition: Condition, extremes: Callable[[str], Extremes | None], folders: Mapping[str, str | None]) -> bool:
    """Some of the rows may meet a condition, by what is known of their columns; those of ``folders`` are the same in all."""
    if isinstance(condition, Joined):
        each = (may_meet(part, extremes, folders) for part in condition.parts)
        return all(each) if condition.all_of else any(each)
    name = condition.column
    if name in folders:
        row = pa.table({name: pa.array([folders[name]], pa.string())})
        return bool(met(TableBatch(row, 0, as_text=frozenset({name})), condition)[0])
    known = extremes(name)
    if known is None:
        return True
    if isinstance(condition, Missing):
        return known.nulls is None or (known.nulls > 0 if condition.wanted else known.nulls < known.rows)
    low, high, value = known.low, known.high, condition.value
    if low is None:
        return True
    if isinstance(value, date):
        if not isinstance(low, date) or not isinstance(high, date):
            return True
        # A microsecond more: what is finer was cut off.
        low, high, value = ticks_of(low), ticks_of(high) + 1, ticks_of(value)
    elif kind_of(low) != kind_of(value) or isinstance(value, bool):
        return True
    # Written so that an extreme that is NaN leaves rows out by no comparison.
    outside = {"=": value < low or value > high, "!=": False, "<": low >= value, "<=": low > value}
    return not {**outside, ">": high <= value, ">=": high < value}[condition.sign]


def extremes_of(row_group: Any, place: int, kind: pa.DataType) -> Extremes | None:
    """The extremes of a column of a row group of Parquet, where its statistics can be trusted."""
    statistics = row_group.column(place).statistics
    if statistics is None:
        return None
    holds = holds_of(kind)
    nulls = statistics.null_count if statistics.has_null_count and holds != "numbers" else None
    try:
        plain = holds in ("whole numbers", "numbers", "text", "days", "moments") and not pa.types.is_decimal(kind)
        low, high = (statistics.min, statistics.max) if plain and statistics.has_min_max else (None, None)
    except ValueError:  # a moment that Python cannot hold
        low = high = None
    return Extremes(low, high, nulls, row_group.num_rows)
