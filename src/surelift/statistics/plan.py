"""The plan: which policies, which quantities of them, and what of these is to be added up."""

from collections.abc import Mapping
from dataclasses import dataclass

from surelift.controls import MaxWeightControl, WeightControl
from surelift.controls.model import CROSS_FITTED, RewardModel
from surelift.errors import UsageError
from surelift.grids import Grid
from surelift.policies import Policy
from surelift.quantities import Quantity
from surelift.quantities.regularizers import Plain, Regularizer
from surelift.statistics.efron_stein import EfronStein


@dataclass(frozen=True, slots=True)
class Component:
    """One factor 1 + smoothing (term + offset) a round, with its share of the prior."""

    smoothing: float
    offset: float
    prior: float
    control: WeightControl | MaxWeightControl | None = None
    """What is taken off the term before it enters."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A power of a regularized term, summed over the rounds."""

    regularizer: Regularizer
    power: int = 1


MEAN, SQUARES = Moment(Plain()), Moment(Plain(), 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What a bound adds up for one quantity, and whether that depends on the number of rounds."""

    offset: float = 0.0
    """How far below zero the quantity can be."""
    smoothing: float = 0.0
    """The single smoothing of a bound that adds up moments."""
    components: tuple[Component, ...] = ()
    moments: tuple[Moment, ...] = ()
    resamples: int = 0
    """How many Poisson resamples to keep the sums of."""
    efron_stein: EfronStein | None = None
    """What does not add up, and is computed from the whole log in its order."""
    any_looks: bool = True


@dataclass(frozen=True, slots=True)
class Term:
    """One quantity of one candidate, and what is needed of it."""

    candidate: str
    quantity: Quantity
    needed: Needed = Needed()


@dataclass(frozen=True, slots=True)
class Plan:
    policies: Mapping[str, Policy]
    terms: tuple[Term, ...] = ()
    model: RewardModel | None = None

    def __post_init__(self) -> None:
        certifies = any(term.needed.components for term in self.terms)
        if certifies and self.model is not None and not self.model.predictable:
            raise UsageError(CROSS_FITTED)


def on_grid(grid: Grid, *, offset: float) -> Needed:
    """A component for every smoothing of a grid."""
    pairs = zip(grid.smoothings, grid.prior, strict=True)
    components = tuple(Component(smoothing, offset, prior) for smoothing, prior in pairs)
    return Needed(offset=offset, components=components, any_looks=grid.any_looks)


def offset_of(candidate: str, quantity: Quantity, policies: Mapping[str, Policy]) -> float:
    return quantity.offset(candidate, {name: policy.limits for name, policy in policies.items()})
