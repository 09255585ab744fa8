"""The plain mean: inverse propensity scoring for a value, its paired form for an improvement."""

from surelift.quantities import Quantity
from surelift.statistics import MEAN, MomentKey, Sums


def plain_mean(sums: Sums, candidate: str, quantity: Quantity) -> float:
    """The mean of the quantity's terms (the paper, Equation 2, for a value)."""
    return sums.moments[MomentKey(candidate, quantity, MEAN)] / sums.units
