"""Logarithmic smoothing with a single smoothing, as in the paper."""

import math
from collections.abc import Callable

from surelift import grids
from surelift.bounds.bound import THREE_COLUMNS, Bound
from surelift.bounds.mixture import ROUNDING
from surelift.errors import positive
from surelift.grids import Grid
from surelift.quantities import Quantity
from surelift.statistics.plan import Needed, on_grid
from surelift.statistics.sums import TermSums


def single_smoothing(smoothing: float | None, count: Callable[[], int]) -> Grid:
    """The smoothing named, which holds at any number of looks, or the paper's 1/sqrt(rounds), for one look."""
    return grids.from_rounds(count()) if smoothing is None else grids.single(positive("smoothing", smoothing))


def plan(*, quantity: Quantity, offset: float, count: Callable[[], int], smoothing: float | None = None) -> Needed:
    return on_grid(single_smoothing(smoothing, count), offset=offset)


def unfloored(sums: TermSums, *, delta: float) -> float:
    r"""Bound a mean from below by logarithmic smoothing, with probability at least 1 - delta.

    .. math:: \frac{1}{\lambda}\Bigl(\exp\bigl(\tfrac1n \sum_i \log(1 + \lambda (\phi_i + \kappa))
              - \tfrac1n \log(1/\delta)\bigr) - 1\Bigr) - \kappa

    The paper, Corollary 5 and Equation 13, in reward form; its :math:`\lambda`, fixed before seeing the data, is the
    smoothing of the one component.
    """
    (component,) = sums.needed.components
    exponent = (float(sums.log_sums[0]) + math.log(delta)) / sums.rounds
    return math.expm1(exponent) / component.smoothing - component.offset


def lower_bound(sums: TermSums, *, delta: float) -> float:
    """The same, rounded down, and never below the least the mean can be."""
    floor = 0.0 - sums.needed.offset
    if sums.rounds == 0:
        return floor
    bound = unfloored(sums, delta=delta)
    return max(floor, bound - ROUNDING * (abs(bound) + abs(floor)))


LOGARITHMIC_SMOOTHING = Bound(
    name="logarithmic-smoothing",
    promise="any number of looks",
    says="The paper's bound: logarithms tame large weights, with a single smoothing fixed before the data is seen. "
    "It holds at any number of looks for a smoothing you name, and at one look for the default 1/sqrt(rounds), which "
    "is vacuous where rewards are rare.",
    proved="Sakhi et al. (2024), Corollary 5",
    needs=THREE_COLUMNS, options=("smoothing",), paired=True, plan=plan,
    lower_bound=lower_bound,
)  # fmt: skip
