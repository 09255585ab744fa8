"""To how many decimals all propensities are rounded, if to few."""

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
    """Values seen, up to a thousand."""

    def __add__(self, other: "RoundedDigits") -> "RoundedDigits":
        distinct = self.distinct | other.distinct
        if len(distinct) > MOST_DISTINCT:
            distinct = frozenset(sorted(distinct)[:MOST_DISTINCT])
        return RoundedDigits(tuple(d for d in self.candidates if d in other.candidates), distinct)

    @property
    def decimals(self) -> int | None:
        return min(self.candidates, default=None)


@dataclass(frozen=True, slots=True)
class Digits(Statistic):
    label: ClassVar[str] = "the digits of the propensities"

    def of(self, batch: Batch, groups: Groups) -> Sequence[RoundedDigits]:
        return [self._of_group(part) for part in groups.split(batch.propensity)]

    @staticmethod
    def _of_group(propensity: Any) -> RoundedDigits:
        fits = tuple(
            digits
            for digits in DECIMALS
            if _rounded(propensity[:SOME], digits) and (len(propensity) <= SOME or _rounded(propensity, digits))
        )
        # Unrounded propensities are almost all distinct, and then their values say nothing.
        distinct = np.unique(propensity)[:MOST_DISTINCT].tolist() if fits else ()
        return RoundedDigits(fits, frozenset(distinct))

    def encode(self, state: Any) -> Any:
        return [list(state.candidates), sorted(state.distinct)]

    def decode(self, content: Any) -> Any:
        return RoundedDigits(tuple(content[0]), frozenset(content[1]))


def _rounded(propensity: Any, digits: int) -> bool:
    scaled = propensity * 10.0**digits
    return bool((np.abs(scaled - np.round(scaled)) <= 1e-6).all())
