"""The Efron-Stein bound on self-normalised importance weighting."""

import math
from collections.abc import Callable
from dataclasses import replace

from surelift.bounds.bound import COVERAGE, DISTRIBUTIONS, INDEPENDENT, Bound
from surelift.errors import whole
from surelift.quantities import Quantity
from surelift.statistics.plan import MEAN, Needed
from surelift.statistics.redraws import Proxies
from surelift.statistics.sums import TermSums


def plan(*, quantity: Quantity, offset: float, count: Callable[[], int], draws: int = 1_000) -> Needed:
    return Needed(redraws=whole("draws", draws, least=2, most=1_000_000), any_looks=False)


def unfloored(sums: TermSums, *, delta: float) -> float:
    r"""Bound a value from below as Kuzborskij et al. (2021) do, with variance proxies V and U from Monte-Carlo.

    .. math:: B \Bigl(\frac{\sum w r}{\sum w} - \sqrt{2 (V + U)(\log\tfrac2\delta + \tfrac12 \log(1 + \tfrac{V}{U}))}
              - e^{-b}\Bigr) - \sqrt{\frac{\log(2/\delta)}{2n}}, \quad b = \tfrac12 \log n, \quad
              B = \Bigl(1 - \tfrac1n \sqrt{2 b \textstyle\sum_i \sum_a \pi^2/\pi_0}\Bigr)_+
    """
    assert sums.proxies is not None
    return _bound(sums, sums.proxies, delta)


def lower_bound(sums: TermSums, *, delta: float) -> float:
    return max(0.0, unfloored(sums, delta=delta))


def remark(sums: TermSums, *, delta: float) -> str:
    """What keeps it from being a certificate, with how far the Monte-Carlo error may move it."""
    assert sums.proxies is not None
    proxies = sums.proxies
    if not math.isfinite(_bound(sums, proxies, delta)):
        return "not rigorous: rests on Monte-Carlo draws, and no logged action has any weight"
    moved = (
        _bound(sums, replace(proxies, variance=proxies.variance + proxies.variance_error), delta),
        _bound(sums, replace(proxies, expected=proxies.expected + proxies.expected_error), delta),
    )
    error = math.hypot(*(bound - unfloored(sums, delta=delta) for bound in moved))
    return f"not rigorous: rests on {proxies.draws:,} Monte-Carlo draws, whose standard error moves a bound by {error:.1g}"


def _bound(sums: TermSums, proxies: Proxies, delta: float) -> float:
    if sums.weights.total <= 0.0:
        return -math.inf
    estimate = sums.moments[MEAN] / sums.weights.total
    penalty, b = math.log(2.0 / delta), math.log(sums.rounds) / 2.0
    spread = penalty + math.log1p(proxies.variance / proxies.expected) / 2.0
    concentration = math.sqrt(2.0 * (proxies.variance + proxies.expected) * spread)
    # A single round has b = 0, which would make 0 of an infinite second moment.
    missing = math.isinf(proxies.second_moment)
    bias = 0.0 if missing else max(0.0, 1.0 - math.sqrt(2.0 * b * proxies.second_moment) / sums.rounds)
    return bias * (estimate - concentration - math.exp(-b)) - math.sqrt(penalty / (2.0 * sums.rounds))


EFRON_STEIN = Bound(
    name="efron-stein",
    promise="none",
    says="Bounds the self-normalised estimate by redrawing production's actions many times. Its proxies are "
    "Monte-Carlo averages, so as computed it is not rigorous: it is here for comparison, and never certifies.",
    proved="Kuzborskij et al. (2021), but for the Monte-Carlo error",
    needs=DISTRIBUTIONS, options=("draws",), assumes=(INDEPENDENT, COVERAGE),
    paired=False, plan=plan, lower_bound=lower_bound,
    remark=remark,
)  # fmt: skip
