"""A point estimate: the mean of a regularizer, or another function of its sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from surelift.errors import LogsError
from surelift.quantities.regularizers import Plain, Regularizer
from surelift.statistics.plan import Moment
from surelift.statistics.sums import TermSums


def self_normalised(sums: TermSums, moment: Moment) -> float:
    """The sum of w r over the sum of w."""
    if sums.weights.total <= 0.0:
        raise LogsError("the policy would never take any logged action, so the self-normalised estimate is undefined.")
    return sums.moments[moment] / sums.weights.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    says: str
    """A one-sentence description."""
    seen: str
    """The reference."""
    regularizer: Callable[..., Regularizer] = Plain
    parameter: Literal["", "clip", "alpha", "strength", "smoothing"] = ""
    """The regularizer's hyperparameter."""
    besides: tuple[Regularizer, ...] = ()
    """Further regularizers its value needs."""
    value: Callable[[TermSums, Moment], float] = TermSums.mean

    @property
    def asks_model(self) -> bool:
        return bool(getattr(self.regularizer, "asks_model", False))
