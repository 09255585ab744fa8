"""Smoothings and their prior, fixed before seeing the data."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from typing import Any

from surelift.errors import UsageError, is_number, printed

__all__ = ["Grid", "anytime", "from_rounds", "improvement", "planned", "single"]

_EXPONENTS = tuple(range(-8, 9))
# Steps of a square root of 2 where they matter.
_CLOSER = tuple(sorted({*_EXPONENTS, *[j / 2.0 for j in range(-8, 13)]}))
# Beyond this the growth of one round could overflow; no bound needs a hundredth of it.
LARGEST_SMOOTHING = 1e100


@dataclass(frozen=True, slots=True)
class Grid:
    """Smoothings (the paper's lambda) with a prior that sums to 1, fixed before seeing the data.

    Args:
        name: What certificates call it.
        smoothings: Positive numbers.
        prior: The share of each.
        any_looks: Whether the grid does not depend on the number of rounds, so that a bound made from it is valid at
            any number of looks.
    """

    name: str
    smoothings: tuple[float, ...]
    prior: tuple[float, ...]
    any_looks: bool = True

    def __post_init__(self) -> None:
        wrong = ""
        if not self.smoothings or len(self.smoothings) != len(self.prior):
            wrong = "a grid needs at least one smoothing, and one prior share per smoothing."
        elif not all(is_number(smoothing) and 0.0 < smoothing <= LARGEST_SMOOTHING for smoothing in self.smoothings):
            wrong = f"smoothings must be positive and at most {LARGEST_SMOOTHING:g}, but are {printed(self.smoothings)}."
        elif not (all(share > 0.0 for share in self.prior) and abs(math.fsum(self.prior) - 1.0) <= 1e-9):
            wrong = f"the shares of the prior must be positive and sum to 1, but are {printed(self.prior)}."
        if wrong:
            raise UsageError(wrong)

    @lru_cache(maxsize=256)  # noqa: B019 - a grid is small, and many candidates share one
    def scaled(self, factor: float) -> "Grid":
        return replace(self, smoothings=tuple(smoothing * factor for smoothing in self.smoothings))

    def describe(self) -> dict[str, Any]:
        return {**asdict(self), "smoothings": list(self.smoothings), "prior": list(self.prior)}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> "Grid":
        try:
            smoothings, prior = (tuple(map(float, description[name])) for name in ("smoothings", "prior"))
            return cls(str(description["name"]), smoothings, prior, bool(description["any_looks"]))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"a grid cannot be read from {dict(description)}.") from error


@cache
def anytime() -> Grid:
    """Smoothings 2^-20 to 2^6, heaviest near 1/16: independent of the number of rounds, at a cost of 3-5% in width."""
    exponents = range(-20, 7)
    return Grid("anytime", tuple(2.0**j for j in exponents), _normalised([(2.0 + abs(j + 4)) ** -1.5 for j in exponents]))


def planned(rounds: int) -> Grid:
    """The grid for a value: smoothings 2^-8 to 2^8 around 2/sqrt(rounds).

    Args:
        rounds: The number of rounds at the one look, fixed in advance.
    """
    return _grid_around(2.0, rounds, 1.5)


def improvement(rounds: int) -> Grid:
    """The grid for an improvement or a difference: smoothings 2^-8 to 2^8 around 4/sqrt(rounds).

    Args:
        rounds: The number of rounds at the one look, fixed in advance.
    """
    return _grid_around(4.0, rounds, 2.0)


def closer(rounds: int, *, paired: bool) -> Grid:
    """The planned grid with closer steps, for bets that learn which of them are good."""
    return _grid_around(4.0, rounds, 2.0, _CLOSER) if paired else _grid_around(2.0, rounds, 1.5, _CLOSER)


@lru_cache(maxsize=256)
def _grid_around(centre: float, rounds: int, spread: float, exponents: tuple[float, ...] = _EXPONENTS) -> Grid:
    smoothings = tuple(centre * 2.0**j / math.sqrt(rounds) for j in exponents)
    return Grid("planned", smoothings, _normalised([1.0 / (1.0 + (j / spread) ** 2) for j in exponents]), any_looks=False)


def _normalised(weights: Sequence[float]) -> tuple[float, ...]:
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def single(smoothing: float) -> Grid:
    """A single smoothing.

    Args:
        smoothing: The paper's lambda, fixed before seeing the data.
    """
    return Grid("single", smoothings=(smoothing,), prior=(1.0,))


def from_rounds(rounds: int) -> Grid:
    """The paper's 1/sqrt(rounds): for one look.

    Args:
        rounds: The number of rounds, fixed in advance.
    """
    return Grid("single", smoothings=(1.0 / math.sqrt(rounds),), prior=(1.0,), any_looks=False)
