"""A candidate whose probabilities are not known, but which can draw: k of its m draws took the logged action."""

from dataclasses import dataclass
from typing import Any

from surelift.errors import UsageError
from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions, Probabilities
from surelift.logs.wins import FRESH, Wins
from surelift.policies.policy import Policy
from surelift.traits.logs import Logs


@dataclass(frozen=True, slots=True)
class Simulated(Policy):
    """Its share of draws is right on average, and so is every weight; but no single one, so nothing bounds them."""

    wins: Wins
    features = frozenset({"drawn candidate"})

    def __post_init__(self) -> None:
        if self.wins.includes_played:
            raise UsageError(
                "a candidate's draws are its own, and the logged action is none of them: leave includes_played out."
            )

    @property
    def assumes(self) -> tuple[str, ...]:
        return (FRESH.format(whose="the candidate"),)

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.wins.columns(), role="a candidate's wins")
        if ("wins", self.wins.k) in logs.declaration.columns():
            raise UsageError(f"wins {self.wins.k!r} counts production's draws; a candidate needs draws of its own.")
        return Needs(read=self.wins.columns())

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        return decisions.single(self.wins.share(decisions.rows, subject), 0.0, subject)

    def describe(self) -> dict[str, Any]:
        return self.wins.describe()
