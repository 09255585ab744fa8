"""The labels of a log: rounds drawn with a known probability carry the true reward, and all carry a score."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from surelift.arrays import BoolArray, FloatArray
from surelift.logs import faults
from surelift.logs.propensities import SMALLEST

if TYPE_CHECKING:
    from surelift.logs.rounds import Rounds


@dataclass(frozen=True, slots=True)
class Labels:
    """One of each for every round."""

    drawn: BoolArray
    """Whether the round carries its reward."""
    probability: FloatArray
    """With which it was drawn."""
    score: FloatArray
    """On [0, 1], as the reward is."""
    reward: FloatArray
    """NaN where the round was not drawn: what forgets to look gives no number, rather than a wrong one."""

    def scaled_up(self, earned: FloatArray) -> FloatArray:
        """What was earned, divided by the probability of the label, and 0 without one: its mean is that of all rounds."""
        return np.where(self.drawn, earned / self.probability, 0.0)


def read_labels(rounds: "Rounds") -> Labels:
    """The rewards that were drawn, where neither null nor NaN is one; the scores, and the probabilities, checked."""
    declared, scale = rounds.declaration, rounds.declaration.scale
    kind, limits = "cost" if scale.is_cost else "reward", f"declared in [{scale.low:g}, {scale.high:g}]"
    subject = f"{kind} {declared.outcome!r}"
    numbers = rounds.told_numbers(declared.outcome, subject)
    rounds.refuse(subject, faults.INFINITE, np.isinf(numbers.values), numbers.values)
    missing = np.isnan(numbers.values)
    reward = np.where(missing, np.nan, numbers.values)
    rounds.hashes.mix(reward)
    rounds.refuse_outside(
        f"{subject}, {limits}", faults.REWARD, np.where(missing, scale.low, reward), scale.low, scale.high
    )
    assert declared.score is not None
    subject = f"score {declared.score!r}"
    score, _ = rounds.numbers(declared.score, subject)
    rounds.refuse_outside(f"{subject}, {limits}", faults.SCORE, score, scale.low, scale.high)
    probability = _probability(rounds)
    rounds.refuse(f"{kind} {declared.outcome!r}", faults.LABEL_MISSING, missing & (probability >= 1.0), None)
    return Labels(~missing, probability, scale.unit(score), scale.unit(reward))


def _probability(rounds: "Rounds") -> FloatArray:
    given = rounds.declaration.label_probability
    if not isinstance(given, str):
        assert given is not None
        return np.full(rounds.size, given)
    subject = f"label_probability {given!r}"
    values, tolerance = rounds.numbers(given, subject)
    rounds.refuse_outside(subject, faults.LABEL_PROBABILITY, values, SMALLEST, 1.0 + tolerance)
    return np.minimum(values, 1.0)
