"""Evidence that can be read at any time, against "the mean is at most so much": of one question, and of many at once."""

import math
from collections.abc import Mapping

from surelift.bounds.blocks import log_wealth as log_wealth_in_blocks
from surelift.bounds.mixture import log_wealth
from surelift.statistics.sums import TermSums

_LARGEST_LOG = math.log(1.7e308)


def e_value(mean: float, sums: TermSums, *, delta: float = 0.05) -> float:
    """The wealth of a bet against "the mean is at most ``mean``": a fair bet would reach 20 once in twenty times.

    Bets in blocks aim at 1/delta; others do not know of it. Where it would overflow, it is rounded down to the largest
    float, which understates the evidence.
    """
    offsets = [component.offset for component in sums.needed.components]
    if mean < 0.0 - min(offsets, default=sums.needed.offset):
        return math.exp(_LARGEST_LOG)  # it cannot be: no mean is so small
    if not offsets:
        return 1.0
    log = log_wealth_in_blocks(mean, sums, delta=delta) if sums.blocks else log_wealth(mean, sums)
    return math.exp(min(log, _LARGEST_LOG))


def p_value(evidence: float) -> float:
    """An anytime-valid p-value from an e-value.

    >>> p_value(40.0)
    0.025
    """
    return 1.0 / max(evidence, 1.0)


def discoveries(e_values: Mapping[str, float], *, rate: float) -> tuple[str, ...]:
    r"""The e-BH procedure (Wang and Ramdas 2022): reject the k largest, for the largest k with

    .. math:: e_{(k)} \ge \frac{m}{k \cdot \text{rate}}

    On average at most a share ``rate`` of them is false, however the e-values depend on each other. Each must be taken at
    one and the same moment, never as its running maximum. Of three at a rate of 0.1, two need 15 each, one needs 30:

    >>> discoveries({"a": 16.0, "b": 15.0, "c": 1.0}, rate=0.1)
    ('a', 'b')
    """
    assert all(value >= 0.0 for value in e_values.values()), "an e-value is never negative, and always a number"
    ordered = sorted(e_values, key=lambda name: -e_values[name])
    enough = [k for k, name in enumerate(ordered, start=1) if e_values[name] * k * rate >= len(ordered)]
    return tuple(ordered[: max(enough, default=0)])


def e_holm_levels(e_values: Mapping[str, float], *, delta: float) -> dict[str, float]:
    r"""The level at which each e-value alone has to reject, for all rejections to hold at once: e-Holm, closed testing.

    A hypothesis is rejected where the mean e-value of every set that contains it reaches 1/delta. The mean of the true ones
    is an e-value, however they depend on each other, so none of them is rejected, but with probability delta. Of the sets
    that contain k, the mean reaches 1/delta where the sum of :math:`e_j - 1/\delta` over the set is not negative; it is
    least for the set of all others that are below 1/delta. So k is rejected where its own e-value reaches one over

    .. math:: \delta_k = \frac{\delta}{1 + \sum_{j \ne k} \max(0, 1 - \delta e_j)}

    which lies between delta divided by their number and delta. Beside one that has half of what it needs, and one that has
    it all, delta is divided by 1.5:

    >>> e_holm_levels({"a": 40.0, "b": 10.0, "c": 20.0}, delta=0.05)["a"] * 1.5
    0.05
    """
    missing = {name: max(0.0, 1.0 - delta * value) for name, value in e_values.items()}
    total = math.fsum(missing.values())
    return {name: delta / (1.0 + (total - own)) for name, own in missing.items()}
