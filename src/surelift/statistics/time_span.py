"""The first and the last time of a log."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from surelift.batch import Batch
from surelift.errors import LogsError
from surelift.logs.columns import as_array
from surelift.logs.order import ordered_times
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic

Time = float | str
"""A number, a moment as ``_plain`` writes it, or any other text whose order is that of time."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")


@dataclass(frozen=True, slots=True)
class Span:
    earliest: Time
    latest: Time

    def __add__(self, other: "Span") -> "Span":
        earliest = self.earliest if is_later(other.earliest, self.earliest) else other.earliest
        return Span(earliest, other.latest if is_later(other.latest, self.latest) else self.latest)


def is_later(first: Time, second: Time) -> bool:
    kinds = {"number" if not isinstance(x, str) else "moment" if _MOMENT.fullmatch(x) else "text" for x in (first, second)}
    if len(kinds) > 1:
        raise LogsError(f"times are written in two ways, such as {first!r} and {second!r}, and have no order; use one.")
    return first > second  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class TimeSpan(Statistic):
    label: ClassVar[str] = "the first and the last time"
    time: str
    state: ClassVar[type] = Span

    def of(self, batch: Batch, groups: Groups) -> Sequence[Span]:
        times = ordered_times(batch.rows, self.time)
        # Texts are moments where all are written by ISO 8601, so that other formats of the same log have the same.
        for zone in (None, "UTC") if times.dtype.kind == "U" else ():
            with suppress(pa.ArrowInvalid):
                moments = pa.array(times).cast(pa.timestamp("us", zone)).cast(pa.int64())
                times = as_array(moments).view("datetime64[us]")
                break
        ends: Any = (min, max) if times.dtype.kind in "UO" else (np.min, np.max)
        return [Span(*(_plain(end(part)) for end in ends)) for part in groups.split(times)]


def _plain(time: Any) -> Time:
    if isinstance(time, np.datetime64):
        # To the microsecond, whatever the unit of the file: texts of one length, ordered as times are.
        return str(np.datetime_as_string(time.astype("datetime64[us]")))
    return float(time) if isinstance(time, np.number) else str(time)
