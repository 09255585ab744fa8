"""The paper's family: moments of order L of any regularizer that never exceeds w r."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from surelift.bounds.bound import THREE_COLUMNS, Bound
from surelift.bounds.logarithmic_smoothing import single_smoothing
from surelift.bounds.mixture import rounded_down
from surelift.errors import UsageError, positive, whole
from surelift.quantities import Quantity
from surelift.quantities.regularizers import BUILT_IN, Clipping, Custom, GlobalClipping, Regularizer, regularizer_named
from surelift.statistics.plan import Moment, Needed
from surelift.statistics.sums import TermSums


def plan(
    *,
    quantity: Quantity,
    offset: float,
    count: Callable[[], int],
    smoothing: float | None = None,
    order: int = 2,
    regularizer: Any = "clipping",
    clip: float | None = None,
) -> Needed:
    """Powers 1 to 2L of the regularized terms; by default of clipping at sqrt(rounds), to order 2."""
    chosen, fixed = choose_regularizer(regularizer, clip, count)
    grid = single_smoothing(smoothing, count)
    power = whole("order", order, most=1_000)
    return powers(chosen, order=power, grid_smoothing=grid.smoothings[0], any_looks=grid.any_looks and fixed)


def plan_second_moment(
    *, quantity: Quantity, offset: float, count: Callable[[], int], smoothing: float | None = None
) -> Needed:
    """Order 1 of global clipping, the best regularizer for it (the paper, Corollary 4)."""
    grid = single_smoothing(smoothing, count)
    (best,) = grid.smoothings
    return powers(GlobalClipping(best), order=1, grid_smoothing=best, any_looks=grid.any_looks)


def powers(regularizer: Regularizer, *, order: int, grid_smoothing: float, any_looks: bool) -> Needed:
    moments = tuple(Moment(regularizer, power) for power in range(1, 2 * order + 1))
    return Needed(moments=moments, smoothing=grid_smoothing, any_looks=any_looks)


def choose_regularizer(form: Any, clip: float | None, count: Callable[[], int]) -> tuple[Regularizer, bool]:
    """A regularizer fit for a bound, and whether it was fixed without the number of rounds."""
    if form == "clipping":
        return Clipping(math.sqrt(count()) if clip is None else positive("clip", clip)), clip is not None
    if clip is not None:
        raise UsageError("clip= is for the regularizer 'clipping'; name the parameter of another as in 'shrinkage:5'.")
    chosen: Regularizer
    if isinstance(form, str):
        chosen = regularizer_named(form)
    elif isinstance(form, BUILT_IN):
        chosen = form
    elif callable(form):
        chosen = Custom(form)
    else:
        raise UsageError(f"a regularizer is a name such as 'clipping:10' or a function, not a {type(form).__name__}.")
    if not chosen.shrinks:
        raise UsageError(
            f"{type(chosen).__name__} may exceed w r, which breaks the paper's condition C1: no bound holds for it. "
            "For the harmonic one say 'harmonic:STRENGTH', which is repaired."
        )
    return chosen, True


def unfloored(sums: TermSums, *, delta: float) -> float:
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


def lower_bound(sums: TermSums, *, delta: float) -> float:
    return rounded_down(unfloored(sums, delta=delta))


SECOND_MOMENT = Bound(
    name="second-moment",
    promise="any number of looks",
    says="Clips w r at 1/smoothing and pays for its second moment: the paper's best bound of order 1. It is never "
    "narrower than logarithmic smoothing with the same smoothing, and holds wherever that does.",
    proved="Sakhi et al. (2024), Corollary 4",
    needs=THREE_COLUMNS, options=("smoothing",), paired=False, plan=plan_second_moment,
    lower_bound=lower_bound,
)  # fmt: skip


MOMENTS = Bound(
    name="moments",
    promise="any number of looks",
    says="The paper's family: the first 2L moments of any regularizer that never exceeds w r. It is never narrower "
    "than logarithmic smoothing with the same smoothing, and holds wherever that does.",
    proved="Sakhi et al. (2024), Proposition 1",
    needs=THREE_COLUMNS, options=("smoothing", "order", "regularizer", "clip"), paired=False, plan=plan,
    lower_bound=lower_bound,
)  # fmt: skip
