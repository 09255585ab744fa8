"""Logarithmic smoothing of a round's term, and the discrepancy that governs its bias and variance."""

from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray
from surelift.quantities.regularizers import PolicyRounds, Regularizer


@dataclass(frozen=True, slots=True)
class LogarithmicSmoothing(Regularizer):
    """log(1 + smoothing w r) / smoothing; w r itself for a smoothing of 0 (the paper, Equation 14)."""

    smoothing: float

    def values(self, rounds: PolicyRounds) -> FloatArray:
        if self.smoothing == 0.0:
            return rounds.terms
        return np.log1p(self.smoothing * rounds.terms) / self.smoothing


@dataclass(frozen=True, slots=True)
class LinearSmoothing(Regularizer):
    """p log(1 + smoothing r/q) / smoothing, which is linear in the policy (the paper, Section 4.2)."""

    smoothing: float
    for_densities = False

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.probability * np.log1p(self.smoothing * rounds.earned / rounds.propensity) / self.smoothing


@dataclass(frozen=True, slots=True)
class Discrepancy(Regularizer):
    """(w r)^2 / (1 + smoothing w r): its mean is the paper's S (Equation 15), which bounds bias and variance."""

    smoothing: float
    shrinks = False

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.terms * (rounds.terms / (1.0 + self.smoothing * rounds.terms))


@dataclass(frozen=True, slots=True)
class LinearDiscrepancy(Regularizer):
    """p r^2 / (q^2 + smoothing q r): the same for linear smoothing."""

    smoothing: float
    shrinks = False
    for_densities = False

    def values(self, rounds: PolicyRounds) -> FloatArray:
        q, r = rounds.propensity, rounds.earned
        return rounds.weight * r * (r / (q + self.smoothing * r))
