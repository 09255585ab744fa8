"""A candidate whose probabilities are not known, but which can draw: k of its m draws took the logged action."""

from dataclasses import dataclass
from typing import Any

from surelift.errors import UsageError
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.wins import FRESH, Wins
from surelift.policies.policy import Policy, Probabilities, require_discrete, single_probabilities


@dataclass(frozen=True, slots=True)
class Simulated(Policy):
    """Its share of draws is right on average, and so is every weight; but no single one, so nothing bounds them."""

    wins: Wins

    @property
    def assumes(self) -> tuple[str, ...]:
        return (FRESH.format(whose="the candidate"),)

    def needs(self, logs: Logs) -> Needs:
        require_discrete(logs, "wins")
        logs.require_columns(self.wins.columns(), role="a candidate's wins")
        own = logs.declaration.propensity
        if self.wins.includes_played:
            raise UsageError(
                "a candidate's draws are its own, and the logged action is none of them: leave includes_played out."
            )
        if isinstance(own, Wins) and own.k == self.wins.k:
            raise UsageError(f"wins {own.k!r} counts production's draws; a candidate needs draws of its own.")
        return Needs(read=self.wins.columns())

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        return single_probabilities(rounds, self.wins.share(rounds, subject), 0.0, subject)

    def describe(self) -> dict[str, Any]:
        return self.wins.describe()


def draws_in(policy: Any) -> bool:
    """Whether a policy, in whatever it is wrapped, is known by its draws."""
    while hasattr(policy, "policy"):
        policy = policy.policy
    return isinstance(policy, Simulated)
