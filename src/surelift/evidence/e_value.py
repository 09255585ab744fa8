"""Evidence against "the mean is at most so much", readable at any time."""

import math

from surelift.bounds.blocks import log_wealth as log_wealth_in_blocks
from surelift.bounds.mixture import log_wealth
from surelift.statistics.sums import TermSums

_LARGEST_LOG = math.log(1.7e308)


def e_value(mean: float, sums: TermSums, *, delta: float = 0.05) -> float:
    """The wealth of a bet against "the mean is at most ``mean``": a fair bet would reach 20 once in twenty times.

    Bets in blocks aim at 1/delta; others do not know of it. Where it would overflow, it is rounded down to the largest
    float, which understates the evidence.
    """
    offsets = [component.offset for component in sums.needed.components] or [sums.needed.offset]
    if mean < 0.0 - min(offsets):
        return math.exp(_LARGEST_LOG)  # it cannot be: no mean is so small
    if not sums.needed.components:
        return 1.0
    log = log_wealth_in_blocks(mean, sums, delta=delta) if sums.blocks else log_wealth(mean, sums)
    return math.exp(min(log, _LARGEST_LOG))


def p_value(evidence: float) -> float:
    """An anytime-valid p-value from an e-value.

    >>> p_value(40.0)
    0.025
    """
    return 1.0 if evidence <= 1.0 else 1.0 / evidence
