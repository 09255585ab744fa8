"""Grids centred on a number of rounds that was fixed in advance, for a single look."""

import math

from surelift.grids.grid import Grid, normalised

_EXPONENTS = range(-8, 9)


def planned(rounds: int) -> Grid:
    """For a value: smoothings 2^-8 to 2^8 around 2/sqrt(rounds)."""
    return _around(2.0, rounds, spread=1.5)


def improvement(rounds: int) -> Grid:
    """For an improvement or a difference: smoothings 2^-8 to 2^8 around 4/sqrt(rounds)."""
    return _around(4.0, rounds, spread=2.0)


def _around(centre: float, rounds: int, *, spread: float) -> Grid:
    return Grid(
        "planned",
        smoothings=tuple(centre * 2.0**j / math.sqrt(rounds) for j in _EXPONENTS),
        prior=normalised(1.0 / (1.0 + (j / spread) ** 2) for j in _EXPONENTS),
        any_looks=False,
    )
