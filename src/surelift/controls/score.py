r"""Control by a score: all rounds carry one, and only rounds drawn with a known probability carry the true reward.

Given the action a term is a line in the reward: base + span y, where base is its smaller end, span >= 0, and y is r or
1 - r. Only the second part needs a label. With L = 1 where the round was drawn, which happens with probability kappa, and g
the same part as the score predicts it, base + L span y/kappa - L min(g/kappa, k) + min(g, kappa k) has the mean of the term
whatever the score is worth: the control speaks of the draw alone, whose chance is known. With k = c - max(-base, 0) the term
is at least -c.
"""

from dataclasses import dataclass

import numpy as np

from surelift.arrays import BoolArray, FloatArray
from surelift.kernels.control import ControlledTerms
from surelift.logs.labels import Labels


@dataclass(frozen=True, slots=True)
class ScoreControl:
    """The share of what the score predicts that is taken off, and the cap on it and what the term lies below zero."""

    share: float
    cap: float
    by_score: bool = True
    """Whether the score predicts; else the most that a label could bring stands in its place."""


@dataclass(frozen=True, slots=True)
class LabelledTerms:
    """The terms of rounds of which some are labelled."""

    base: FloatArray
    span: FloatArray
    rises: BoolArray
    """Whether the term rises with the reward."""
    labels: Labels

    @classmethod
    def of(cls, at_zero: FloatArray, at_one: FloatArray, labels: Labels) -> "LabelledTerms":
        return cls(np.minimum(at_zero, at_one), np.abs(at_one - at_zero), at_one >= at_zero, labels)

    def _above_base(self, reward: FloatArray) -> FloatArray:
        return self.span * np.where(self.rises, reward, 1.0 - reward)

    @property
    def terms(self) -> FloatArray:
        return self.base + self.labels.scaled_up(self._above_base(self.labels.reward))

    def controlled(self, share: float, *, by_score: bool) -> ControlledTerms:
        """The draw is what is controlled: one more action, taken with the probability of the label."""
        chance, drawn = self.labels.probability, self.labels.drawn
        below = np.maximum(-self.base, 0.0)
        # Capped together with what lies below zero, which is then given back: so no term falls below minus the cap.
        off = share * (self._above_base(self.labels.score) if by_score else self.span) / chance + below
        values = self.terms + np.where(drawn, 1.0 - chance, -chance) * below
        return ControlledTerms(values, np.where(drawn, off, 0.0), np.arange(len(off) + 1), chance * off, chance)
