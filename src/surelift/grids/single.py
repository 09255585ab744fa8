"""A single smoothing, as in the paper."""

import math

from surelift.grids.grid import Grid


def single(smoothing: float) -> Grid:
    """One smoothing, fixed before the data is seen."""
    return Grid("single", smoothings=(smoothing,), prior=(1.0,))


def from_rounds(rounds: int) -> Grid:
    """The paper's 1/sqrt(rounds): for one look at a number of rounds fixed in advance."""
    return Grid("single", smoothings=(1.0 / math.sqrt(rounds),), prior=(1.0,), any_looks=False)
