"""Policies over a whole sequence: how far the product of their weights can fall below 1."""

from collections.abc import Mapping
from dataclasses import dataclass

from surelift.logs.declaration import Declaration
from surelift.logs.rounds import Rounds
from surelift.policies.policy import Limits, Policy, Probabilities
from surelift.policies.wrappers import Wrapper


@dataclass(frozen=True, slots=True)
class SequentialPolicy(Wrapper):
    """A policy that decides each round of a cluster after those before: what plans are made with, and nothing stores."""

    most: int | None
    """The most rounds of a cluster, where that is one number declared in advance."""
    kind = "sequence"

    @property
    def limits(self) -> Limits:
        drop = self.policy.limits.drop
        if drop in (0.0, 1.0) or self.most is None:
            return Limits(0.0, 0.0) if drop == 0.0 else Limits()
        return Limits(1.0 - (1.0 - drop) ** self.most)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        return self.policy.probabilities(rounds, subject)


def over_clusters(policies: Mapping[str, Policy], declared: Declaration) -> Mapping[str, Policy]:
    """The policies with the limits of the weights that a log gives them: of prefixes where its rounds have positions."""
    if declared.position is None:
        return policies
    return {name: SequentialPolicy(policy, declared.most_positions) for name, policy in policies.items()}
