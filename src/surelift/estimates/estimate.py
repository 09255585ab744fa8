"""A point estimate: the mean of a regularizer, or another function of its sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from surelift.quantities.regularizers import Plain, Regularizer
from surelift.statistics.plan import Moment
from surelift.statistics.sums import TermSums


def mean(sums: TermSums, moment: Moment) -> float:
    return sums.mean(moment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A row of the table of estimates."""

    says: str
    """A one-sentence description."""
    seen: str
    """The reference."""
    regularizer: Callable[..., Regularizer] = Plain
    parameter: Literal["", "clip", "alpha", "strength", "smoothing"] = ""
    """The regularizer's hyperparameter."""
    besides: tuple[Regularizer, ...] = ()
    """Further regularizers its value needs."""
    value: Callable[[TermSums, Moment], float] = mean

    @property
    def asks_model(self) -> bool:
        return bool(getattr(self.regularizer, "asks_model", False))
