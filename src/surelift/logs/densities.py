"""Continuous actions: densities by which they were, or would be, drawn, with parameters from columns."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, is_number, positive

Columns = Callable[[str], FloatArray]
"""How a density reads a column of the batch at hand."""


class Density(Protocol):
    """How likely actions are, a round: their density, and how much of it lies between two of them."""

    def columns(self) -> tuple[str, ...]: ...

    def at(self, action: FloatArray, read: Columns) -> FloatArray: ...

    def below(self, edge: FloatArray, read: Columns) -> FloatArray:
        """The chance of an action below ``edge``."""
        ...

    def describe(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Around ``mean`` with a standard ``deviation``, each a column or a number; within ``low`` and ``high``, if given."""

    mean: str | float
    deviation: str | float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        for name in ("mean", "deviation"):
            value = getattr(self, name)
            if not isinstance(value, str) and not (is_number(value) and math.isfinite(value)):
                raise UsageError(f"the {name} of a density is a column or a number, not {value!r}.")
        if not isinstance(self.deviation, str):
            positive("the deviation of a density", self.deviation)
        if not (is_number(self.low) and is_number(self.high) and self.low < self.high):
            raise UsageError(f"a density lies between low and high, but they are {self.low!r} and {self.high!r}.")

    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.mean, self.deviation) if isinstance(name, str))

    def at(self, action: FloatArray, read: Columns) -> FloatArray:
        mean, deviation = self._parameters(read)
        z = (action - mean) / deviation
        inside = (action >= self.low) & (action <= self.high)
        found: FloatArray = np.where(inside, np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * deviation), 0.0)
        return np.asarray(found / self._mass(mean, deviation))

    def below(self, edge: FloatArray, read: Columns) -> FloatArray:
        mean, deviation = self._parameters(read)
        within = np.clip(edge, self.low, self.high)
        return np.asarray(_between(self.low, within, mean, deviation) / self._mass(mean, deviation))

    def _parameters(self, read: Columns) -> tuple[Any, Any]:
        mean, deviation = (read(one) if isinstance(one, str) else one for one in (self.mean, self.deviation))
        # A deviation that is none makes a density that is none, and is refused as such.
        return mean, np.where(np.asarray(deviation) > 0.0, deviation, np.nan)

    def _mass(self, mean: Any, deviation: Any) -> Any:
        if math.isinf(self.low) and math.isinf(self.high):
            return 1.0
        return _between(self.low, self.high, mean, deviation)

    def describe(self) -> dict[str, Any]:
        ends = {"low": self.low, "high": self.high}
        given = {name: end for name, end in ends.items() if math.isfinite(end)}
        return {"kind": "gaussian", "mean": self.mean, "deviation": self.deviation, **given}


def _between(low: Any, high: Any, mean: Any, deviation: Any) -> Any:
    """The chance of a normal number between two others, without loss in either tail."""
    from scipy.special import ndtr

    a, b = (low - mean) / deviation, (high - mean) / deviation
    return np.where(a > 0.0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))


@dataclass(frozen=True, slots=True)
class UniformDensity:
    """Every action between ``low`` and ``high`` alike."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (is_number(self.low) and is_number(self.high) and -math.inf < self.low < self.high < math.inf):
            raise UsageError(f"a uniform density lies between two finite numbers, not {self.low!r} and {self.high!r}.")

    def columns(self) -> tuple[str, ...]:
        return ()

    def at(self, action: FloatArray, read: Columns) -> FloatArray:
        return np.where((action >= self.low) & (action <= self.high), 1.0 / (self.high - self.low), 0.0)

    def below(self, edge: FloatArray, read: Columns) -> FloatArray:
        return np.clip((edge - self.low) / (self.high - self.low), 0.0, 1.0)

    def describe(self) -> dict[str, Any]:
        return {"kind": "uniform-density", "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class DensityBlend:
    """One of several densities, each with its share: an exploring one beside a cautious one, say."""

    parts: tuple[tuple[float, Density], ...]

    def __post_init__(self) -> None:
        shares = [share for share, _ in self.parts]
        if not shares or not all(is_number(share) and share >= 0.0 for share in shares) or abs(sum(shares) - 1) > 1e-9:
            raise UsageError(f"the shares of a blend are numbers of at least 0 that sum to 1, not {shares}.")

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, part in self.parts for name in part.columns()))

    def at(self, action: FloatArray, read: Columns) -> FloatArray:
        return sum((share * part.at(action, read) for share, part in self.parts), start=np.zeros(1))

    def below(self, edge: FloatArray, read: Columns) -> FloatArray:
        return sum((share * part.below(edge, read) for share, part in self.parts), start=np.zeros(1))

    def describe(self) -> dict[str, Any]:
        return {"kind": "density-blend", "parts": [[share, part.describe()] for share, part in self.parts]}


DENSITIES = (Gaussian, UniformDensity, DensityBlend)


def gaussian(mean: str | float, deviation: str | float, *, low: float = -math.inf, high: float = math.inf) -> Gaussian:
    """A normal density around a column or a number; truncated where ``low`` or ``high`` are given."""
    return Gaussian(_plain(mean), _plain(deviation), _plain(low), _plain(high))


def _plain(number: Any) -> Any:
    """Python's own number, which a certificate can hold."""
    return number.item() if isinstance(number, np.generic) else number


def uniform(low: float, high: float) -> UniformDensity:
    """Every action between two numbers alike."""
    return UniformDensity(_plain(low), _plain(high))


def blend(parts: Sequence[tuple[float, Density]]) -> DensityBlend:
    """Several densities, each with its share: ``blend([(0.9, gaussian("mean", 1)), (0.1, uniform(0, 10))])``."""
    try:
        pairs = tuple((_plain(share), part) for share, part in parts)
    except (TypeError, ValueError) as error:
        raise UsageError("a blend is a list of pairs, a share and a density each.") from error
    if not all(isinstance(part, DENSITIES) for _, part in pairs):
        raise UsageError("a blend is made of densities: gaussian, uniform, or another blend.")
    return DensityBlend(pairs)


def density_from(description: Mapping[str, Any]) -> Density:
    """What ``describe`` wrote into a certificate."""
    given = dict(description)
    kind = given.pop("kind")
    if kind == "gaussian":
        return Gaussian(**given)
    if kind == "uniform-density":
        return UniformDensity(**given)
    if kind == "density-blend":
        return DensityBlend(tuple((share, density_from(part)) for share, part in given["parts"]))
    raise ValueError(f"no density of kind {kind!r}")
