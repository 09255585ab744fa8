"""Delayed rewards: a round is judged once it is old enough for its reward to be final, and younger ones are left out.

Whether a round is old enough follows from its time, which is known before its action, so those that are make a log of their
own. The newest time of a log, the default of ``as_of``, only says how far in the order of time it is looked at.
"""

import re
from collections.abc import Iterator
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


def duration(settled_after: Any) -> str | float | None:
    """As "7d" or "12h" where times are moments, as a number where they are numbers."""
    if isinstance(settled_after, np.timedelta64):
        settled_after = settled_after.astype("timedelta64[us]").item()
    if isinstance(settled_after, timedelta):
        settled_after = _written(settled_after)
    if isinstance(settled_after, str) and _NUMBER.fullmatch(settled_after):
        settled_after = float(settled_after)
    matched = _DURATION.fullmatch(settled_after) if isinstance(settled_after, str) else None
    length = float(matched[1]) if matched else settled_after
    if settled_after is not None and not (is_number(length) and 0.0 < length < 1e12):
        raise UsageError(
            "settled_after must be a positive duration such as '7d', '12h', '30m' or '45s', or a number in the units of the "
            f"time column, but is {printed(settled_after)}."
        )
    return settled_after if matched or settled_after is None else float(settled_after)


def _written(length: timedelta) -> str:
    """
    >>> _written(timedelta(days=7)), _written(timedelta(milliseconds=1500))
    ('7d', '1.500000s')
    """
    days, rest = divmod(length, timedelta(days=1))
    return f"{days}d" if days > 0 and not rest else f"{length.total_seconds():.6f}s"


def moment(as_of: Any, settled_after: str | float | None) -> str | float:
    """A number, or a moment as ISO 8601 writes it, in UTC where it names a zone."""
    if settled_after is None:
        raise UsageError("as_of= says how old rounds are, for settled_after=; give both.")
    if isinstance(settled_after, float):
        number = float(as_of) if isinstance(as_of, str) and _NUMBER.fullmatch(as_of) else as_of
        if not (is_number(number) and abs(number) < float("inf")):
            raise UsageError(f"as_of must be a number, as settled_after is, but is {printed(as_of)}.")
        return float(number)
    try:
        parsed = datetime.fromisoformat(str(as_of))
    except ValueError as error:
        raise UsageError(f"as_of must be a moment such as 2026-03-09 or 2026-03-09T17:00, not {printed(as_of)}.") from error
    return (parsed if parsed.tzinfo is None else parsed.astimezone(UTC)).isoformat()


def keeping_settled(
    batches: Iterator[TableBatch], time: str, after: str | float, as_of: str | float | None
) -> Iterator[TableBatch]:
    """The rounds that are old enough."""

    def keep(batch: TableBatch) -> BoolArray:
        return is_old_enough(batch, time, after, as_of) if batch.table.num_rows else np.ones(0, dtype=np.bool_)

    return keeping(batches, keep, "left_out")


def is_old_enough(batch: TableBatch, time: str, after: str | float, as_of: str | float | None) -> BoolArray:
    """A round without a time counts as old enough, and is refused for it."""
    if as_of is None:
        raise UsageError(AS_OF_NEEDED)
    if isinstance(after, float):
        numbers = to_numbers(batch.table[time])
        if numbers.not_numeric.any():
            raise UsageError(f"settled_after is a number, but time {time!r} holds moments; say '7d'.")
        return np.asarray(~(numbers.values > float(as_of) - after))
    moments = latest_possible(batch, time)
    if not moments.zoned and datetime.fromisoformat(str(as_of)).tzinfo is not None:
        raise UsageError(
            f"as_of {as_of} names a zone, but the times in {time!r} do not: give as_of= in theirs, without one."
        )
    return np.asarray((moments.values <= _cutoff(after, str(as_of))) | moments.missing)


def _cutoff(after: str, as_of: str) -> int:
    """The latest microsecond, since 1970, at which a round is old enough."""
    matched = _DURATION.fullmatch(after)
    assert matched is not None
    needed = timedelta(seconds=float(matched[1]) * _UNITS[matched[2]])
    return (datetime.fromisoformat(as_of).replace(tzinfo=None) - needed - _EPOCH) // timedelta(microseconds=1)


class Moments(NamedTuple):
    """In microseconds since 1970, in UTC where they name a zone."""

    values: IntArray
    missing: BoolArray
    zoned: bool


def microseconds(batch: TableBatch, name: str) -> Moments:
    """Never rounded down."""
    column = decode(batch.table[name])
    missing = is_missing(column)
    if is_text(column):
        column = _parsed(column, missing, name)
    elif pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    if not pa.types.is_timestamp(column.type):
        raise UsageError(f"settled_after is a duration, but time {name!r} holds {column.type}; give a number and as_of=.")
    ticks = as_array(column.cast(pa.int64()).fill_null(0))
    per = _PER_MICROSECOND.get(column.type.unit)
    return Moments(-(-ticks // 1_000) if per is None else ticks * per, missing, zoned=column.type.tz is not None)


def _parsed(column: ArrowColumn, missing: BoolArray, name: str) -> ArrowColumn:
    present = pc.if_else(pa.array(missing), pa.scalar(None, column.type), column)
    for zone in (None, "UTC"):
        try:
            return present.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid as error:
            problem = error
    raise UsageError(f"time {name!r} holds text that is no moment by ISO 8601 ({problem}); settled_after= needs moments.")


def latest_possible(batch: TableBatch, name: str) -> Moments:
    """As ``microseconds``, but of a day without a time its last one: a round is as young as its time allows."""
    moments, column = microseconds(batch, name), decode(batch.table[name])
    is_day = np.full(len(column), pa.types.is_date(column.type))
    if is_text(column):
        is_day = as_array(pc.less_equal(pc.utf8_length(pc.utf8_trim_whitespace(column)), 10).fill_null(False))
    return moments._replace(values=np.where(is_day, moments.values + _LAST_OF_DAY, moments.values))


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


def younger_words(after: Any, as_of: Any, left_out: int, judged: int) -> str:
    of = f"{left_out:,} of {left_out + judged:,} rounds"
    return f"{of} were younger than {_words(after)} at {_words(as_of)}, and were left out."


def settled_assumption(after: str | float, as_of: str | float | None) -> str:
    if as_of is None:
        return f"a round was counted {_words(after)} after its decision, or later, whatever its reward: by then it is final"
    until = f"{_words(after)} before {_words(as_of)}"
    return f"only rounds up to {until} are judged, whatever their rewards: by then they are final"


def _words(value: str | float | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
