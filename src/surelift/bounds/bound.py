"""A bound, as the rest of the library sees it: its promise, its needs, and the worth of its sums."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, Literal, Protocol

import numpy as np

from surelift.errors import UsageError
from surelift.grids import Grid
from surelift.quantities import Value
from surelift.quantities.regularizers import describe_regularizer
from surelift.statistics import Needed, TermSums

Promise = Literal["any number of looks", "one look", "asymptotic", "none"]
THREE_COLUMNS, DISTRIBUTIONS = "three columns", "both distributions"
INDEPENDENT = "rounds are independent: production did not adapt to what it saw, and nothing drifts"
COVERAGE = "production could take every action that the policies take"
# The names other libraries have for options of the question.
MEANT = {"alpha": "delta", "confidence": "delta", "level": "delta", "baseline": "over"}
# Rounding in the sums and in the root stays below this, relative to the size of the terms; it is taken off the bound.
ROUNDING = 1e-13


class FromSums(Protocol):
    def __call__(self, sums: TermSums, *, delta: float) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One line of the table of bounds. Calling it with its options gives the ``BoundChoice`` that ``method=`` takes."""

    name: str
    promise: Promise
    """A smoothing or clip derived from the number of rounds reduces it to one look."""
    says: str
    proved: str
    needs: str
    options: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    in_blocks: bool = False
    paired: bool
    plan: Callable[..., Needed]
    """Turns its options, the quantity and the count of rounds into what is added up."""
    lower_bound: FromSums
    upper_bound: FromSums | None = None
    """None where an upper bound is made from the shortfall, as every certified one is."""
    remark: Callable[..., str] | None = None
    """Why its result is not rigorous, from the sums and delta."""
    certifies: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "certifies", self.promise in ("any number of looks", "one look"))

    def __call__(self, **options: Any) -> "BoundChoice":
        chosen = self.defaults
        for name, value in options.items():
            if name not in self.options:
                uses = f"it uses {', '.join(self.options)}" if self.options else "it has no options"
                hint = f" Did you mean {MEANT[name]}=?" if name in MEANT else ""
                raise UsageError(f"method {self.name!r} does not use {name}=; {uses}.{hint}")
            if isinstance(value, Mapping):
                value = Grid.from_description(value)
            if value is not None:
                chosen[name] = value.item() if isinstance(value, np.generic) else value
        return BoundChoice(self, chosen)

    @property
    def defaults(self) -> dict[str, Any]:
        """Its options where they are not given; without those that follow from the number of rounds."""
        parameters = signature(self.plan).parameters
        return {name: parameters[name].default for name in self.options if parameters[name].default is not None}


@dataclass(frozen=True, slots=True)
class BoundChoice:
    """A bound with its options, those by default included, which a certificate stores too."""

    bound: Bound
    options: Mapping[str, Any] = field(hash=False)
    promise: Promise = field(init=False)
    counts_rounds: bool = field(init=False)
    features: frozenset[str] = field(init=False)
    plan: Callable[..., Needed] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plan", partial(self.bound.plan, **self.options))
        counts = [1] * 8
        # With nothing at stake: a wrong option is refused before anything is read.
        needed = self.plan(quantity=Value(), offset=0.0, count=counts.pop)
        one_look = self.bound.promise == "any number of looks" and not needed.any_looks
        object.__setattr__(self, "promise", "one look" if one_look else self.bound.promise)
        object.__setattr__(self, "counts_rounds", len(counts) < 8)
        bare = any(not moment.regularizer.for_densities for moment in needed.moments)
        object.__setattr__(self, "features", frozenset({"densities above 1"} if bare else ()))

    def describe(self) -> dict[str, Any]:
        options = dict(self.options)
        for name, value in options.items():
            if isinstance(value, Grid):
                options[name] = value.describe()
            elif not isinstance(value, str | int | float):
                options[name] = describe_regularizer(value)
        return {"method": self.bound.name, "options": options}


def rounded_down(bound: float, floor: float = 0.0, size: float = 1.0) -> float:
    """A bound without what rounding may have added to it, and never below the least the mean can be."""
    return max(floor, bound - ROUNDING * (abs(bound) + size))


def floored(unfloored: FromSums, sums: TermSums, *, delta: float) -> float:
    return rounded_down(unfloored(sums, delta=delta))
