"""Rewards on [0, 1]: the declared range that they are scaled from, and what rounds earned, as a line."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from surelift.arrays import BoolArray, FloatArray
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


End = FloatArray | float  # a term at one end of the reward: a number for each row, or one for all


@dataclass(frozen=True)
class RewardLine:
    """Every row carries its reward, on [0, 1]: a term runs from its value where that is 0 to its value where that is 1."""

    reward: FloatArray
    unlike_earned: ClassVar[FloatArray | None] = None
    """``missed``, where it is not 1 minus ``earned``."""

    @property
    def earned(self) -> FloatArray:
        """Its mean is that of the reward."""
        return self.reward

    @property
    def missed(self) -> FloatArray:
        """Its mean is that of 1 minus the reward."""
        return 1.0 - self.reward

    def scaled(self, weight: FloatArray) -> FloatArray:
        """The most that a weight is multiplied to."""
        return weight

    def terms(self, at_zero: End, at_one: End) -> FloatArray:
        if isinstance(at_zero, float) and at_zero == 0.0:
            return np.asarray(at_one * self.reward)
        rest = at_zero * (1.0 - self.reward)
        return np.asarray(rest if isinstance(at_one, float) and at_one == 0.0 else at_one * self.reward + rest)


@dataclass(frozen=True)
class LabelledLine(RewardLine):
    """Only rows drawn with a known probability carry their reward, which is NaN in others, and all carry a score.

    Given the action a term is base + span y: base is its smaller end, span >= 0, and y, the reward or 1 minus it, is what
    needs a label.
    """

    drawn: BoolArray
    probability: FloatArray  # with which a row was drawn
    score: FloatArray  # on [0, 1], as the reward is

    @cached_property
    def earned(self) -> FloatArray:
        return np.where(self.drawn, self.reward / self.probability, 0.0)

    @cached_property
    def missed(self) -> FloatArray:
        return np.where(self.drawn, (1.0 - self.reward) / self.probability, 0.0)

    @property
    def unlike_earned(self) -> FloatArray:  # type: ignore[override]
        return self.missed

    def scaled(self, weight: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return weight / self.probability

    def terms(self, at_zero: End, at_one: End) -> FloatArray:
        chosen = np.where(at_one >= np.asarray(at_zero), self.earned, self.missed)
        return np.asarray(np.minimum(at_zero, at_one) + np.abs(at_one - np.asarray(at_zero)) * chosen)

    def below(self, at_zero: End, at_one: End) -> FloatArray:
        """How far the smaller end lies below zero."""
        return np.maximum(-np.minimum(at_zero, at_one), 0.0)

    def predicted(self, at_zero: End, at_one: End, *, by_score: bool) -> FloatArray:
        """What the score expects above the smaller end, or the most that a label could bring there."""
        span = np.abs(at_one - np.asarray(at_zero))
        return span * np.where(at_one >= np.asarray(at_zero), self.score, 1.0 - self.score) if by_score else span
