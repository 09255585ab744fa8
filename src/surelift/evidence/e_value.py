"""Evidence against "the mean is at most so much", readable at any time."""

import math

from surelift.bounds.mixture import log_wealth
from surelift.statistics.sums import TermSums

_LARGEST_LOG = math.log(1.7e308)


def e_value(mean: float, sums: TermSums) -> float:
    """The wealth of a bet against "the mean is at most ``mean``": a fair bet would reach 20 once in twenty times.

    It is rounded down to the largest float where it would overflow, which understates the evidence.
    """
    offsets = [component.offset for component in sums.needed.components] or [sums.needed.offset]
    if mean < 0.0 - min(offsets):
        return math.exp(_LARGEST_LOG)  # it cannot be: no mean is so small
    if not sums.needed.components:
        return 1.0
    return math.exp(min(log_wealth(mean, sums), _LARGEST_LOG))


def p_value(evidence: float) -> float:
    """An anytime-valid p-value from an e-value.

    >>> p_value(40.0)
    0.025
    """
    return 1.0 if evidence <= 1.0 else 1.0 / evidence
