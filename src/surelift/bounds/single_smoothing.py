"""The paper's bounds with a single smoothing: logarithmic smoothing, moments of a regularizer, and implicit exploration."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from surelift import grids
from surelift.bounds.bound import THREE_COLUMNS, Bound, floored, rounded_down
from surelift.errors import UsageError, positive, whole
from surelift.grids import Grid
from surelift.quantities import Quantity, regularizers
from surelift.quantities.regularizers import Clipping, Regularizer
from surelift.statistics import Moment, Needed, TermSums, on_grid


def single_smoothing(smoothing: float | None, count: Callable[[], int]) -> Grid:
    """The smoothing named, which holds at any number of looks, or the paper's 1/sqrt(rounds), for one look."""
    return grids.from_rounds(count()) if smoothing is None else grids.single(positive("smoothing", smoothing))


def plan_logarithmic_smoothing(
    *, quantity: Quantity, offset: float, count: Callable[[], int], smoothing: float | None = None
) -> Needed:
    return on_grid(single_smoothing(smoothing, count), offset=offset)


def unfloored_logarithmic_smoothing(sums: TermSums, *, delta: float) -> float:
    r"""Bound a mean from below by logarithmic smoothing, with probability at least 1 - delta.

    .. math:: \frac{1}{\lambda}\Bigl(\exp\bigl(\tfrac1n \sum_i \log(1 + \lambda (\phi_i + \kappa))
              - \tfrac1n \log(1/\delta)\bigr) - 1\Bigr) - \kappa

    The paper, Corollary 5 and Equation 13, in reward form; its :math:`\lambda`, fixed before seeing the data, is the
    smoothing of the one component.
    """
    (component,) = sums.needed.components
    exponent = (float(sums.log_sums[0]) + math.log(delta)) / sums.rounds
    return math.expm1(exponent) / component.smoothing - component.offset


def logarithmic_smoothing_bound(sums: TermSums, *, delta: float) -> float:
    floor = 0.0 - sums.needed.offset
    if sums.rounds == 0:
        return floor
    return rounded_down(unfloored_logarithmic_smoothing(sums, delta=delta), floor, abs(floor))


def unfloored_implicit_exploration(sums: TermSums, *, delta: float) -> float:
    r"""Bound a value from below, by a little probability added to every propensity, with probability at least 1 - delta.

    .. math:: \frac1n \sum_i \frac{p_i r_i}{q_i + \lambda/2} - \frac{\log(1/\delta)}{\lambda n}

    Gabbianelli et al. (2024); the paper, Equation 17 and Proposition 8.
    """
    (moment,) = sums.needed.moments
    return sums.mean(moment) - math.log(1.0 / delta) / (sums.needed.smoothing * sums.rounds)


def plan_powers(
    form: Callable[[float], Regularizer], most: int, *, quantity: Quantity, offset: float, count: Callable[[], int],
    smoothing: float | None = None,
) -> Needed:  # fmt: skip
    """Powers 1 to ``most`` of terms under the regularizer that a smoothing gives."""
    grid = single_smoothing(smoothing, count)
    return _powers(form(grid.smoothings[0]), most, grid)


def plan_moments(
    *, quantity: Quantity, offset: float, count: Callable[[], int], smoothing: float | None = None, order: int = 2,
    regularizer: Any = "clipping", clip: float | None = None,
) -> Needed:  # fmt: skip
    """Powers 1 to 2L of the regularized terms; by default of clipping at sqrt(rounds), to order 2."""
    counted = regularizer == "clipping" and clip is None
    chosen = Clipping(math.sqrt(count())) if counted else _fixed_regularizer(regularizer, clip)
    grid = single_smoothing(smoothing, count)
    return _powers(chosen, 2 * whole("order", order, most=1_000), grid, fixed=not counted)


def _powers(regularizer: Regularizer, most: int, grid: Grid, *, fixed: bool = True) -> Needed:
    moments = tuple(Moment(regularizer, power) for power in range(1, most + 1))
    return Needed(moments=moments, smoothing=grid.smoothings[0], any_looks=grid.any_looks and fixed)


def _fixed_regularizer(form: Any, clip: float | None) -> Regularizer:
    if form == "clipping":
        return Clipping(positive("clip", clip))
    wrong, chosen = "", form
    if isinstance(form, str):
        chosen = regularizers.regularizer_named(form)
    built_in = isinstance(chosen, regularizers.BUILT_IN)
    if clip is not None:
        wrong = "clip= is for the regularizer 'clipping'; name the parameter of another as in 'shrinkage:5'."
    elif not (built_in or callable(chosen)):
        wrong = f"a regularizer is a name such as 'clipping:10' or a function, not a {type(form).__name__}."
    elif built_in and not chosen.shrinks:
        wrong = (
            f"{type(chosen).__name__} may exceed w r, which breaks the paper's condition C1: no bound holds for it. "
            "For the harmonic one say 'harmonic:STRENGTH', which is repaired."
        )
    if wrong:
        raise UsageError(wrong)
    fit: Regularizer = chosen if built_in else regularizers.Custom(chosen)
    return fit


def unfloored_moments(sums: TermSums, *, delta: float) -> float:
    r"""Bound a value from below by the moments of a regularized term g up to order 2L.

    .. math:: \frac{1}{\lambda}\Bigl(\exp\bigl(\lambda \bar{g} - \sum_{\ell=2}^{2L} \tfrac{\lambda^\ell}{\ell}
              \overline{(-g)^\ell} - \tfrac1n \log(1/\delta)\bigr) - 1\Bigr)

    The paper, Proposition 1, in reward form.
    """
    smoothing = np.float64(sums.needed.smoothing)
    exponent = -math.log(1.0 / delta) / sums.rounds
    # Powers of huge weights may overflow to infinity on both sides; then nothing is known.
    with np.errstate(over="ignore", invalid="ignore"):
        for moment in sums.needed.moments:
            sign = 1.0 if moment.power % 2 else -1.0
            exponent += sign * smoothing**moment.power / moment.power * sums.mean(moment)
    return math.expm1(exponent) / float(smoothing) if np.isfinite(exponent) else -1.0 / float(smoothing)


logarithmic_smoothing = Bound(
    name="logarithmic-smoothing", promise="any number of looks", proved="Sakhi et al. (2024), Corollary 5",
    says="The paper's bound: logarithms tame large weights, with a single smoothing fixed before the data is seen. "
    "It holds at any number of looks for a smoothing you name, and at one look for the default 1/sqrt(rounds), which "
    "is vacuous where rewards are rare.",
    needs=THREE_COLUMNS, options=("smoothing",), paired=True,
    plan=plan_logarithmic_smoothing, lower_bound=logarithmic_smoothing_bound,
)  # fmt: skip

second_moment = Bound(
    name="second-moment", promise="any number of looks", proved="Sakhi et al. (2024), Corollary 4",
    says="Clips w r at 1/smoothing and pays for its second moment: the paper's best bound of order 1. It is never "
    "narrower than logarithmic smoothing with the same smoothing, and holds wherever that does.",
    needs=THREE_COLUMNS, options=("smoothing",), paired=False,
    plan=partial(plan_powers, regularizers.GlobalClipping, 2), lower_bound=partial(floored, unfloored_moments),
)  # fmt: skip

moments = Bound(
    name="moments", promise="any number of looks", proved="Sakhi et al. (2024), Proposition 1",
    says="The paper's family: the first 2L moments of any regularizer that never exceeds w r. It is never narrower "
    "than logarithmic smoothing with the same smoothing, and holds wherever that does.",
    needs=THREE_COLUMNS, options=("smoothing", "order", "regularizer", "clip"), paired=False,
    plan=plan_moments, lower_bound=partial(floored, unfloored_moments),
)  # fmt: skip

implicit_exploration = Bound(
    name="implicit-exploration", promise="any number of looks",
    proved="Gabbianelli et al. (2024); Sakhi et al. (2024), Proposition 8",
    says="Adds smoothing/2 to every propensity, which tames the weights. It is never narrower than logarithmic "
    "smoothing with the same smoothing, and holds wherever that does.",
    needs=THREE_COLUMNS, options=("smoothing",), paired=False,
    plan=partial(plan_powers, regularizers.ImplicitExploration, 1),
    lower_bound=partial(floored, unfloored_implicit_exploration),
)  # fmt: skip
