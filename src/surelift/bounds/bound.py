"""What a bound is to the rest of the library: what it promises, what it needs, and what its sums are worth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Literal, Protocol

import numpy as np

from surelift.errors import UsageError
from surelift.grids import Grid
from surelift.quantities import Quantity, Value
from surelift.quantities.regularizers import describe_regularizer
from surelift.statistics.plan import Needed
from surelift.statistics.sums import TermSums

Promise = Literal["any number of looks", "one look", "asymptotic", "none"]
THREE_COLUMNS, DISTRIBUTIONS = "three columns", "both distributions"
INDEPENDENT = "rounds are independent: production did not adapt to what it saw, and nothing drifts"
COVERAGE = "production could take every action that the policies take"


class FromSums(Protocol):
    def __call__(self, sums: TermSums, *, delta: float) -> float: ...


class Remark(Protocol):
    def __call__(self, sums: TermSums, *, delta: float) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One line of the table of bounds. Calling it with its options gives the ``BoundChoice`` that ``method=`` takes."""

    name: str
    promise: Promise
    """At its best; a smoothing or clip derived from the number of rounds reduces it to one look."""
    says: str
    """What it promises, in two sentences."""
    proved: str
    needs: str
    options: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    """What it assumes beyond what every bound does."""
    controls: tuple[str, ...] = ()
    """What may narrow it where the whole distributions are known."""
    in_blocks: bool = False
    """Whether it bets in blocks of the rounds."""
    paired: bool
    """Whether it can bound an improvement too, or values only."""
    plan: Callable[..., Needed]
    """From its options, and what is known of the quantity, to what is added up."""
    lower_bound: FromSums
    upper_bound: FromSums | None = None
    """None where an upper bound is made from the shortfall, as every certified one is."""
    remark: Remark | None = None
    """What keeps its result from being rigorous."""

    @property
    def certifies(self) -> bool:
        return self.promise in ("any number of looks", "one look")

    def __call__(self, **options: Any) -> "BoundChoice":
        unused = sorted(options.keys() - set(self.options))
        if unused:
            uses = f"it uses {', '.join(self.options)}" if self.options else "it has no options"
            meant = {"alpha": "delta", "confidence": "delta", "level": "delta", "baseline": "over"}.get(unused[0])
            hint = f" Did you mean {meant}=?" if meant else ""
            raise UsageError(f"method {self.name!r} does not use {unused[0]}=; {uses}.{hint}")
        given = {name: _plain(value) for name, value in options.items() if value is not None}
        return BoundChoice(self, {**self.defaults, **given})

    @property
    def defaults(self) -> dict[str, Any]:
        """What its options are where they are not given; without those that follow from the number of rounds."""
        known = {name: signature(self.plan).parameters[name].default for name in self.options}
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True)
class BoundChoice:
    """A bound with its options, those by default included, which a certificate stores too.

    What it promises with them is found once, when it is made.
    """

    bound: Bound
    options: Mapping[str, Any] = field(hash=False)
    promise: Promise = field(init=False)
    counts_rounds: bool = field(init=False)
    """Whether its plan depends on the number of rounds."""
    features: frozenset[str] = field(init=False)
    """What the table of capabilities knows it by."""

    def __post_init__(self) -> None:
        asked: list[int] = []

        def count() -> int:
            asked.append(1)
            return 1

        # With nothing at stake: a wrong option is refused before anything is read.
        needed = self.plan(quantity=Value(), offset=0.0, count=count)
        one_look = self.bound.promise == "any number of looks" and not needed.any_looks
        object.__setattr__(self, "promise", "one look" if one_look else self.bound.promise)
        object.__setattr__(self, "counts_rounds", bool(asked))
        bare = any(not moment.regularizer.for_densities for moment in needed.moments)
        object.__setattr__(self, "features", frozenset({"densities above 1"} if bare else ()))

    def plan(self, *, quantity: Quantity, offset: float, count: Callable[[], int], **narrowing: Any) -> Needed:
        return self.bound.plan(**self.options, **narrowing, quantity=quantity, offset=offset, count=count)

    def describe(self) -> dict[str, Any]:
        return {"method": self.bound.name, "options": {name: _describe(value) for name, value in self.options.items()}}


def _plain(option: Any) -> Any:
    if isinstance(option, Mapping):
        return Grid.from_description(option)
    return option.item() if isinstance(option, np.generic) else option


def _describe(option: Any) -> Any:
    if isinstance(option, Grid):
        return option.describe()
    return option if isinstance(option, str | int | float) else describe_regularizer(option)
