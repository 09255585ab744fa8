"""What was written down: the decimals of propensities, and the ends of continuous actions.

A density has no smallest or largest action twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.batch import Batch
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic

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
