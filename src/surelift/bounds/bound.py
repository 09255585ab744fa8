"""What a bound is to the rest of the library: what it promises, what it needs, and what sums are worth to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from surelift.statistics import Needed, TermSums

Promise = Literal["any number of looks", "one look", "asymptotic", "none"]


class FromSums(Protocol):
    def __call__(self, sums: TermSums, *, delta: float) -> float: ...


class Remark(Protocol):
    def __call__(self, sums: TermSums, *, delta: float) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A line of the table of bounds."""

    promise: Promise
    """At its best; a smoothing or clip that is made from the number of rounds brings it down to one look."""
    says: str
    """What it promises, in two sentences."""
    proved: str
    needs: str
    options: tuple[str, ...]
    """The options of a question that it uses; another is an error."""
    assumes: tuple[str, ...] = ()
    """What it assumes beyond what every bound does."""
    controls: tuple[str, ...] = ()
    """What may narrow it, where the whole distributions are known."""
    paired: bool
    """Whether it can bound an improvement too, or values only."""
    any_units: bool = False
    """Whether it can count clusters, and rounds that stand for others that were dropped."""
    plan: Callable[..., Needed]
    """From its options, and what is known of the quantity, to what is added up."""
    lower_bound: FromSums
    upper_bound: FromSums | None = None
    """None where an upper bound is made from the shortfall, as every certified one is."""
    remark: Remark | None = None
    """What its result has to say of itself."""

    @property
    def certifies(self) -> bool:
        return self.promise in ("any number of looks", "one look")
