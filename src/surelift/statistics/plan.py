"""The plan: which policies, which quantities of them, and with which components their logarithms are to be added up."""

from collections.abc import Mapping
from dataclasses import dataclass

from surelift.grids import Grid
from surelift.policies import Policy
from surelift.quantities import Quantity


@dataclass(frozen=True, slots=True)
class Component:
    """One factor 1 + smoothing (term + offset) a round, with its share of the prior."""

    smoothing: float
    offset: float
    prior: float
    control: str = "none"


@dataclass(frozen=True, slots=True)
class Term:
    """One quantity of one candidate, and the components it is bounded with."""

    candidate: str
    quantity: Quantity
    components: tuple[Component, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    policies: Mapping[str, Policy]
    terms: tuple[Term, ...] = ()


def offset_of(candidate: str, quantity: Quantity, policies: Mapping[str, Policy]) -> float:
    return quantity.offset(candidate, {name: policy.largest_drop for name, policy in policies.items()})


def plan_term(candidate: str, quantity: Quantity, *, policies: Mapping[str, Policy], grid: Grid) -> Term:
    """Give every smoothing of the grid the quantity's offset."""
    offset = offset_of(candidate, quantity, policies)
    pairs = zip(grid.smoothings, grid.prior, strict=True)
    return Term(candidate, quantity, tuple(Component(smoothing, offset, prior) for smoothing, prior in pairs))
