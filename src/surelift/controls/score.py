r"""Control by a score: all rounds carry one, and only rounds drawn with a known probability carry the true reward.

Given the action a term is a line in the reward: base + span y, where base is its smaller end, span >= 0, and y is r or
1 - r. Only the second part needs a label. With L = 1 where the round was drawn, which happens with probability kappa, and g
the same part as the score predicts it, base + L span y/kappa - L min(g/kappa, k) + min(g, kappa k) has the mean of the term
whatever the score is worth: the control speaks of the draw alone, whose chance is known. With k = c - max(-base, 0) the term
is at least -c.
"""

from dataclasses import dataclass

import numpy as np

from surelift.batch import Batch, Pieces
from surelift.kernels.control import ControlledTerms
from surelift.logs.line import LabelledLine
from surelift.logs.units import ends_of


@dataclass(frozen=True, slots=True)
class ScoreControl:
    """The share of what the score predicts that is taken off, and the cap on it and what the term lies below zero."""

    share: float
    cap: float
    by_score: bool = True
    """Whether the score predicts; else the most that a label could bring stands in its place."""


def controlled_by_score(batch: Batch, pieces: Pieces, share: float, *, by_score: bool) -> ControlledTerms:
    """The draw is what is controlled: one more action, taken with the probability of the label."""
    line, ends = batch.judged, ends_of(pieces, batch.weights)
    assert isinstance(line, LabelledLine)
    chance, below = line.probability, line.below(*ends)
    # Capped together with what lies below zero, which is then given back: so no term falls below minus the cap.
    off = share * line.predicted(*ends, by_score=by_score) / chance + below
    values = line.terms(*ends) + np.where(line.drawn, 1.0 - chance, -chance) * below
    return ControlledTerms(values, np.where(line.drawn, off, 0.0), np.arange(len(off) + 1), chance * off, chance)
