"""A policy over whole slates, where a page's reward is the sum of what its positions add to it."""

from dataclasses import dataclass
from typing import ClassVar

from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions, Limits, Probabilities
from surelift.policies.policy import StoredPolicy
from surelift.traits.logs import Logs

LINEAR = (
    "the expected reward of a page is a sum with one part for each position, which depends on the context and its item "
    "alone; for every page that production, the candidate, or a mix of the two by positions can show"
)


@dataclass(frozen=True, slots=True)
class AdditiveSlate(StoredPolicy):
    """The weight of a page is 1 plus the sum over its positions of weight minus 1, and may be negative."""

    column: str
    """That sum."""
    positions: int
    """The most positions of a page."""
    drop: float
    """How far the weight of a position can fall below 1."""
    kind = "additive"
    features = frozenset({"additive slate"})
    assumes: ClassVar[tuple[str, ...]] = (LINEAR,)

    @property
    def limits(self) -> Limits:
        return Limits(self.positions * self.drop)

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.column, role="an additive slate")
        return Needs(read=(self.column,))

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        excess, _ = decisions.rows.numbers(self.column, subject)
        return Probabilities((1.0 + excess) * decisions.propensity, None, excess)
