"""The declared range of rewards or costs, and how its units become [0, 1] and back."""

import math
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError


@dataclass(frozen=True, slots=True)
class Scale:
    """A declared range of rewards, or of costs (lower is better).

    >>> Scale(low=0.0, high=5.0, is_cost=False).unit(np.array([0.0, 2.5, 5.0])).tolist()
    [0.0, 0.5, 1.0]
    >>> Scale(low=0.0, high=5.0, is_cost=True).value(0.75)
    1.25
    """

    low: float
    high: float
    is_cost: bool

    def __post_init__(self) -> None:
        if not (self.low < self.high and np.isfinite(self.high - self.low)):
            raise UsageError(
                f"reward_range must be two finite numbers, the smaller first, but is ({self.low}, {self.high}).\n"
                "Declare the range of possible rewards, such as (0, 1) for a click, not the observed extremes."
            )

    @property
    def width(self) -> float:
        return self.high - self.low

    def unit(self, rewards: FloatArray) -> FloatArray:
        if self.low == 0.0 and self.high == 1.0 and not self.is_cost:
            return rewards
        with np.errstate(over="ignore"):  # of rewards outside the range, which are refused
            return ((self.high - rewards) if self.is_cost else (rewards - self.low)) / self.width

    @property
    def affine(self) -> tuple[float, float]:
        """(zero, divisor) such that (reward - zero) / divisor lies in [0, 1]."""
        return (self.high, -self.width) if self.is_cost else (self.low, self.width)

    def value(self, unit: float) -> float:
        """Convert a value on [0, 1] to an expected reward or cost in the column's units."""
        # Map 0 and 1 to the ends of the range exactly.
        share = 1.0 - unit if self.is_cost else unit
        return self.high if share == 1.0 else self.low + self.width * share

    def lower(self, unit: float) -> float:
        """A lower bound in the column's units, rounded down."""
        return self._round_outward(unit, -math.inf)

    def upper(self, unit: float) -> float:
        """An upper bound in the column's units, rounded up."""
        return self._round_outward(unit, math.inf)

    def _round_outward(self, unit: float, towards: float) -> float:
        exact = unit in (0.0, 1.0) or (self.low == 0.0 and self.high == 1.0 and not self.is_cost)
        return self.value(unit) if exact else math.nextafter(self.value(unit), towards)

    def improvement(self, unit: float) -> float:
        """A difference on [-1, 1] in the column's units; positive is better, also for costs."""
        return self.width * unit

    def unit_margin(self, margin: float) -> float:
        return margin / self.width
