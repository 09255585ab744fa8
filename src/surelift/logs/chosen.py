"""The rows of a batch that meet the condition of ``where=``, the same whatever the source."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, BoolArray, pc
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import TableBatch
from surelift.logs.columns import as_array, decode, is_absent, is_missing, is_text, to_numbers
from surelift.logs.where import Comparison, Condition, Joined, Literal, Missing

_EPOCH = datetime(1970, 1, 1)
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_REMEDIES = {
    ("text", "a number"): "write it in quotes, '{}', to compare it as text",
    ("text", "a truth value"): "write it in quotes, '{}'",
    ("moments", "text"): "write a date without quotes, as 2026-01-31",
    ("days", "text"): "write a date without quotes, as 2026-01-31",
    ("truth values", "a number"): "say true or false",
    ("truth values", "text"): "say true or false, without quotes",
    ("numbers", "text"): "write numbers without quotes",
    ("whole numbers", "text"): "write numbers without quotes",
}
_FITTING = {
    "a number": ("numbers", "whole numbers"), "text": ("text",), "a truth value": ("truth values",),
    "a date": ("days", "moments", "text"),
}  # fmt: skip


class Compared(NamedTuple):
    """Each row against a literal; ``known`` is False where the row is null."""

    less: BoolArray
    same: BoolArray
    known: BoolArray


def kind_of(value: Literal) -> str:
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    return "text" if isinstance(value, str) else "a date"


def require_comparable(column: str, holds: str, zoned: bool, leaf: Comparison) -> None:
    """Refuse what could never be met, or is not the same everywhere; ``holds`` is the kind of the column's values."""
    kind, value = kind_of(leaf.value), leaf.value
    problem, remedy = f"column {column!r} holds {holds}, but is compared with {kind}", ""
    if holds not in _FITTING[kind]:
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
    else:
        return
    raise UsageError(f"where=: {problem}{remedy and f'; {remedy}'}.")


def ticks_of(value: Literal) -> int:
    """A day or a moment, in microseconds since 1970, in UTC where it names a zone."""
    assert isinstance(value, date)
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return (moment.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)


def met(batch: TableBatch, condition: Condition) -> BoolArray:
    """Which rows meet a condition: not those for which it is unknown."""
    if isinstance(condition, Joined):
        parts, join = (
            [met(batch, part) for part in condition.parts],
            np.logical_and if condition.all_of else np.logical_or,
        )
        return np.asarray(join.reduce(parts))
    column = decode(batch.table[condition.column])
    if isinstance(condition, Missing):
        absent = _is_absent(batch, column, condition) if condition.column in batch.as_text else _is_null(column)
        return absent if condition.wanted else ~absent
    found = _compared(batch, column, condition)
    holds = {
        "=": found.same, "!=": ~found.same, "<": found.less, "<=": found.less | found.same, ">=": ~found.less,
        ">": ~(found.less | found.same),
    }[condition.sign]  # fmt: skip
    return holds & found.known


def _is_null(column: ArrowColumn) -> BoolArray:
    return as_array(column.is_null()) if is_text(column) else is_missing(column)


def _is_absent(batch: TableBatch, column: ArrowColumn, leaf: Missing) -> BoolArray:
    """Of a format without types, where NA is missing among numbers, and may be a label among texts: that is refused."""
    absent = is_absent(column)
    if is_text(column) and (rows := np.flatnonzero(to_numbers(column).null & ~absent)).size:
        row, word = batch.start + int(rows[0]), column[int(rows[0])].as_py()
        raise LogsError(
            f"where=: {rows.size:,} cells of column {leaf.column!r} from row {batch.start:,} on, the first in row {row:,}, "
            f"counting from 0, hold {word!r}, which is missing among numbers and may be a label among texts.\nCompare the "
            f"column with a number, or with '{word}', or save the log as Parquet; nothing was computed."
        )
    return absent


def _compared(batch: TableBatch, column: ArrowColumn, leaf: Comparison) -> Compared:
    name, value, as_text = leaf.column, leaf.value, leaf.column in batch.as_text
    if pa.types.is_null(column.type):
        never = np.zeros(len(column), dtype=np.bool_)
        return Compared(never, never, never)
    if as_text and is_text(column):
        return _compared_text(batch, column, leaf)
    zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
    require_comparable(name, holds_of(column.type), zoned, leaf)
    known = ~_is_null(column)
    if isinstance(value, str):
        return Compared(~known, as_array(pc.equal(column, value).fill_null(False)), known)
    if isinstance(value, date):
        return _compared_moments(batch, column, leaf, known)
    if isinstance(value, bool):
        same = as_array(column.fill_null(False)) == value
        return Compared(~known, same, known)
    if pa.types.is_integer(column.type):
        # Whole numbers exactly; a fraction is small enough that rounding a large number does not change its order.
        numbers: Any = as_array(column.fill_null(0))
    else:
        numbers, value = to_numbers(column, text=False).values, float(value)
    with np.errstate(invalid="ignore"):
        return Compared(numbers < value, numbers == value, known)


def holds_of(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_integer(kind):
        return "whole numbers"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_boolean(kind):
        return "truth values"
    return "days" if types.is_date(kind) else "moments" if types.is_timestamp(kind) else str(kind)


def _compared_text(batch: TableBatch, column: ArrowColumn, leaf: Comparison) -> Compared:
    """Of a format without types, as CSV: a cell is what it is compared with, or is refused; an empty one is null."""
    value = leaf.value
    if isinstance(value, str):
        require_comparable(leaf.column, "text", False, leaf)
        known = ~is_absent(column)
        return Compared(~known, as_array(pc.equal(column, value).fill_null(False)), known)
    if isinstance(value, date):
        return _compared_moments(batch, column, leaf, ~is_absent(column))
    require_comparable(leaf.column, "truth values" if isinstance(value, bool) else "numbers", False, leaf)
    numbers = to_numbers(column, words=isinstance(value, bool))
    bad, value = numbers.not_numeric, float(value)
    if isinstance(leaf.value, bool):
        bad = bad | ~(numbers.null | bad | np.isin(numbers.values, (0.0, 1.0)))
    _refuse_cells(batch, column, leaf, bad)
    known = ~(numbers.null | np.isnan(numbers.values))
    with np.errstate(invalid="ignore"):
        return Compared(numbers.values < value, numbers.values == value, known)


def _compared_moments(batch: TableBatch, column: ArrowColumn, leaf: Comparison, known: BoolArray) -> Compared:
    if is_text(column):
        column = _parsed_moments(batch, pc.if_else(pa.array(known), column, pa.scalar(None, column.type)), leaf)
        require_comparable(leaf.column, "moments", column.type.tz is not None, leaf)
    elif pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    ticks, wanted = as_array(column.cast(pa.int64()).fill_null(0)), ticks_of(leaf.value)
    if column.type.unit == "ns":
        moments, later = ticks // 1_000, ticks % 1_000 > 0
        return Compared(moments < wanted, (moments == wanted) & ~later, known)
    moments = ticks * _MICROSECONDS[column.type.unit]
    return Compared(moments < wanted, moments == wanted, known)


def _parsed_moments(batch: TableBatch, column: ArrowColumn, leaf: Comparison) -> ArrowColumn:
    for zone in (None, "UTC"):
        try:
            return column.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            pass
    zones = {zone for zone in (None, "UTC") if any(_is_moment(text, zone) for text in column.drop_null())}
    zone = None if None in zones else "UTC"
    bad = np.array([text.is_valid and not _is_moment(text, zone) for text in column])
    _refuse_cells(batch, column, leaf, bad)
    raise AssertionError("one of the cells is no moment")


def _is_moment(text: Any, zone: str | None) -> bool:
    try:
        text.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:
        return False
    return True


def _refuse_cells(batch: TableBatch, column: ArrowColumn, leaf: Comparison, bad: BoolArray) -> None:
    rows = np.flatnonzero(bad)
    if rows.size:
        row = batch.start + int(rows[0])
        place = f" ({batch.place}, row {row - batch.place_start})" if batch.place else ""
        raise LogsError(
            f"where=: {rows.size:,} of the {len(column):,} cells of column {leaf.column!r} from row {batch.start:,} on are "
            f"compared with {kind_of(leaf.value)}, but are none; the first is {column[int(rows[0])].as_py()!r} in row "
            f"{row:,}{place}, counting from 0.\nTo compare them as text, write the literal in quotes; nothing was computed."
        )


def keeping(batches: Iterable[TableBatch], keep: Callable[[TableBatch], BoolArray], counter: str) -> Iterator[TableBatch]:
    """The rows to keep; each batch counts those that were left out since the one before, the last also those behind it.

    Where none is kept there is one batch without rows.
    """
    held: TableBatch | None = None
    for batch in batches:
        kept = _only(batch, keep(batch), counter)
        if held is not None and held.table.num_rows and kept.table.num_rows:
            yield held
            held = None
        if held is not None:
            fuller = kept if kept.table.num_rows else held
            counts = {name: getattr(held, name) + getattr(kept, name) for name in ("left_out", "excluded")}
            kept = replace(fuller, **counts)
        held = kept
    if held is not None:
        yield held


def _only(batch: TableBatch, mask: BoolArray, counter: str) -> TableBatch:
    if mask.all():
        return batch
    numbers = batch.start + np.arange(len(mask)) if batch.rows is None else batch.rows
    counts = {counter: getattr(batch, counter) + int(np.count_nonzero(~mask))}
    kept = replace(batch, table=batch.table.filter(pa.array(mask)), rows=numbers[mask], **counts)
    if batch.cluster_starts is None:
        return kept
    whole = mask[batch.cluster_starts[:-1]]
    sizes = np.diff(batch.cluster_starts)[whole]
    again = None if batch.again is None or not batch.again[mask].any() else batch.again[mask]
    return replace(kept, cluster_starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), again=again)


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
                    f"row {batch.start + row:,}, counting from 0, differs. A cluster counts as one, and is chosen by what "
                    "was known before its first action: use columns that are the same in all its rounds."
                )
        # What is left out of a cluster that had ended would not be missed: such rounds are kept, and refused.
        return mask if batch.again is None else mask | batch.again

    return keeping(batches, keep, "excluded")
