"""The grid that does not know the number of rounds."""

from surelift.grids.grid import Grid, normalised


def anytime() -> Grid:
    """Smoothings 2^-20 to 2^6, heaviest near 1/16: the same whatever the number of rounds, 3-5% wider for it."""
    exponents = range(-20, 7)
    return Grid(
        "anytime",
        smoothings=tuple(2.0**j for j in exponents),
        prior=normalised((2.0 + abs(j + 4)) ** -1.5 for j in exponents),
    )
