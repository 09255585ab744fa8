"""A policy weighted by actions where others are weighted by embeddings, to compare the two."""

from dataclasses import dataclass
from typing import Any

from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.policies.policy import Limits, Policy, Probabilities


@dataclass(frozen=True, slots=True)
class Direct:
    policy: Policy
    limits: Limits = Limits()

    def needs(self, logs: Logs) -> Needs:
        return self.policy.needs(logs)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        return self.policy.probabilities(rounds, subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "direct", "of": self.policy.describe()}
