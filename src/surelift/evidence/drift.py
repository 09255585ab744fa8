"""Does a number of each round change from day to day by more than chance?

Where rounds are independent and of one law, then given all their numbers, those of some days are drawn from them without
replacement. The mean and the variance of what is drawn from are known, not estimated, so the mean of those days has the tail
of Bennett's inequality (Hoeffding 1963, Theorem 3 and Section 6), however few they are and however rare a reward is.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise
from operator import add

from surelift.arrays import FloatArray

# Above what rounding leaves of the variance of equal numbers.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Contrast:
    """Some days and all others, each with the mean of its rounds."""

    days: str
    mean: float
    others: str
    other_mean: float
    surprise: float  # the chance of as large a difference, in this direction, is at most exp(-surprise)


@dataclass(frozen=True, slots=True)
class Drift:
    """The count of numbers in [0, 1], their sum and that of their squares, by day."""

    days: Mapping[str, FloatArray]

    def contrast(self, *, level: float) -> Contrast | None:
        """The most surprising contrast; None where rounds of one law show one as surprising with a chance above level."""
        contrasts = list(self.contrasts())
        worst = max(contrasts, key=lambda contrast: contrast.surprise, default=None)
        return None if worst is None or worst.surprise < math.log(2 * len(contrasts) / level) else worst

    def contrasts(self) -> Iterator[Contrast]:
        """Every day against all others, and the first days against the later ones."""
        days = dict(sorted(self.days.items()))
        if len(days) < 2:
            return
        whole = reduce(add, days.values())
        for day, moments in days.items():
            yield _contrast(f"on {day}", moments, "on the other days", whole)
        until = zip(pairwise(days), accumulate(days.values()), strict=False)
        # The first day alone and the last alone are above.
        for (last, following), moments in list(until)[1:-1]:
            yield _contrast(f"until {last}", moments, f"from {following} on", whole)


def _contrast(days: str, moments: FloatArray, others: str, whole: FloatArray) -> Contrast:
    rest = whole - moments
    # Either side is a draw; the bound for the smaller one is sharper.
    rounds, total, _ = (moments if moments[0] <= rest[0] else rest).tolist()
    mean = float(whole[1] / whole[0])
    variance = max(float(whole[2] / whole[0]) - mean * mean, LEAST_VARIANCE)
    difference = total / rounds - mean
    # Of numbers at most ``reach`` from their mean, on the side of the difference, none surprises less than two values.
    reach = 1.0 - mean if difference > 0.0 else mean
    spread = variance + reach * reach
    expected, found = variance / spread, min((variance + reach * abs(difference)) / spread, 1.0)
    # The divergence of one chance from the other, by Kullback and Leibler.
    missed = (1.0 - found) * math.log((1.0 - found) / (1.0 - expected)) if found < 1.0 else 0.0
    surprise = rounds * (found * math.log(found / expected) + missed)
    return Contrast(days, float(moments[1] / moments[0]), others, float(rest[1] / rest[0]), surprise)
