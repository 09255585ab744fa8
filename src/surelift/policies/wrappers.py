"""Policies made from others: softmax of scores, a cautious mixture with production, a declared bound on the weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Policy, Probabilities, require_action, vector_probabilities
from surelift.policies.readers import Reader


@dataclass(frozen=True, slots=True)
class Softmax:
    """Probabilities proportional to exp(score / temperature)."""

    scores: Reader
    temperature: float
    largest_drop: float = 1.0

    def needs(self, logs: Logs) -> Needs:
        require_action(logs, "softmax")
        return self.scores.needs(logs)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        scores = self.scores.read(rounds, subject)
        if not isinstance(scores, Vectors):
            raise UsageError(
                f"{subject}: softmax needs a score per action: a list column, a list of columns, or a matrix."
            )
        with np.errstate(invalid="ignore"):
            top = scores.spread(scores.fold(np.maximum, scores.values, empty=0.0))
            exponentials = np.exp((scores.values - top) / self.temperature)
        totals = scores.replace_values(exponentials).sums()
        values = exponentials / scores.spread(np.where(totals > 0, totals, 1.0))
        return vector_probabilities(rounds, scores.replace_values(values), subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "softmax", "temperature": self.temperature, "of": self.scores.describe()}


@dataclass(frozen=True, slots=True)
class Mixture:
    """(1 - alpha) of production and alpha of another: caution that the certificate knows of."""

    policy: Policy
    alpha: float

    @property
    def largest_drop(self) -> float:
        return self.alpha * self.policy.largest_drop

    def needs(self, logs: Logs) -> Needs:
        return self.policy.needs(logs)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        other = self.policy.probabilities(rounds, subject)
        logged = (1.0 - self.alpha) * rounds.propensity + self.alpha * other.logged
        # Not from ``logged``: a small alpha would drown in the rounding of a number near 1.
        excess = self.alpha * other.excess(rounds.propensity)
        shares = rounds.logging_shares
        if shares is None or other.vectors is None or len(shares.values) != len(other.vectors.values):
            return Probabilities(logged, None, excess)
        # From production's shares as control sees them, so that no weight falls below 1 - alpha by rounding.
        values = (1.0 - self.alpha) * shares.values + self.alpha * other.vectors.values
        return Probabilities(logged, shares.replace_values(values), excess)

    def describe(self) -> dict[str, Any]:
        return {"kind": "mixture", "alpha": self.alpha, "of": self.policy.describe()}


@dataclass(frozen=True, slots=True)
class Bounded:
    """A policy whose weights are known, from how it was built, never to exceed ``max_weight``."""

    policy: Policy
    max_weight: float

    @property
    def largest_drop(self) -> float:
        return self.policy.largest_drop

    def needs(self, logs: Logs) -> Needs:
        return self.policy.needs(logs)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        probabilities = self.policy.probabilities(rounds, subject)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weights = 1.0 + probabilities.excess(rounds.propensity)
        above = rounds.usable & (weights > self.max_weight * (1.0 + 1e-9))
        rounds.refuse(f"{subject}, declared at most {self.max_weight:g}", faults.MAX_WEIGHT, above, weights)
        return probabilities

    def describe(self) -> dict[str, Any]:
        return {"kind": "bounded", "max_weight": self.max_weight, "of": self.policy.describe()}
