"""Candidates whose weights are right on average, though each is no ratio of probabilities: of whole slates, and of draws."""

from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.errors import UsageError
from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions, Limits, Probabilities
from surelift.logs.wins import FRESH, Wins
from surelift.policies.policy import Policy
from surelift.traits.logs import Logs

LINEAR = (
    "the expected reward of a page is a sum with one part for each position, which depends on the context and its item "
    "alone; for every page that production, the candidate, or a mix of the two by positions can show"
)


@dataclass(frozen=True, slots=True)
class AdditiveSlate(Policy):
    """The weight of a page is 1 plus the sum over its positions of weight minus 1, and may be negative."""

    column: str  # that sum
    positions: int  # the most positions of a page
    drop: float  # the most by which the weight of a position can fall below 1
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


@dataclass(frozen=True, slots=True)
class Simulated(Policy):
    """A candidate that can only draw: k of its m draws took the logged action. No weight is right alone, so nothing bounds
    them.
    """

    wins: Wins
    features = frozenset({"drawn candidate"})
    assumes: ClassVar[tuple[str, ...]] = (FRESH.format(whose="the candidate"),)

    def __post_init__(self) -> None:
        if self.wins.includes_played:
            raise UsageError(
                "a candidate's draws are its own, and the logged action is none of them: leave includes_played out."
            )

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.wins.columns(), role="a candidate's wins")
        if ("wins", self.wins.k) in logs.declaration.columns:
            raise UsageError(f"wins {self.wins.k!r} counts production's draws; a candidate needs draws of its own.")
        return Needs(read=self.wins.columns())

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        return decisions.single(self.wins.share(decisions.rows, subject), 0.0, subject)

    def describe(self) -> dict[str, Any]:
        return self.wins.describe()
