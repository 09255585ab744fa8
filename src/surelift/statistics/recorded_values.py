"""What was written down: the decimals of propensities, the ends of continuous actions, the first and the last time.

A density has no smallest or largest action twice.
"""

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
from surelift.statistics.statistic import Groups, Statistic

DECIMALS = (1, 2, 3, 4)
MOST_DISTINCT = 1000
# Unrounded propensities show themselves among the first.
SOME = 100


@dataclass(frozen=True, slots=True)
class RoundedDigits:
    candidates: tuple[int, ...] = DECIMALS
    """The numbers of decimals that every propensity so far fits."""
    distinct: frozenset[float] = frozenset()

    def __add__(self, other: "RoundedDigits") -> "RoundedDigits":
        distinct = sorted(self.distinct | other.distinct)[:MOST_DISTINCT]
        return RoundedDigits(tuple(d for d in self.candidates if d in other.candidates), frozenset(distinct))

    @property
    def decimals(self) -> int | None:
        return min(self.candidates, default=None)


@dataclass(frozen=True, slots=True)
class Digits(Statistic):
    label: ClassVar[str] = "the digits of the propensities"
    state: ClassVar[type] = RoundedDigits

    def of(self, batch: Batch, groups: Groups) -> Sequence[RoundedDigits]:
        states = []
        for part in groups.split(batch.propensity):
            fits = tuple(d for d in DECIMALS if _rounded(part[:SOME], d) and (len(part) <= SOME or _rounded(part, d)))
            # Unrounded propensities are almost all distinct, and then their values say nothing.
            distinct = np.unique(part)[:MOST_DISTINCT].tolist() if fits else ()
            states.append(RoundedDigits(fits, frozenset(distinct)))
        return states


def _rounded(propensity: Any, digits: int) -> bool:
    scaled = propensity * 10.0**digits
    return bool((np.abs(scaled - np.round(scaled)) <= 1e-6).all())


@dataclass(frozen=True, slots=True)
class EndCounts:
    least: float
    at_least: int
    most: float
    at_most: int

    def __add__(self, other: "EndCounts") -> "EndCounts":
        least, most = min(self.least, other.least), max(self.most, other.most)
        both = (self, other)
        return EndCounts(
            least, sum(part.at_least for part in both if part.least == least),
            most, sum(part.at_most for part in both if part.most == most),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ends(Statistic):
    label: ClassVar[str] = "the smallest and the largest action"
    state: ClassVar[type] = EndCounts

    def of(self, batch: Batch, groups: Groups) -> Sequence[EndCounts]:
        states = []
        for part in groups.split(batch.decisions.continuous):
            least, most = part.min(), part.max()
            states.append(EndCounts(float(least), int((part == least).sum()), float(most), int((part == most).sum())))
        return states


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
