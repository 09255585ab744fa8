"""Point estimates that ask a reward model, alone or corrected by importance weighting.

They are sums of a number a round, as the regularizers are, but none may stand inside a bound.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import positive
from surelift.quantities.regularizers import PolicyRounds
from surelift.statistics.plan import Moment
from surelift.statistics.sums import TermSums


class _AsksModel:
    shrinks: ClassVar[bool] = False
    for_densities: ClassVar[bool] = False
    asks_model: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class DirectMethod(_AsksModel):
    """What the model expects of the policy."""

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return _expected(rounds)


@dataclass(frozen=True, slots=True)
class DoublyRobust(_AsksModel):
    """What the model expects of the policy, and w times what it got wrong."""

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return _expected(rounds) + rounds.weight * _surprise(rounds)


@dataclass(frozen=True, slots=True)
class Surprise(_AsksModel):
    """w times what the model got wrong."""

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.weight * _surprise(rounds)


@dataclass(frozen=True, slots=True)
class SwitchDoublyRobust(_AsksModel):
    """Doubly robust where the weight is at most ``clip``, the model alone where it is larger."""

    clip: float

    def __post_init__(self) -> None:
        positive("clip", self.clip)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return _expected(rounds) + np.where(rounds.weight <= self.clip, rounds.weight, 0.0) * _surprise(rounds)


@dataclass(frozen=True, slots=True)
class OptimisticShrinkage(_AsksModel):
    """Doubly robust with w t/(w^2 + t) in the place of w, t the ``strength``."""

    strength: float

    def __post_init__(self) -> None:
        positive("strength", self.strength)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        # w t/(w^2 + t) without squares that overflow.
        shrunk = rounds.weight / (1.0 + rounds.weight * (rounds.weight / self.strength))
        return _expected(rounds) + shrunk * _surprise(rounds)


def self_normalised_doubly_robust(sums: TermSums, moment: Moment) -> float:
    """What the model expects, and the weighted mean of what it got wrong, over the sum of the weights."""
    surprise = sums.moments[Moment(Surprise())] / sums.weights.total if sums.weights.total > 0.0 else 0.0
    return sums.mean(moment) + surprise


def _expected(rounds: PolicyRounds) -> FloatArray:
    assert rounds.expected is not None
    return rounds.expected


def _surprise(rounds: PolicyRounds) -> FloatArray:
    assert rounds.predicted is not None
    return rounds.earned - rounds.predicted
