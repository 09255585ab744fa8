"""The rows of a batch that meet the condition of ``where=``, the same whatever the source."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, BoolArray, pc
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import TableBatch
from surelift.logs.columns import as_array, decode, is_missing, is_null, is_text, to_numbers
from surelift.logs.where import Comparison, Condition, Joined, Literal, Missing

_EPOCH = datetime(1970, 1, 1)
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_REMEDIES = {
    ("text", "a number"): "write it in quotes, '{}', to compare it as text",
    ("text", "a truth value"): "write it in quotes, '{}'",
    ("truth values", "a number"): "say true or false",
    ("truth values", "text"): "say true or false, without quotes",
    **dict.fromkeys((("moments", "text"), ("days", "text")), "write a date without quotes, as 2026-01-31"),
    **dict.fromkeys((("numbers", "text"), ("whole numbers", "text")), "write numbers without quotes"),
}
_FITTING = {
    "a number": ("numbers", "whole numbers"), "text": ("text",), "a truth value": ("truth values",),
    "a date": ("days", "moments", "text"),
}  # fmt: skip
_HOLDS = {
    "whole numbers": [pa.types.is_integer], "numbers": [pa.types.is_floating, pa.types.is_decimal],
    "text": [pa.types.is_string, pa.types.is_large_string], "truth values": [pa.types.is_boolean],
    "days": [pa.types.is_date], "moments": [pa.types.is_timestamp],
}  # fmt: skip


def kind_of(value: Literal) -> str:
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    return "text" if isinstance(value, str) else "a date"


def holds_of(kind: pa.DataType) -> str:
    return next((name for name, tests in _HOLDS.items() if any(test(kind) for test in tests)), str(kind))


def require_comparable(column: str, holds: str, zoned: bool, leaf: Comparison) -> None:
    """Refuse what could never be met, or is not the same everywhere; ``holds`` is the kind of the column's values."""
    kind, value, problem, remedy = kind_of(leaf.value), leaf.value, "", ""
    if holds not in _FITTING[kind]:
        problem = f"column {column!r} holds {holds}, but is compared with {kind}"
        remedy = _REMEDIES.get((holds, kind), "").format(value)
    elif kind in ("text", "a truth value") and leaf.sign not in ("=", "!="):
        problem = f"column {column!r} is compared with {kind} by {leaf.sign}, whose order differs between databases"
        remedy = "use =, !=, in or not in"
        if kind == "text":
            remedy += "; a date or a number stands without quotes, as 2026-01-31 or 18"
    elif holds == "numbers" and isinstance(value, int) and abs(value) > 2**53:
        problem = f"column {column!r} does not hold whole numbers exactly, but is compared with {value}"
        remedy = "store it as integers"
    elif isinstance(value, datetime) and value.tzinfo is not None and not zoned and holds != "text":
        problem, remedy = f"the times of column {column!r} name no zone, but {value.isoformat()} does", "leave it out"
    if problem:
        raise UsageError(f"where=: {problem}{remedy and f'; {remedy}'}.")


def ticks_of(value: Literal) -> int:
    """A day or a moment, in microseconds since 1970, in UTC where it names a zone."""
    assert isinstance(value, date)
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return (moment.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)


def met(batch: TableBatch, condition: Condition) -> BoolArray:
    """Which rows meet a condition: not those for which it is unknown."""
    if isinstance(condition, Joined):
        join = np.logical_and if condition.all_of else np.logical_or
        return np.asarray(join.reduce([met(batch, part) for part in condition.parts]))
    column = decode(batch.table[condition.column])
    text = is_text(column)
    # A cell of a format without types, as CSV, is what it is compared with, or is refused; an empty one is null.
    untyped = text and condition.column in batch.as_text
    known = ~(is_null(column) if text and not untyped else is_missing(column))
    if isinstance(condition, Missing):
        if untyped:
            _refuse_cells(batch, column, condition, to_numbers(column).null & known)
        return ~known if condition.wanted else known
    if pa.types.is_null(column.type):
        return known
    less, same, known = _compared(batch, column, condition, known, untyped=untyped)
    holds = {"=": same, "!=": ~same, "<": less, "<=": less | same, ">=": ~less, ">": ~(less | same)}[condition.sign]
    return holds & known


def _compared(
    batch: TableBatch, column: ArrowColumn, leaf: Comparison, known: BoolArray, *, untyped: bool
) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Which rows are less than a literal, which are the same, and which are known."""
    value: Any = leaf.value
    kinds = {"a number": "numbers", "a truth value": "truth values"}
    holds = kinds.get(kind_of(value), "text") if untyped else holds_of(column.type)
    require_comparable(leaf.column, holds, pa.types.is_timestamp(column.type) and column.type.tz is not None, leaf)
    if isinstance(value, str):
        return ~known, as_array(pc.equal(column, value).fill_null(False)), known
    if isinstance(value, date):
        if is_text(column):
            column = _moments_in(batch, pc.if_else(pa.array(known), column, pa.scalar(None, column.type)), leaf)
            require_comparable(leaf.column, "moments", column.type.tz is not None, leaf)
        elif pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("ms"))
        ticks, wanted, unit = as_array(column.cast(pa.int64()).fill_null(0)), ticks_of(value), column.type.unit
        moments = ticks // 1_000 if unit == "ns" else ticks * _MICROSECONDS[unit]
        later = (ticks % 1_000 > 0) & (unit == "ns")
        return moments < wanted, (moments == wanted) & ~later, known
    if untyped:
        numbers = to_numbers(column, words=isinstance(value, bool))
        values, missing, bad = numbers.values, numbers.null, numbers.not_numeric
        if isinstance(value, bool):
            bad = bad | ~(missing | bad | np.isin(values, (0.0, 1.0)))
        _refuse_cells(batch, column, leaf, bad)
        known = ~(missing | np.isnan(values))
    elif isinstance(value, bool):
        values = as_array(column.fill_null(False))
    elif pa.types.is_integer(column.type):
        # Whole numbers exactly; a fraction is small enough that rounding a large number does not change its order.
        values = as_array(column.fill_null(0))
    else:
        values, value = to_numbers(column, text=False).values, float(value)
    with np.errstate(invalid="ignore"):
        return values < value, values == value, known


def _moments_in(batch: TableBatch, column: ArrowColumn, leaf: Comparison) -> ArrowColumn:
    def moments(texts: Any, zone: str | None) -> Any | None:
        with suppress(pa.ArrowInvalid):
            return texts.cast(pa.timestamp("us", zone))
        return None

    for zone in (None, "UTC"):
        if (found := moments(column, zone)) is not None:
            return found
    zone = "UTC" if all(moments(text, None) is None for text in column.drop_null()) else None
    _refuse_cells(batch, column, leaf, np.array([text.is_valid and moments(text, zone) is None for text in column]))
    return column.cast(pa.timestamp("us", zone))


def _refuse_cells(batch: TableBatch, column: ArrowColumn, leaf: Comparison | Missing, bad: BoolArray) -> None:
    if isinstance(leaf, Comparison):
        problem = f"are compared with {kind_of(leaf.value)}, but are none"
        remedy = "To compare them as text, write the literal in quotes"
    else:
        problem = "hold a word that is missing among numbers and may be a label among texts"
        remedy = "Compare the column with a number, or with the word in quotes, or save the log as Parquet"
    rows = np.flatnonzero(bad)
    if rows.size:
        row = batch.start + int(rows[0])
        raise LogsError(
            f"where=: {rows.size:,} of the {len(column):,} cells of column {leaf.column!r} from row {batch.start:,} on "
            f"{problem}; the first is {column[int(rows[0])].as_py()!r} in row {row:,}{batch.place_of(row)}, counting from 0."
            f"\n{remedy}; nothing was computed."
        )


def keeping(batches: Iterable[TableBatch], keep: Callable[[TableBatch], BoolArray], counter: str) -> Iterator[TableBatch]:
    """The rows to keep, each batch with the number left out since the one before; where none is kept, one without rows."""
    held: TableBatch | None = None
    for batch in batches:
        mask, kept = keep(batch), batch
        if not mask.all():
            numbers = batch.start + np.arange(len(mask)) if batch.rows is None else batch.rows
            changes: dict[str, Any] = {counter: getattr(batch, counter) + int(np.count_nonzero(~mask))}
            if batch.cluster_starts is not None:
                sizes = np.diff(batch.cluster_starts)[mask[batch.cluster_starts[:-1]]]
                changes["cluster_starts"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
                changes["again"] = None if batch.again is None or not batch.again[mask].any() else batch.again[mask]
            kept = replace(batch, table=batch.table.filter(pa.array(mask)), rows=numbers[mask], **changes)
        if held is not None and held.table.num_rows and kept.table.num_rows:
            yield held
            held = None
        if held is not None:
            fuller = kept if kept.table.num_rows else held
            kept = replace(fuller, left_out=held.left_out + kept.left_out, excluded=held.excluded + kept.excluded)
        held = kept
    if held is not None:
        yield held


def chosen(batches: Iterable[TableBatch], condition: Condition, cluster: str | None) -> Iterator[TableBatch]:
    """The rounds that meet a condition; clusters, which ``batches`` hold whole, meet it whole or not at all."""

    def keep(batch: TableBatch) -> BoolArray:
        mask = met(batch, condition)
        if batch.cluster_starts is not None and len(mask):
            cut = mask != np.repeat(mask[batch.cluster_starts[:-1]], np.diff(batch.cluster_starts))
            if cut.any():
                row, column = int(np.argmax(cut)), batch.table[str(cluster)]
                raise LogsError(
                    f"where= cuts through clusters: of cluster {column[row].as_py()!r} some rounds meet the condition and "
                    f"row {batch.start + row:,}, counting from 0, differs.\nA cluster is chosen whole, by what was known "
                    "before its first action: use columns that are the same in all its rounds."
                )
        # What is left out of a cluster that had ended would not be missed: such rounds are kept, and refused.
        return mask if batch.again is None else mask | batch.again

    return keeping(batches, keep, "excluded")
