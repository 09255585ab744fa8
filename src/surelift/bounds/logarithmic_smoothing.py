"""Logarithmic smoothing with a single smoothing, as in the paper."""

import math
from collections.abc import Callable, Sequence

from surelift import grids
from surelift.arrays import FloatArray
from surelift.bounds.mixture import ROUNDING
from surelift.errors import UsageError, is_number
from surelift.grids import Grid
from surelift.statistics import Component


def choose_grid(smoothing: float | None = None, *, paired: bool, offset: float, count: Callable[[], int]) -> Grid:
    """One smoothing: the one named, which holds at any number of looks, or 1/sqrt(rounds), for one look."""
    if smoothing is None:
        return grids.from_rounds(count())
    if not is_number(smoothing):
        raise UsageError(f"smoothing must be a number, but is {smoothing!r}.")
    return grids.single(float(smoothing))


def unfloored(log_sum: float, component: Component, *, rounds: int, delta: float) -> float:
    r"""Bound a mean from below by logarithmic smoothing, with probability at least 1 - delta.

    .. math:: \frac{1}{\lambda}\Bigl(\exp\bigl(\tfrac1n \sum_i \log(1 + \lambda (\phi_i + \kappa))
              - \tfrac1n \log(1/\delta)\bigr) - 1\Bigr) - \kappa

    The paper, Corollary 5 and Equation 13, in reward form; its :math:`\lambda`, fixed before seeing the data, is the
    component's smoothing. With terms 2 and 0 the log sum of log 2 meets a penalty of log 2:

    >>> unfloored(math.log(2), Component(0.5, 0.0, 1.0), rounds=2, delta=0.5)
    0.0
    """
    return math.expm1((log_sum + math.log(delta)) / rounds) / component.smoothing - component.offset


def lower_bound(log_sums: FloatArray, components: Sequence[Component], *, rounds: int, delta: float) -> float:
    """The same, rounded down, and never below the least the mean can be."""
    (component,) = components
    if rounds == 0:
        return 0.0 - component.offset
    bound = unfloored(float(log_sums[0]), component, rounds=rounds, delta=delta)
    return max(0.0 - component.offset, bound - ROUNDING * (abs(bound) + component.offset))
