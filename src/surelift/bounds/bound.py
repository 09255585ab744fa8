"""What a bound is to the rest of the library: what it promises, what it needs, and what sums are worth to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from surelift.arrays import FloatArray
from surelift.grids import Grid
from surelift.statistics import Component


class LowerBound(Protocol):
    def __call__(
        self, log_sums: FloatArray, components: Sequence[Component], *, rounds: int, delta: float
    ) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A line of the table of bounds."""

    says: str
    """What it promises, in two sentences."""
    proved: str
    options: frozenset[str]
    """The options of a question that it uses; another is an error."""
    choose_grid: Callable[..., Grid]
    """From those options, and what is known of the quantity, to smoothings."""
    lower_bound: LowerBound
