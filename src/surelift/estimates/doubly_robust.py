"""Point estimates that use a reward model, alone or corrected by importance weighting.

Like the regularizers they are sums of one number per round, but none is valid in a bound.
"""

from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray
from surelift.quantities.regularizers import PolicyRounds, PositiveParameter
from surelift.statistics.plan import Moment
from surelift.statistics.sums import TermSums


@dataclass(frozen=True, slots=True)
class DirectMethod(PositiveParameter):
    """The model's expected reward under the policy."""

    shrinks = False
    for_densities = False
    asks_model = True

    def values(self, rounds: PolicyRounds) -> FloatArray:
        assert rounds.expected is not None
        return rounds.expected


@dataclass(frozen=True, slots=True)
class Surprise(DirectMethod):
    """w times the model's error."""

    def weights(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.weight

    def values(self, rounds: PolicyRounds) -> FloatArray:
        assert rounds.predicted is not None
        return self.weights(rounds) * (rounds.earned - rounds.predicted)


@dataclass(frozen=True, slots=True)
class DoublyRobust(Surprise):
    def values(self, rounds: PolicyRounds) -> FloatArray:
        return DirectMethod.values(self, rounds) + Surprise.values(self, rounds)


@dataclass(frozen=True, slots=True)
class SwitchDoublyRobust(DoublyRobust):
    clip: float

    def weights(self, rounds: PolicyRounds) -> FloatArray:
        return np.where(rounds.weight <= self.clip, rounds.weight, 0.0)


@dataclass(frozen=True, slots=True)
class OptimisticShrinkage(DoublyRobust):
    strength: float

    def weights(self, rounds: PolicyRounds) -> FloatArray:
        # w t/(w^2 + t) with strength t, without squares that overflow.
        return np.asarray(rounds.weight / (1.0 + rounds.weight * (rounds.weight / self.strength)))


def self_normalised(sums: TermSums, moment: Moment) -> float:
    """The model's expected reward, plus the weighted mean of its errors."""
    surprise = sums.moments[Moment(Surprise())] / sums.weights.total if sums.weights.total > 0.0 else 0.0
    return sums.mean(moment) + surprise
