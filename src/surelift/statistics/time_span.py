"""When the first and the last decision were made."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.batch import Batch
from surelift.errors import LogsError
from surelift.logs.columns import as_array
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
        later = is_later(other.latest, self.latest)
        return Span(
            self.earliest if is_later(other.earliest, self.earliest) else other.earliest,
            other.latest if later else self.latest,
        )


def is_later(first: Time, second: Time) -> bool:
    if _kind(first) != _kind(second):
        raise LogsError(f"times are written in two ways, such as {first!r} and {second!r}, and have no order; use one.")
    return first > second  # type: ignore[operator]


def _kind(time: Time) -> str:
    return "number" if not isinstance(time, str) else "moment" if _MOMENT.fullmatch(time) else "text"


@dataclass(frozen=True, slots=True)
class TimeSpan(Statistic):
    label: ClassVar[str] = "the first and the last time"
    time: str
    state: ClassVar[type] = Span

    def of(self, batch: Batch, groups: Groups) -> Sequence[Span]:
        parts = groups.split(_moments(batch.rows.ordered_times(self.time)))
        return [Span(*map(_plain, _ends(part))) for part in parts]


def _moments(times: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Texts as moments where all are written by ISO 8601, so that other formats of the same log have the same."""
    for zone in (None, "UTC") if times.dtype.kind == "U" else ():
        with suppress(pa.ArrowInvalid):
            return as_array(pa.array(times).cast(pa.timestamp("us", zone)).cast(pa.int64())).view("datetime64[us]")
    return times


def _ends(times: npt.NDArray[Any]) -> tuple[Any, Any]:
    return (min(times), max(times)) if times.dtype.kind in "UO" else (times.min(), times.max())


def _plain(time: Any) -> Time:
    if isinstance(time, np.datetime64):
        # To the microsecond, whatever the unit of the file: texts of one length, ordered as times are.
        return str(np.datetime_as_string(time.astype("datetime64[us]")))
    return float(time) if isinstance(time, np.number) else str(time)
