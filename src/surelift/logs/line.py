"""What a round earned, as a line: from what a term would be if the reward were 0 to what it would be if it were 1."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surelift.arrays import BoolArray, FloatArray

End = FloatArray | float
"""A term at one end of the reward: a number for each row, or one for all."""


@dataclass(frozen=True)
class RewardLine:
    """Where every row carries its reward, on [0, 1]."""

    reward: FloatArray

    @property
    def earned(self) -> FloatArray:
        """Its mean is that of the reward."""
        return self.reward

    @property
    def missed(self) -> FloatArray:
        """Its mean is that of 1 minus the reward."""
        return 1.0 - self.reward

    @property
    def unlike_earned(self) -> FloatArray | None:
        """``missed``, where it is not 1 minus ``earned``."""
        return None

    def scaled(self, weight: FloatArray) -> FloatArray:
        """The most that a weight is multiplied to."""
        return weight

    def terms(self, at_zero: End, at_one: End) -> FloatArray:
        if isinstance(at_zero, float) and at_zero == 0.0:
            return np.asarray(at_one * self.reward)
        if isinstance(at_one, float) and at_one == 0.0:
            return np.asarray(at_zero * (1.0 - self.reward))
        return np.asarray(at_one * self.reward + at_zero * (1.0 - self.reward))


@dataclass(frozen=True)
class LabelledLine(RewardLine):
    """Where only rows drawn with a known probability carry their reward, and all carry a score.

    Given the action a term is base + span y, where base is its smaller end, span >= 0, and y is the reward or 1 minus it.
    Only the second part needs a label. The reward is NaN where a row was not drawn: what forgets to look gives no number.
    """

    drawn: BoolArray
    probability: FloatArray
    """With which a row was drawn."""
    score: FloatArray
    """On [0, 1], as the reward is."""

    @cached_property
    def earned(self) -> FloatArray:
        return self._scaled_up(self.reward)

    @cached_property
    def missed(self) -> FloatArray:
        return self._scaled_up(1.0 - self.reward)

    @property
    def unlike_earned(self) -> FloatArray:
        return self.missed

    def scaled(self, weight: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return weight / self.probability

    def _scaled_up(self, values: FloatArray) -> FloatArray:
        return np.where(self.drawn, values / self.probability, 0.0)

    def terms(self, at_zero: End, at_one: End) -> FloatArray:
        span = np.abs(at_one - np.asarray(at_zero))
        return np.asarray(
            np.minimum(at_zero, at_one) + span * np.where(at_one >= np.asarray(at_zero), self.earned, self.missed)
        )

    def below(self, at_zero: End, at_one: End) -> FloatArray:
        """How far the smaller end lies below zero."""
        return np.maximum(-np.minimum(at_zero, at_one), 0.0)

    def predicted(self, at_zero: End, at_one: End, *, by_score: bool) -> FloatArray:
        """What the score expects above the smaller end, or the most that a label could bring there."""
        span = np.abs(at_one - np.asarray(at_zero))
        return span * np.where(at_one >= np.asarray(at_zero), self.score, 1.0 - self.score) if by_score else span
