"""Regularized importance weights: what the paper and its rivals use in place of w r.

A regularizer is valid in a bound if it is never negative and never exceeds w r: the paper's condition C1, in reward form.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, positive, share


@dataclass(frozen=True, slots=True)
class PolicyRounds:
    """One policy's rounds, for one quantity."""

    weight: FloatArray
    probability: FloatArray
    propensity: FloatArray
    earned: FloatArray  # the reward, or 1 minus the reward
    terms: FloatArray  # the quantity itself: w r for a value
    predicted: FloatArray | None = None  # a reward model's prediction for the logged action
    expected: FloatArray | None = None  # its expected prediction under the policy


class Regularizer(Protocol):
    """Frozen and hashable: part of the key of its sums."""

    shrinks: ClassVar[bool] = True  # it satisfies the paper's condition C1: between 0 and w r in every round
    for_densities: ClassVar[bool] = True  # it is meaningful if a propensity can exceed 1
    asks_model: ClassVar[bool] = False  # it needs a reward model's predictions

    def values(self, rounds: PolicyRounds) -> FloatArray: ...


@dataclass(frozen=True, slots=True)
class PositiveParameter(Regularizer):
    def __post_init__(self) -> None:
        for field in fields(self):
            positive(field.name, getattr(self, field.name))


@dataclass(frozen=True, slots=True)
class Smoothing(Regularizer):
    smoothing: float


@dataclass(frozen=True, slots=True)
class PositiveSmoothing(PositiveParameter):
    smoothing: float


@dataclass(frozen=True, slots=True)
class Plain(Regularizer):
    """w r."""

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.terms


@dataclass(frozen=True, slots=True)
class Clipping(PositiveParameter):
    """min(w, clip) r (the paper, Equation 4)."""

    clip: float

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return np.minimum(rounds.weight, self.clip) * rounds.earned


@dataclass(frozen=True, slots=True)
class ExponentialSmoothing(Regularizer):
    """p r / q^alpha, alpha in [0, 1] (Aouali et al. 2023; the paper, Equation 4)."""

    alpha: float
    for_densities = False

    def __post_init__(self) -> None:
        share("alpha", self.alpha)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.probability * rounds.earned / rounds.propensity**self.alpha


class ImplicitExploration(PositiveSmoothing):
    """p r / (q + smoothing/2) (Gabbianelli et al. 2024; the paper, Equation 17)."""

    for_densities = False

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.probability * rounds.earned / (rounds.propensity + self.smoothing / 2.0)


@dataclass(frozen=True, slots=True)
class Shrinkage(PositiveParameter):
    """w t / (w^2 + t) r (Su et al. 2020)."""

    strength: float

    def values(self, rounds: PolicyRounds) -> FloatArray:
        # Divided by t throughout, so that the square of a large weight does not overflow.
        return np.asarray(rounds.terms / (1.0 + rounds.weight * (rounds.weight / self.strength)))


@dataclass(frozen=True, slots=True)
class Harmonic(Regularizer):
    """w / (1 - strength + strength w) r (Metelli et al. 2021); it exceeds w r if w < 1, so it is for estimates only."""

    strength: float
    shrinks = False

    def __post_init__(self) -> None:
        share("strength", positive("strength", self.strength))

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return np.asarray(rounds.terms / (1.0 - self.strength + self.strength * rounds.weight))


class RepairedHarmonic(Harmonic):
    """w / max(1, 1 - strength + strength w) r: the harmonic regularizer, made valid for a bound."""

    shrinks = True

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return np.asarray(rounds.terms / np.maximum(1.0, 1.0 - self.strength + self.strength * rounds.weight))


class GlobalClipping(PositiveSmoothing):
    """min(w r, 1/smoothing) (the paper, Equation 11)."""

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return np.minimum(rounds.terms, 1.0 / self.smoothing)


class LogarithmicSmoothing(Smoothing):
    """log(1 + smoothing w r) / smoothing; w r itself for a smoothing of 0 (the paper, Equation 14)."""

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return np.log1p(self.smoothing * rounds.terms) / self.smoothing if self.smoothing else rounds.terms


class LinearSmoothing(Smoothing):
    """p log(1 + smoothing r/q) / smoothing, which is linear in the policy (the paper, Section 4.2)."""

    for_densities = False

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.probability * np.log1p(self.smoothing * rounds.earned / rounds.propensity) / self.smoothing


class Discrepancy(Smoothing):
    """(w r)^2 / (1 + smoothing w r): its mean is the paper's S (Equation 15), which bounds bias and variance."""

    shrinks = False

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.terms * (rounds.terms / (1.0 + self.smoothing * rounds.terms))


class LinearDiscrepancy(Smoothing):
    """p r^2 / (q^2 + smoothing q r): the same for linear smoothing."""

    shrinks = False
    for_densities = False

    def values(self, rounds: PolicyRounds) -> FloatArray:
        q, r = rounds.propensity, rounds.earned
        return rounds.weight * r * (r / (q + self.smoothing * r))


@dataclass(frozen=True, slots=True)
class Custom(Regularizer):
    """A fixed function of a round's weight, probability, propensity and reward, checked against condition C1."""

    function: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], Any]

    def values(self, rounds: PolicyRounds) -> FloatArray:
        result = self.function(rounds.weight, rounds.probability, rounds.propensity, rounds.earned)
        values, terms, wrong = np.asarray(result, dtype=np.float64), rounds.terms, ""
        tolerance = 1e-9 * (1.0 + terms)
        if values.shape != terms.shape:
            wrong = f"a regularizer must return one number for each of {len(terms):,} rounds, not shape {values.shape}."
        elif len(bad := np.flatnonzero(~((values >= -tolerance) & (values <= terms + tolerance)))):
            wrong = (
                f"this regularizer violates condition C1 in {len(bad):,} rounds: it must lie between 0 and "
                f"w r = {terms[bad[0]]:.6g}, but returned {values[bad[0]]:.6g}.\nNo bound holds for it; shrink it."
            )
        if wrong:
            raise UsageError(wrong)
        return np.clip(values, 0.0, terms)


# By name, with its parameter.
REGULARIZERS: dict[str, tuple[type[Any], str]] = {
    "none": (Plain, ""),
    "clipping": (Clipping, "clip"),
    "exponential-smoothing": (ExponentialSmoothing, "alpha"),
    "implicit-exploration": (ImplicitExploration, "smoothing"),
    "shrinkage": (Shrinkage, "strength"),
    "harmonic": (RepairedHarmonic, "strength"),
    "global-clipping": (GlobalClipping, "smoothing"),
}

BUILT_IN: tuple[type[Any], ...] = (*(kind for kind, _ in REGULARIZERS.values()), Harmonic)


def regularizer_named(text: str) -> Regularizer:
    """A regularizer from "name:parameter", such as "clipping:10", or "none".

    >>> regularizer_named("clipping:10")
    Clipping(clip=10.0)
    """
    name, _, parameter = text.partition(":")
    if name not in REGULARIZERS:
        raise UsageError(f"unknown regularizer {name!r}; choose from {', '.join(REGULARIZERS)}.")
    kind, meaning = REGULARIZERS[name]
    try:
        numbers = [float(parameter)] if meaning else []
    except ValueError as error:
        raise UsageError(f"regularizer {name!r} needs its {meaning}: use '{name}:NUMBER', not {text!r}.") from error
    regularizer: Regularizer = kind(*numbers)
    return regularizer


def describe_regularizer(regularizer: Any) -> str:
    """The name that ``regularizer_named`` accepts, or the function's name.

    >>> describe_regularizer(Clipping(10.0))
    'clipping:10.0'
    """
    for name, (kind, meaning) in REGULARIZERS.items():
        if isinstance(regularizer, kind):
            return f"{name}:{getattr(regularizer, meaning)!r}" if meaning else name
    return f"function {getattr(regularizer, '__name__', type(regularizer).__name__)}"
