"""The mixture of logarithmic smoothing over a grid: the default bound."""

import math
from collections.abc import Callable

import numpy as np

from surelift import grids
from surelift.arrays import FloatArray
from surelift.bounds.bound import ROUNDING, THREE_COLUMNS, Bound, rounded_down
from surelift.errors import UsageError
from surelift.grids import Grid
from surelift.quantities import Quantity
from surelift.statistics import MEAN, Narrowing, Needed, TermSums, on_grid
from surelift.statistics.plan import arranged

_STEPS = 100


def plan(
    *, quantity: Quantity, offset: float, count: Callable[[], int], narrowing: Narrowing | None = None,
    grid: str | Grid = "anytime",
) -> Needed:  # fmt: skip
    """The components of the grid asked for, and those of a control.

    ``count`` is called only where the grid depends on the number of rounds.
    """
    if grid == "planned":
        grid = grids.improvement(count()) if quantity.paired else grids.planned(count())
    elif grid == "anytime":
        # In units of what a term can fall by: the certified improvement of a blend is then alpha times the candidate's.
        grid = grids.anytime().scaled(1.0 / offset) if quantity.paired else grids.anytime()
    if not isinstance(grid, Grid):
        raise UsageError(f"no grid {grid!r}; the grids are 'anytime', 'planned', or a Grid of your own.")
    plain = on_grid(grid, offset=offset)
    return plain if narrowing is None else narrowing(plain, grid)


def log_wealth(mean: float, sums: TermSums) -> float:
    r"""The logarithm of the evidence against "the mean is at most ``mean``".

    .. math:: \log \sum_j p_j \prod_i \frac{1 + \lambda_j (\phi_{ij} + \kappa_j)}{1 + \lambda_j (m + \kappa_j)}

    Were the mean at most that, the wealth would be a nonnegative supermartingale that starts at 1, and would ever reach
    1/delta with probability at most delta. Two rounds with terms 2 and 0 and smoothing 0.5, held against a mean of 0,
    have the factors 2 and 1, and the wealth 2.
    """
    parts = arranged(sums.needed.components)
    weighted = parts.log_prior + sums.log_sums
    with np.errstate(over="ignore"):  # a margin far beyond the range: no wealth
        return float(np.logaddexp.reduce(weighted - sums.rounds * np.log1p(parts.smoothings * (mean + parts.offsets))))


def lower_bound(sums: TermSums, *, delta: float) -> float:
    """Bound a mean from below, with probability at least 1 - delta, at every number of rounds at once.

    The bound is the mean at which :func:`log_wealth` equals log(1/delta). Where even the least possible mean (minus the
    smallest offset) has not that much against it, there is no evidence, and that least mean is the answer. The wealth
    falls and is convex in the mean, so Newton's steps climb to the root from below, and each is itself a valid bound.
    """
    parts = arranged(sums.needed.components)
    floor = 0.0 - float(parts.offsets.min())
    if sums.rounds == 0:
        return floor
    weighted, target = parts.log_prior + sums.log_sums, math.log(1.0 / delta)
    mean = root(weighted, parts.smoothings, parts.offsets, rounds=sums.rounds, target=target, floor=floor)
    return rounded_down(mean, floor, abs(floor))


def centre(sums: TermSums, mean: float) -> float:
    """The mean of the terms, each component weighed as it counts in the slope of the wealth at ``mean``.

    Taken at the lower bound it lies above it. With shares s_j of the wealth there, sum_j s_j L_j = log(1/delta) + KL(s || p)
    is positive, L_j being the logarithm of a component's evidence; and L_j is at most n b_j (mean of its terms - bound), by
    Jensen and since log is concave, with b_j = smoothing_j/(1 + smoothing_j (bound + offset_j)). So the mean weighed by
    s_j b_j exceeds the bound. Without a control all components have the same terms, and this is their mean.
    """
    parts = arranged(sums.needed.components)
    if not parts.controlled:
        return sums.moments[MEAN] / sums.rounds
    return float(central_weights(sums, mean) @ (sums.sums / sums.rounds - parts.offsets))


def central_weights(sums: TermSums, mean: float) -> FloatArray:
    """The share of each component in the slope of the wealth at ``mean``."""
    parts = arranged(sums.needed.components)
    shifted = 1.0 + parts.smoothings * (mean + parts.offsets)
    exponents = parts.log_prior + sums.log_sums - sums.rounds * np.log(shifted)
    weights = np.exp(exponents - exponents.max()) * parts.smoothings / shifted
    return np.asarray(weights / weights.sum())


def root(
    weighted: FloatArray, smoothing: FloatArray, offset: FloatArray, *, rounds: int, target: float, floor: float
) -> float:
    """The mean at which the mixture of components has the logarithm ``target``, or ``floor`` where it has less there.

    ``weighted`` holds the log sums with the logarithms of the prior added. Newton's steps climb from the best component
    alone, and stop short of the root by rounding at most.
    """
    with np.errstate(over="ignore"):
        alone = np.expm1((weighted - target) / rounds) / smoothing - offset
    mean = max(floor, float(alone.max(initial=floor, where=np.isfinite(alone))))
    for _ in range(_STEPS):
        growth = smoothing * (mean + offset)
        exponents = weighted - rounds * np.log1p(growth)
        top = float(exponents.max())
        shares = np.exp(exponents - top)
        excess = top + math.log(float(shares.sum())) - target
        slope = rounds * float((shares * smoothing / (1.0 + growth)).sum() / shares.sum())
        step = excess / slope
        if step <= 0.0:
            break
        mean += step
        if step <= ROUNDING * (abs(mean) + abs(floor)):
            break
    return mean


MIXTURE = Bound(
    name="mixture", promise="any number of looks",
    proved="Theorem 1: a nonnegative supermartingale and Ville's inequality",
    says="Tries many smoothings at once, each with a share of a prior fixed in advance, so that you need not "
    "choose one or know the number of rounds. With its default grid it is a confidence sequence: it holds at every number "
    "of rounds at once, under adaptive logging, and with unbounded weights.",
    needs=THREE_COLUMNS, options=("grid",), controls=("weights", "model", "score"), paired=True, plan=plan,
    lower_bound=lower_bound,
)  # fmt: skip
