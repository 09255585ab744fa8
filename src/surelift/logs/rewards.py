"""What rounds earned, on [0, 1], as a line from what a term is at a reward of 0 to what it is at 1."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from surelift.arrays import BoolArray, FloatArray

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
