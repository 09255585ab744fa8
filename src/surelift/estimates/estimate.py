"""What a point estimate is: a regularizer whose mean it takes, or another use of its sums."""

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
    """A line of the table of estimates."""

    says: str
    """What it is, in a sentence."""
    seen: str
    """Where it comes from."""
    regularizer: Callable[..., Regularizer] = Plain
    parameter: Literal["", "clip", "alpha", "strength", "smoothing"] = ""
    """The hyper-parameter the regularizer takes."""
    besides: tuple[Regularizer, ...] = ()
    """What else its value is made from."""
    value: Callable[[TermSums, Moment], float] = mean

    @property
    def asks_model(self) -> bool:
        return bool(getattr(self.regularizer, "asks_model", False))
