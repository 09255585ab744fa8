"""A point estimate, the mean of a regularizer or another function of its sums; and what the paper says of smoothed ones."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from surelift.errors import LogsError
from surelift.quantities.regularizers import Discrepancy, LinearDiscrepancy, Plain, Regularizer
from surelift.statistics.plan import SQUARES, Moment
from surelift.statistics.sums import TermSums


def self_normalised(sums: TermSums, moment: Moment) -> float:
    """The sum of w r over the sum of w."""
    if sums.weights.total <= 0.0:
        raise LogsError("the policy would never take any logged action, so the self-normalised estimate is undefined.")
    return sums.moments[moment] / sums.weights.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    says: str  # a one-sentence description
    seen: str  # the reference
    regularizer: Callable[..., Regularizer] = Plain
    parameter: Literal["", "clip", "alpha", "strength", "smoothing"] = ""  # the regularizer's hyperparameter
    besides: tuple[Regularizer, ...] = ()  # further regularizers its value needs
    value: Callable[[TermSums, Moment], float] = TermSums.mean

    @property
    def asks_model(self) -> bool:
        return bool(getattr(self.regularizer, "asks_model", False))


def plug_ins(sums: TermSums, discrepancy: Moment, *, best: TermSums, candidates: int, delta: float) -> dict[str, float]:
    """The paper's expectations for logarithmic smoothing, with sample means plugged in: not certificates.

    With S the mean of the discrepancy, the bias is at most smoothing times S under full support, and the variance S over the
    number of rounds n (Proposition 6). The estimate is sub-Gaussian at a smoothing of sqrt(log(2/delta)/(n E[(w r)^2]))
    (Proposition 7). With probability 1 - delta the policy selected is no further from the best one, whose S counts, than
    smoothing S + 2 log(2 candidates/delta)/(smoothing n) (Proposition 9).
    """
    regularizer, spread, second = discrepancy.regularizer, sums.mean(discrepancy), sums.mean(SQUARES)
    if isinstance(regularizer, LinearDiscrepancy):
        return {"linear_discrepancy": spread}
    if not isinstance(regularizer, Discrepancy):
        return {}
    smoothing, rounds = regularizer.smoothing, sums.rounds
    found = {"discrepancy": spread, "bias_at_most": smoothing * spread, "variance_at_most": spread / rounds}
    if second > 0.0:
        found["sub_gaussian_smoothing"] = math.sqrt(math.log(2.0 / delta) / (rounds * second))
    if smoothing > 0.0:
        price = 2.0 * math.log(2.0 * candidates / delta) / (smoothing * rounds)
        found["selection_suboptimality"] = smoothing * best.mean(discrepancy) + price
    return found
