"""Implicit exploration: a little probability added to every propensity."""

import math
from collections.abc import Callable

from surelift.bounds.bound import THREE_COLUMNS, Bound
from surelift.bounds.logarithmic_smoothing import single_smoothing
from surelift.bounds.mixture import rounded_down
from surelift.quantities import Quantity
from surelift.quantities.regularizers import ImplicitExploration
from surelift.statistics.plan import Moment, Needed
from surelift.statistics.sums import TermSums


def plan(*, quantity: Quantity, offset: float, count: Callable[[], int], smoothing: float | None = None) -> Needed:
    grid = single_smoothing(smoothing, count)
    (chosen,) = grid.smoothings
    return Needed(moments=(Moment(ImplicitExploration(chosen)),), smoothing=chosen, any_looks=grid.any_looks)


def unfloored(sums: TermSums, *, delta: float) -> float:
    r"""Bound a value from below with probability at least 1 - delta.

    .. math:: \frac1n \sum_i \frac{p_i r_i}{q_i + \lambda/2} - \frac{\log(1/\delta)}{\lambda n}

    Gabbianelli et al. (2024); the paper, Equation 17 and Proposition 8.
    """
    (moment,) = sums.needed.moments
    return sums.mean(moment) - math.log(1.0 / delta) / (sums.needed.smoothing * sums.rounds)


def lower_bound(sums: TermSums, *, delta: float) -> float:
    return rounded_down(unfloored(sums, delta=delta))


IMPLICIT_EXPLORATION = Bound(
    name="implicit-exploration",
    promise="any number of looks",
    says="Adds smoothing/2 to every propensity, which tames the weights. It is never narrower than logarithmic "
    "smoothing with the same smoothing, and holds wherever that does.",
    proved="Gabbianelli et al. (2024); Sakhi et al. (2024), Proposition 8",
    needs=THREE_COLUMNS, options=("smoothing",), paired=False, plan=plan,
    lower_bound=lower_bound,
)  # fmt: skip
