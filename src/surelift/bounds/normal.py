"""The usual normal interval, for comparison: what most reports show."""

import math
from collections.abc import Callable

from surelift.bounds.bound import COVERAGE, INDEPENDENT, THREE_COLUMNS, Bound
from surelift.quantities import Quantity
from surelift.statistics.plan import MEAN, SQUARES, Needed
from surelift.statistics.sums import TermSums


def plan(*, quantity: Quantity, offset: float, count: Callable[[], int]) -> Needed:
    return Needed(offset=offset, moments=(MEAN, SQUARES), any_looks=False)


def lower_bound(sums: TermSums, *, delta: float) -> float:
    """The mean minus a normal quantile of its standard error; covers in the limit of many rounds only."""
    return max(0.0 - sums.needed.offset, sums.mean(MEAN) - _margin(sums, delta))


def upper_bound(sums: TermSums, *, delta: float) -> float:
    return sums.mean(MEAN) + _margin(sums, delta)


def _margin(sums: TermSums, delta: float) -> float:
    if sums.rounds < 2:
        return math.inf
    from statistics import NormalDist

    mean = sums.mean(MEAN)
    variance = max(0.0, sums.moments[SQUARES] - sums.rounds * mean * mean) / (sums.rounds - 1)
    return -NormalDist().inv_cdf(delta) * math.sqrt(variance / sums.rounds)


NORMAL = Bound(
    name="normal",
    promise="asymptotic",
    says="The usual mean plus or minus a normal quantile of its standard error. It covers only in the limit of many "
    "rounds, fails where a few weights are large, and breaks when one looks twice: it never certifies.",
    proved="the central limit theorem, asymptotically",
    needs=THREE_COLUMNS, options=(), assumes=(INDEPENDENT, COVERAGE),
    paired=True, plan=plan, lower_bound=lower_bound,
    upper_bound=upper_bound,
)  # fmt: skip
