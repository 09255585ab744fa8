"""The declared range of rewards, which is scaled to [0, 1]."""

import math
from dataclasses import dataclass, field

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
    width: float = field(init=False, repr=False, compare=False)
    """A difference on [-1, 1], times this, is one in the column's units; positive is better, also for costs."""
    zero: float = field(init=False, repr=False, compare=False)
    divisor: float = field(init=False, repr=False, compare=False)
    """(reward - zero) / divisor lies in [0, 1]."""

    def __post_init__(self) -> None:
        width = self.high - self.low
        zero, divisor = (self.high, -width) if self.is_cost else (self.low, width)
        for name, value in (("width", width), ("zero", zero), ("divisor", divisor)):
            object.__setattr__(self, name, value)
        if not (self.low < self.high and np.isfinite(width)):
            raise UsageError(
                f"reward_range must be two finite numbers, the smaller first, but is ({self.low}, {self.high}).\n"
                "Declare the range of possible rewards, such as (0, 1) for a click, not the observed extremes."
            )

    def unit(self, rewards: FloatArray) -> FloatArray:
        if (self.zero, self.divisor) == (0.0, 1.0):
            return rewards
        with np.errstate(over="ignore"):  # of rewards outside the range, which are refused
            return ((self.high - rewards) if self.is_cost else (rewards - self.low)) / self.width

    def value(self, unit: float) -> float:
        """Convert a value on [0, 1] to an expected reward or cost in the column's units."""
        # Map 0 and 1 to the ends of the range exactly.
        share = 1.0 - unit if self.is_cost else unit
        return self.high if share == 1.0 else self.low + self.width * share

    def lower(self, unit: float, towards: float = -math.inf) -> float:
        """A lower bound in the column's units, rounded down."""
        exact = unit in (0.0, 1.0) or (self.zero, self.divisor) == (0.0, 1.0)
        return self.value(unit) if exact else math.nextafter(self.value(unit), towards)

    def upper(self, unit: float) -> float:
        """An upper bound in the column's units, rounded up."""
        return self.lower(unit, math.inf)
