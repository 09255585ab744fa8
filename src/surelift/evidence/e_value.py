"""Evidence against "the mean is at most so much", readable at any time."""

import math
from collections.abc import Sequence

from surelift.arrays import FloatArray
from surelift.bounds.mixture import log_wealth
from surelift.statistics import Component

_LARGEST_LOG = math.log(1.7e308)


def e_value(mean: float, log_sums: FloatArray, components: Sequence[Component], *, rounds: int) -> float:
    """The wealth of a bet against "the mean is at most ``mean``": a fair bet would reach 20 once in twenty times.

    It is rounded down to the largest float where it would overflow, which understates the evidence.
    """
    least = max((0.0 - component.offset for component in components), default=0.0)
    if mean < least:
        return math.exp(_LARGEST_LOG)  # it cannot be: no mean is so small
    if not components:
        return 1.0
    return math.exp(min(log_wealth(mean, log_sums, components, rounds=rounds), _LARGEST_LOG))


def p_value(evidence: float) -> float:
    """An anytime-valid p-value from an e-value.

    >>> p_value(40.0)
    0.025
    """
    return 1.0 if evidence <= 1.0 else 1.0 / evidence
