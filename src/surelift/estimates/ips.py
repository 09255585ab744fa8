"""The plain mean: inverse propensity scoring for a value, its paired form for an improvement."""

from surelift.statistics.plan import MEAN, Term
from surelift.statistics.sums import Sums


def plain_mean(sums: Sums, term: Term) -> float:
    """The mean of the quantity's terms (the paper, Equation 2, for a value)."""
    return sums.of(term).mean(MEAN)
