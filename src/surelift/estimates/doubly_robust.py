"""Point estimates that use a reward model, alone or corrected by importance weighting.

Like the regularizers they are sums of one number per round, but none is valid in a bound.
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
    """The model's expected reward under the policy."""

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return _expected(rounds)


@dataclass(frozen=True, slots=True)
class DoublyRobust(_AsksModel):
    """The model's expected reward under the policy, plus w times its error."""

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return _expected(rounds) + rounds.weight * _surprise(rounds)


@dataclass(frozen=True, slots=True)
class Surprise(_AsksModel):
    """w times the model's error."""

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.weight * _surprise(rounds)


@dataclass(frozen=True, slots=True)
class SwitchDoublyRobust(_AsksModel):
    """Doubly robust if the weight is at most ``clip``, else the model alone."""

    clip: float

    def __post_init__(self) -> None:
        positive("clip", self.clip)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return _expected(rounds) + np.where(rounds.weight <= self.clip, rounds.weight, 0.0) * _surprise(rounds)


@dataclass(frozen=True, slots=True)
class OptimisticShrinkage(_AsksModel):
    """Doubly robust with w t/(w^2 + t) in place of w; t is the ``strength``."""

    strength: float

    def __post_init__(self) -> None:
        positive("strength", self.strength)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        # w t/(w^2 + t) without squares that overflow.
        shrunk = rounds.weight / (1.0 + rounds.weight * (rounds.weight / self.strength))
        return _expected(rounds) + shrunk * _surprise(rounds)


def self_normalised_doubly_robust(sums: TermSums, moment: Moment) -> float:
    """The model's expected reward, plus the weighted mean of its errors."""
    surprise = sums.moments[Moment(Surprise())] / sums.weights.total if sums.weights.total > 0.0 else 0.0
    return sums.mean(moment) + surprise


def _expected(rounds: PolicyRounds) -> FloatArray:
    assert rounds.expected is not None
    return rounds.expected


def _surprise(rounds: PolicyRounds) -> FloatArray:
    assert rounds.predicted is not None
    return rounds.earned - rounds.predicted
