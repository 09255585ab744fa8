"""Continuous actions: the densities of production and candidates, with parameters from columns."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, is_number, positive

Columns = Callable[[str], FloatArray]


@dataclass(frozen=True, slots=True)
class Gaussian:
    mean: str | float
    deviation: str | float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        for name, value in (("mean", self.mean), ("deviation", self.deviation)):
            if not isinstance(value, str) and not (is_number(value) and math.isfinite(value)):
                raise UsageError(f"the {name} of a density must be a column or a number, but is {value!r}.")
        if not isinstance(self.deviation, str):
            positive("the deviation of a density", self.deviation)
        _require_ends(self.low, self.high)

    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.mean, self.deviation) if isinstance(name, str))

    def at(self, action: FloatArray, read: Columns) -> FloatArray:
        mean, deviation = self._parameters(read)
        z, inside = (action - mean) / deviation, (action >= self.low) & (action <= self.high)
        density = np.where(inside, np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * deviation), 0.0)
        return np.asarray(density / self._mass(mean, deviation))

    def below(self, edge: FloatArray, read: Columns) -> FloatArray:
        """The probability of an action below ``edge``."""
        mean, deviation = self._parameters(read)
        mass = _normal_mass(self.low, np.clip(edge, self.low, self.high), mean, deviation)
        return np.asarray(mass / self._mass(mean, deviation))

    def _parameters(self, read: Columns) -> tuple[Any, Any]:
        mean, deviation = (read(value) if isinstance(value, str) else value for value in (self.mean, self.deviation))
        # An invalid deviation gives a NaN density, which is rejected as a fault.
        return mean, np.where(np.asarray(deviation) > 0.0, deviation, np.nan)

    def _mass(self, mean: Any, deviation: Any) -> Any:
        whole = math.isinf(self.low) and math.isinf(self.high)
        return 1.0 if whole else _normal_mass(self.low, self.high, mean, deviation)

    def describe(self) -> dict[str, Any]:
        ends = {name: end for name, end in (("low", self.low), ("high", self.high)) if math.isfinite(end)}
        return {"kind": "gaussian", "mean": self.mean, "deviation": self.deviation, **ends}


def _require_ends(low: float, high: float, *, finite: bool = False) -> None:
    if not (is_number(low) and is_number(high) and low < high) or (finite and math.inf in (-low, high)):
        raise UsageError(f"a density needs {'finite ' * finite}low < high, but they are {low!r} and {high!r}.")


def _normal_mass(low: Any, high: Any, mean: Any, deviation: Any) -> Any:
    """The probability of a normal variable between two numbers, accurate in both tails."""
    from scipy.special import ndtr

    a, b = (low - mean) / deviation, (high - mean) / deviation
    return np.where(a > 0.0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))


@dataclass(frozen=True, slots=True)
class UniformDensity:
    low: float
    high: float

    def __post_init__(self) -> None:
        _require_ends(self.low, self.high, finite=True)

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
    parts: tuple[tuple[float, "Density"], ...]

    def __post_init__(self) -> None:
        shares, problem = [share for share, _ in self.parts], ""
        if not all(isinstance(part, DENSITIES) for _, part in self.parts):
            problem = "a blend can contain only densities: gaussian, uniform or another blend."
        elif not shares or not all(is_number(share) and share >= 0.0 for share in shares) or abs(sum(shares) - 1) > 1e-9:
            problem = f"the shares of a blend must be non-negative numbers that sum to 1, but are {shares}."
        if problem:
            raise UsageError(problem)

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, part in self.parts for name in part.columns()))

    def at(self, action: FloatArray, read: Columns) -> FloatArray:
        return sum((share * part.at(action, read) for share, part in self.parts), start=np.zeros(1))

    def below(self, edge: FloatArray, read: Columns) -> FloatArray:
        return sum((share * part.below(edge, read) for share, part in self.parts), start=np.zeros(1))

    def describe(self) -> dict[str, Any]:
        return {"kind": "density-blend", "parts": [[share, part.describe()] for share, part in self.parts]}


DENSITIES = (Gaussian, UniformDensity, DensityBlend)
Density = Gaussian | UniformDensity | DensityBlend
"""The distribution of a continuous action, per round: its density and its cumulative distribution function."""


def gaussian(mean: str | float, deviation: str | float, *, low: float = -math.inf, high: float = math.inf) -> Gaussian:
    """A normal density, truncated if ``low`` or ``high`` is given.

    Args:
        mean: A column or a number.
        deviation: The standard deviation: a column or a number.
        low: The smallest possible action.
        high: The largest possible action.
    """
    return Gaussian(_plain(mean), _plain(deviation), _plain(low), _plain(high))


def _plain(number: Any) -> Any:
    """A Python number, which a certificate can store."""
    return number.item() if isinstance(number, np.generic) else number


def uniform(low: float, high: float) -> UniformDensity:
    """A uniform density.

    Args:
        low: The smallest possible action.
        high: The largest possible action.
    """
    return UniformDensity(_plain(low), _plain(high))


def blend(parts: Sequence[tuple[float, Density]]) -> DensityBlend:
    """A weighted average of densities: ``blend([(0.9, gaussian("mean", 1)), (0.1, uniform(0, 10))])``.

    Args:
        parts: Pairs of a share and a density; the shares sum to 1.
    """
    try:
        pairs = tuple((_plain(share), part) for share, part in parts)
    except (TypeError, ValueError) as error:
        raise UsageError("a blend must be a list of (share, density) pairs.") from error
    return DensityBlend(pairs)


def density_from(description: Mapping[str, Any]) -> Density:
    fields = dict(description)
    kind = fields.pop("kind")
    if kind == "density-blend":
        return DensityBlend(tuple((share, density_from(part)) for share, part in fields["parts"]))
    kinds: dict[str, type[Gaussian | UniformDensity]] = {"gaussian": Gaussian, "uniform-density": UniformDensity}
    return kinds[kind](**fields)
