"""The usual bounds for independent rounds: empirical Bernstein, Efron-Stein, the normal interval, and the bootstrap."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from surelift.bounds.bound import COVERAGE, DISTRIBUTIONS, INDEPENDENT, THREE_COLUMNS, Bound, floored
from surelift.errors import positive, whole
from surelift.quantities import Quantity
from surelift.quantities.regularizers import Clipping
from surelift.statistics import MEAN, SQUARES, Moment, Needed, TermSums


def plan_empirical_bernstein(
    *, quantity: Quantity, offset: float, count: Callable[[], int], clip: float | None = None
) -> Needed:
    clipping = Clipping(math.sqrt(count()) if clip is None else positive("clip", clip))
    return Needed(moments=(Moment(clipping), Moment(clipping, 2)), any_looks=False)


def unfloored_empirical_bernstein(sums: TermSums, *, delta: float) -> float:
    r"""Bound a value from below with probability at least 1 - delta, for independent rounds and one look.

    .. math:: \bar{z} - \sqrt{\frac{2 \widehat{V} \log(2/\delta)}{n}} - \frac{7 M \log(2/\delta)}{3 (n - 1)},
              \qquad z = \min(w, M)\, r

    with the unbiased variance; Maurer and Pontil (2009), Swaminathan and Joachims (2015).
    """
    mean, squares = sums.needed.moments
    clipping = mean.regularizer
    assert isinstance(clipping, Clipping)
    if sums.rounds < 2:
        return -math.inf
    penalty = math.log(2.0 / delta)
    spread = math.sqrt(2.0 * _variance(sums, mean, squares) * penalty / sums.rounds)
    return sums.mean(mean) - spread - 7.0 * clipping.clip * penalty / (3.0 * (sums.rounds - 1))


def plan_draws(kind: str, *, quantity: Quantity, offset: float, count: Callable[[], int], draws: int = 1_000) -> Needed:
    known: dict[str, Any] = {kind: whole("draws", draws, least=2, most=1_000_000)}
    return Needed(offset=offset, any_looks=False, **known)


def unfloored_efron_stein(sums: TermSums, *, delta: float) -> float:
    r"""Bound a value from below as Kuzborskij et al. (2021) do, with variance proxies V and U from Monte-Carlo.

    .. math:: B \Bigl(\frac{\sum w r}{\sum w} - \sqrt{2 (V + U)(\log\tfrac2\delta + \tfrac12 \log(1 + \tfrac{V}{U}))}
              - e^{-b}\Bigr) - \sqrt{\frac{\log(2/\delta)}{2n}}, \quad b = \tfrac12 \log n, \quad
              B = \Bigl(1 - \tfrac1n \sqrt{2 b \textstyle\sum_i \sum_a \pi^2/\pi_0}\Bigr)_+
    """
    proxies = sums.proxies
    assert proxies is not None
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


def efron_stein_lower_bound(sums: TermSums, *, delta: float) -> float:
    return max(0.0, unfloored_efron_stein(sums, delta=delta))


def efron_stein_remark(sums: TermSums, *, delta: float) -> str:
    """Why it is no certificate, with how far the Monte-Carlo error may move it."""
    bound, proxies = unfloored_efron_stein(sums, delta=delta), sums.proxies
    assert proxies is not None
    if not math.isfinite(bound):
        return "not rigorous: rests on Monte-Carlo draws, and no logged action has any weight"
    more_variance = replace(proxies, variance=proxies.variance + proxies.variance_error)
    more_expected = replace(proxies, expected=proxies.expected + proxies.expected_error)
    moved = (replace(sums, proxies=other) for other in (more_variance, more_expected))
    error = math.hypot(*(unfloored_efron_stein(other, delta=delta) - bound for other in moved))
    return f"not rigorous: rests on {proxies.draws:,} Monte-Carlo draws, whose standard error moves a bound by {error:.1g}"


def plan_normal(*, quantity: Quantity, offset: float, count: Callable[[], int]) -> Needed:
    return Needed(offset=offset, moments=(MEAN, SQUARES), any_looks=False)


def normal_bound(sums: TermSums, *, delta: float, side: float) -> float:
    """The mean plus or minus a normal quantile of its standard error; covers in the limit of many rounds only."""
    from statistics import NormalDist

    margin = math.inf
    if sums.rounds >= 2:
        margin = -NormalDist().inv_cdf(delta) * math.sqrt(_variance(sums, MEAN, SQUARES) / sums.rounds)
    end = sums.mean(MEAN) + side * margin
    return max(0.0 - sums.needed.offset, end) if side < 0.0 else end


def _variance(sums: TermSums, mean: Moment, squares: Moment) -> float:
    centre = sums.mean(mean)
    return max(0.0, sums.moments[squares] - sums.rounds * centre * centre) / (sums.rounds - 1)


def bootstrap_bound(sums: TermSums, *, delta: float, side: float) -> float:
    """A quantile of the resampled means; covers in the limit of many rounds only."""
    assert sums.resamples is not None
    totals, rounds = sums.resamples
    means = np.divide(totals, rounds, out=np.zeros_like(totals), where=rounds > 0)
    end = float(np.quantile(means, delta if side < 0.0 else 1.0 - delta))
    return max(0.0 - sums.needed.offset, end) if side < 0.0 else end


empirical_bernstein = Bound(
    name="empirical-bernstein", promise="one look",
    proved="Maurer and Pontil (2009); Swaminathan and Joachims (2015)",
    says="Clips the weights and pays for their empirical variance and their range. It holds for independent rounds at "
    "one look at a number of rounds fixed in advance, and is wide unless there are many.",
    needs=THREE_COLUMNS, options=("clip",), assumes=(INDEPENDENT,), paired=False, plan=plan_empirical_bernstein,
    lower_bound=partial(floored, unfloored_empirical_bernstein),
)  # fmt: skip

efron_stein = Bound(
    name="efron-stein", promise="none", proved="Kuzborskij et al. (2021), but for the Monte-Carlo error",
    says="Bounds the self-normalised estimate by redrawing production's actions many times. Its proxies are "
    "Monte-Carlo averages, so as computed it is not rigorous: it is here for comparison, and never certifies.",
    needs=DISTRIBUTIONS, options=("draws",), assumes=(INDEPENDENT, COVERAGE),
    paired=False, plan=partial(plan_draws, "redraws"),
    lower_bound=efron_stein_lower_bound, remark=efron_stein_remark,
)  # fmt: skip

normal = Bound(
    name="normal", promise="asymptotic", proved="the central limit theorem, asymptotically",
    says="The usual mean plus or minus a normal quantile of its standard error. It covers only in the limit of many "
    "rounds, fails where a few weights are large, and breaks when one looks twice: it never certifies.",
    needs=THREE_COLUMNS, assumes=(INDEPENDENT, COVERAGE), paired=True, plan=plan_normal,
    lower_bound=partial(normal_bound, side=-1.0), upper_bound=partial(normal_bound, side=1.0),
)  # fmt: skip

bootstrap = Bound(
    name="bootstrap", promise="asymptotic", proved="asymptotically",
    says="The usual percentile bootstrap, with Poisson resamples. It covers only in the limit of many rounds, cannot "
    "know of the large weights it has not seen, and breaks when one looks twice: it never certifies.",
    needs=THREE_COLUMNS, options=("draws",), assumes=(INDEPENDENT, COVERAGE), paired=True,
    plan=partial(plan_draws, "resamples"),
    lower_bound=partial(bootstrap_bound, side=-1.0), upper_bound=partial(bootstrap_bound, side=1.0),
)  # fmt: skip
