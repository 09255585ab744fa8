"""What a point estimate is: what it adds up, and what the sums are worth to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from surelift.statistics import Moment, TermSums


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A line of the table of estimates."""

    says: str
    """What it is, in a sentence."""
    seen: str
    """Where it comes from."""
    parameter: Literal["", "clip", "alpha", "strength", "smoothing"] = ""
    """The hyper-parameter it takes."""
    moments: Callable[..., tuple[Moment, ...]]
    """From the hyper-parameter to what is added up."""
    value: Callable[[TermSums, tuple[Moment, ...]], float]
