"""Delayed rewards: a round is judged once it is old enough for its reward to be final, and younger ones are left out.

Whether a round is old enough follows from its time, which is known before its action, so those that are make a log of their
own. The newest time of a log, the default of ``as_of``, only says how far in the order of time it is looked at.
"""

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, BoolArray, IntArray, pc
from surelift.errors import LogsError, UsageError, is_number, printed
from surelift.logs.batch import TableBatch
from surelift.logs.chosen import keeping
from surelift.logs.columns import as_array, decode, is_missing, is_text, to_numbers

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_EPOCH = datetime(1970, 1, 1)
_PER_MICROSECOND = {"s": 1_000_000, "ms": 1_000, "us": 1}
_LAST_OF_DAY = 86_400_000_000 - 1
AS_OF_NEEDED = (
    "as_of= is needed, the time at which rewards were joined: only where times are moments, settled_after= has a unit (such "
    "as '7d') and the whole log is at hand can it be read off the log."
)


def duration(name: str, length: Any) -> str | float:
    """A duration as "7d" or "12h" where times are moments, as a number where they are numbers.

    >>> duration("settled_after", timedelta(days=7)), duration("settled_after", timedelta(milliseconds=1500))
    ('7d', '1.500000s')
    """
    if isinstance(length, np.timedelta64):
        length = length.astype("timedelta64[us]").item()
    if isinstance(length, timedelta):
        days, rest = divmod(length, timedelta(days=1))
        length = f"{days}d" if days > 0 and not rest else f"{length.total_seconds():.6f}s"
    matched = _DURATION.fullmatch(length) if isinstance(length, str) else None
    number: Any = matched[1] if matched else length
    number = float(number) if isinstance(number, str) and _NUMBER.fullmatch(number) else number
    if not (is_number(number) and 0.0 < number < 1e12):
        wanted = "a positive duration such as '7d', '12h', '30m' or '45s', or a number in the units of the time column"
        raise UsageError(f"{name} must be {wanted}, but is {printed(length)}.")
    return length if matched else float(number)


def moment(as_of: Any, settled_after: str | float) -> str | float:
    """A number, or a moment as ISO 8601 writes it, in UTC where it names a zone."""
    if isinstance(settled_after, float):
        wanted = "a number, as settled_after is"
        number = float(as_of) if isinstance(as_of, str) and _NUMBER.fullmatch(as_of) else as_of
        if is_number(number) and abs(number) < math.inf:
            return float(number)
    else:
        wanted = "a moment such as 2026-03-09 or 2026-03-09T17:00"
        with suppress(ValueError):
            parsed = datetime.fromisoformat(str(as_of))
            return (parsed if parsed.tzinfo is None else parsed.astimezone(UTC)).isoformat()
    raise UsageError(f"as_of must be {wanted}, but is {printed(as_of)}.")


def keeping_settled(
    batches: Iterator[TableBatch], time: str, after: str | float, as_of: str | float | None
) -> Iterator[TableBatch]:
    """The rounds that are old enough; one without a time counts as such, and is refused for it."""
    if as_of is None:
        raise UsageError(AS_OF_NEEDED)

    def keep(batch: TableBatch) -> BoolArray:
        if not batch.table.num_rows:
            return np.ones(0, dtype=np.bool_)
        if isinstance(after, float):
            numbers = to_numbers(batch.table[time])
            if numbers.not_numeric.any():
                raise UsageError(f"settled_after is a number, but time {time!r} holds moments; say '7d'.")
            return np.asarray(~(numbers.values > float(as_of) - after))
        moments, looked = microseconds(batch, time), datetime.fromisoformat(str(as_of))
        if not moments.zoned and looked.tzinfo is not None:
            raise UsageError(f"as_of {as_of} names a zone, but the times in {time!r} do not: give it in theirs.")
        needed = timedelta(seconds=float(after[:-1]) * _UNITS[after[-1]])
        last = (looked.replace(tzinfo=None) - needed - _EPOCH) // timedelta(microseconds=1)
        # Of a day without a time its last moment: a round is as young as its time allows.
        return np.asarray((moments.values + moments.is_day * _LAST_OF_DAY <= last) | moments.missing)

    return keeping(batches, keep, "left_out")


class Moments(NamedTuple):
    """Times in microseconds since 1970, in UTC where they name a zone."""

    values: IntArray
    missing: BoolArray
    is_day: BoolArray
    zoned: bool


def microseconds(batch: TableBatch, name: str) -> Moments:
    """The moments in a column, never rounded down."""
    column = decode(batch.table[name])
    missing, is_day = is_missing(column), np.full(len(column), pa.types.is_date(column.type))
    if is_text(column):
        is_day = as_array(pc.less_equal(pc.utf8_length(pc.utf8_trim_whitespace(column)), 10).fill_null(False))
        column = _parsed(column, missing, name)
    elif pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    if not pa.types.is_timestamp(column.type):
        raise UsageError(f"settled_after is a duration, but time {name!r} holds {column.type}; give a number and as_of=.")
    ticks = as_array(column.cast(pa.int64()).fill_null(0))
    per = _PER_MICROSECOND.get(column.type.unit)
    return Moments(-(-ticks // 1_000) if per is None else ticks * per, missing, is_day, column.type.tz is not None)


def _parsed(column: ArrowColumn, missing: BoolArray, name: str) -> ArrowColumn:
    present = pc.if_else(pa.array(missing), pa.scalar(None, column.type), column)
    for zone in (None, "UTC"):
        try:
            return present.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid as error:
            problem = error
    raise UsageError(f"time {name!r} holds text that is no moment by ISO 8601 ({problem}); settled_after= needs moments.")


def newest(batches: Iterator[TableBatch], name: str) -> int | None:
    """The latest microsecond since 1970; None where there is no round."""
    latest = None
    for batch in batches:
        moments = microseconds(batch, name)
        if not moments.missing.all():
            of_batch = int(moments.values[~moments.missing].max())
            latest = of_batch if latest is None else max(latest, of_batch)
    return latest


def as_moment(latest: int | None) -> str:
    if latest is None:
        raise LogsError("these logs have no round with a time: there is none to judge. Check the path or the filter.")
    return (_EPOCH + timedelta(microseconds=latest)).isoformat()


def length_text(value: str | float | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
