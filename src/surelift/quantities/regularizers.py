"""Importance weights tamed: what the paper and its rivals put in the place of w r.

A regularizer fit for a bound never exceeds w r and is never negative: the paper's condition C1, in reward form.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, positive, share


@dataclass(frozen=True, slots=True)
class PolicyRounds:
    """One policy's rounds, seen by one quantity."""

    weight: FloatArray
    probability: FloatArray
    propensity: FloatArray
    earned: FloatArray
    """The reward, or what it falls short of 1."""
    terms: FloatArray
    """The quantity itself: w r for a value."""
    predicted: FloatArray | None = None
    """What a reward model expects of the logged action."""
    expected: FloatArray | None = None
    """What it expects of the policy's own choice."""

    def terms_per(self, divisor: FloatArray) -> FloatArray:
        quotient: FloatArray = self.terms / divisor
        return quotient


class Regularizer(Protocol):
    """Frozen and hashable: part of the key under which its sums are kept."""

    shrinks: ClassVar[bool]
    """Whether it has the paper's condition C1: between 0 and w r for every round."""
    for_densities: ClassVar[bool]
    """Whether it makes sense where a propensity may exceed 1."""
    asks_model: ClassVar[bool]
    """Whether it needs what a reward model expects."""

    def values(self, rounds: PolicyRounds) -> FloatArray: ...


@dataclass(frozen=True, slots=True)
class Plain:
    """w r."""

    shrinks: ClassVar[bool] = True
    for_densities: ClassVar[bool] = True
    asks_model: ClassVar[bool] = False

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.terms


@dataclass(frozen=True, slots=True)
class Clipping:
    """min(w, clip) r (the paper, Equation 4)."""

    clip: float
    shrinks: ClassVar[bool] = True
    for_densities: ClassVar[bool] = True
    asks_model: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("clip", self.clip)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return np.minimum(rounds.weight, self.clip) * rounds.earned


@dataclass(frozen=True, slots=True)
class ExponentialSmoothing:
    """p r / q^alpha, alpha in [0, 1] (Aouali et al. 2023; the paper, Equation 4)."""

    alpha: float
    shrinks: ClassVar[bool] = True
    for_densities: ClassVar[bool] = False
    asks_model: ClassVar[bool] = False

    def __post_init__(self) -> None:
        share("alpha", self.alpha)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.probability * rounds.earned / rounds.propensity**self.alpha


@dataclass(frozen=True, slots=True)
class ImplicitExploration:
    """p r / (q + smoothing/2) (Gabbianelli et al. 2024; the paper, Equation 17)."""

    smoothing: float
    shrinks: ClassVar[bool] = True
    for_densities: ClassVar[bool] = False
    asks_model: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("smoothing", self.smoothing)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.probability * rounds.earned / (rounds.propensity + self.smoothing / 2.0)


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """w t / (w^2 + t) r (Su et al. 2020)."""

    strength: float
    shrinks: ClassVar[bool] = True
    for_densities: ClassVar[bool] = True
    asks_model: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("strength", self.strength)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        # Divided by t throughout, so that the square of a large weight does not overflow.
        return rounds.terms_per(1.0 + rounds.weight * (rounds.weight / self.strength))


@dataclass(frozen=True, slots=True)
class Harmonic:
    """w / (1 - strength + strength w) r (Metelli et al. 2021); it exceeds w r where w < 1, so it is for estimates only."""

    strength: float
    shrinks: ClassVar[bool] = False
    for_densities: ClassVar[bool] = True
    asks_model: ClassVar[bool] = False

    def __post_init__(self) -> None:
        share("strength", positive("strength", self.strength))

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.terms_per(1.0 - self.strength + self.strength * rounds.weight)


@dataclass(frozen=True, slots=True)
class RepairedHarmonic:
    """w / max(1, 1 - strength + strength w) r: the harmonic one, made fit for a bound."""

    strength: float
    shrinks: ClassVar[bool] = True
    for_densities: ClassVar[bool] = True
    asks_model: ClassVar[bool] = False

    def __post_init__(self) -> None:
        share("strength", positive("strength", self.strength))

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return rounds.terms_per(np.maximum(1.0, 1.0 - self.strength + self.strength * rounds.weight))


@dataclass(frozen=True, slots=True)
class GlobalClipping:
    """min(w r, 1/smoothing) (the paper, Equation 11)."""

    smoothing: float
    shrinks: ClassVar[bool] = True
    for_densities: ClassVar[bool] = True
    asks_model: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("smoothing", self.smoothing)

    def values(self, rounds: PolicyRounds) -> FloatArray:
        return np.minimum(rounds.terms, 1.0 / self.smoothing)


@dataclass(frozen=True, slots=True)
class Custom:
    """A fixed function of one round's weight, probability, propensity and reward, held to condition C1 in every round."""

    function: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], Any]
    shrinks: ClassVar[bool] = True
    for_densities: ClassVar[bool] = True
    asks_model: ClassVar[bool] = False

    def values(self, rounds: PolicyRounds) -> FloatArray:
        given = self.function(rounds.weight, rounds.probability, rounds.propensity, rounds.earned)
        values = np.asarray(given, dtype=np.float64)
        if values.shape != rounds.terms.shape:
            raise UsageError(
                f"this regularizer gave shape {values.shape} for {len(rounds.terms):,} rounds; give one number each."
            )
        room = 1e-9 * (1.0 + rounds.terms)
        bad = ~((values >= -room) & (values <= rounds.terms + room))
        if bad.any():
            first = int(np.argmax(bad))
            raise UsageError(
                f"this regularizer breaks condition C1 in {int(bad.sum()):,} rounds: it must lie between 0 and w r = "
                f"{rounds.terms[first]:.6g}, but gave {values[first]:.6g}.\nNo bound holds for it; shrink it to at most w r."
            )
        return np.clip(values, 0.0, rounds.terms)


# By name, with the parameter each takes.
REGULARIZERS: dict[str, tuple[type, str]] = {
    "none": (Plain, ""),
    "clipping": (Clipping, "clip"),
    "exponential-smoothing": (ExponentialSmoothing, "alpha"),
    "implicit-exploration": (ImplicitExploration, "smoothing"),
    "shrinkage": (Shrinkage, "strength"),
    "harmonic": (RepairedHarmonic, "strength"),
    "global-clipping": (GlobalClipping, "smoothing"),
}

BUILT_IN = (
    Plain,
    Clipping,
    ExponentialSmoothing,
    ImplicitExploration,
    Shrinkage,
    Harmonic,
    RepairedHarmonic,
    GlobalClipping,
)


def regularizer_named(text: str) -> Regularizer:
    """A regularizer from "name:parameter", such as "clipping:10", or "none".

    >>> regularizer_named("clipping:10")
    Clipping(clip=10.0)
    """
    name, _, parameter = text.partition(":")
    if name not in REGULARIZERS:
        raise UsageError(f"no regularizer {name!r}; they are {', '.join(REGULARIZERS)}.")
    kind, meaning = REGULARIZERS[name]
    if not meaning:
        plain: Regularizer = kind()
        return plain
    try:
        number = float(parameter)
    except ValueError as error:
        raise UsageError(f"regularizer {name!r} takes its {meaning}: say '{name}:NUMBER', not {text!r}.") from error
    made: Regularizer = kind(number)
    return made


def describe_regularizer(regularizer: Any) -> str:
    """The name that gives it back, where there is one.

    >>> describe_regularizer(Clipping(10.0))
    'clipping:10.0'
    """
    for name, (kind, meaning) in REGULARIZERS.items():
        if isinstance(regularizer, kind):
            return f"{name}:{getattr(regularizer, meaning)!r}" if meaning else name
    return f"function {getattr(regularizer, '__name__', type(regularizer).__name__)}"
