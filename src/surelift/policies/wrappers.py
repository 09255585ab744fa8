"""Policies built from readers and other policies, and production itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import (
    Limits,
    Policy,
    Probabilities,
    StoredPolicy,
    require_action,
    single_probabilities,
    vector_probabilities,
)
from surelift.policies.readers import Reader
from surelift.policies.simulated import draws_in


@dataclass(frozen=True, slots=True)
class Production(StoredPolicy):
    """The logging policy; every importance weight is 1."""

    limits = Limits(0.0, 0.0)
    kind = "production"

    def needs(self, logs: Logs) -> Needs:
        return Needs()

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        return Probabilities(rounds.propensity, rounds.logging_shares, np.zeros(rounds.size))


@dataclass(frozen=True, slots=True)
class Given(Policy):
    reader: Reader

    def needs(self, logs: Logs) -> Needs:
        return self.reader.needs(logs)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        probabilities = self.reader.read(rounds, subject)
        if isinstance(probabilities, Vectors):
            return vector_probabilities(rounds, probabilities, subject)
        return single_probabilities(rounds, probabilities.values, probabilities.tolerance, subject)

    def describe(self) -> dict[str, Any]:
        return self.reader.describe()


@dataclass(frozen=True, slots=True)
class Softmax(StoredPolicy):
    scores: Reader
    temperature: float
    kind = "softmax"

    def needs(self, logs: Logs) -> Needs:
        require_action(logs, "softmax")
        return self.scores.needs(logs)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        scores = self.scores.read(rounds, subject)
        if not isinstance(scores, Vectors):
            raise UsageError(
                f"{subject}: softmax needs one score per action: a list column, a list of columns, or a matrix."
            )
        with np.errstate(invalid="ignore"):
            top = scores.spread(scores.fold(np.maximum, scores.values, empty=0.0))
            exponentials = np.exp((scores.values - top) / self.temperature)
        totals = scores.replace_values(exponentials).sums()
        values = exponentials / scores.spread(np.where(totals > 0, totals, 1.0))
        return vector_probabilities(rounds, scores.replace_values(values), subject)


@dataclass(frozen=True, slots=True)
class Wrapper(StoredPolicy):
    policy: Policy

    def needs(self, logs: Logs) -> Needs:
        return self.policy.needs(logs)


@dataclass(frozen=True, slots=True)
class Direct(Wrapper):
    """A policy weighted by actions where others are weighted by embeddings, to compare the two."""

    kind = "direct"

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        return self.policy.probabilities(rounds, subject)


@dataclass(frozen=True, slots=True)
class Blend(Wrapper):
    alpha: float
    kind = "blend"

    @property
    def limits(self) -> Limits:
        other = self.policy.limits
        return Limits(self.alpha * other.drop, self.alpha * other.rise if self.alpha else 0.0)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        other = self.policy.probabilities(rounds, subject)
        logged = (1.0 - self.alpha) * rounds.propensity + self.alpha * other.logged
        # Not from ``logged``: a small alpha would be lost in the rounding of a number near 1.
        excess = self.alpha * other.excess(rounds.propensity)
        shares = rounds.logging_shares
        if shares is None or other.vectors is None or len(shares.values) != len(other.vectors.values):
            return Probabilities(logged, None, excess, self.alpha * other.short_of_one)
        # Use production's shares as weight control sees them, so that rounding pushes no weight below 1 - alpha.
        values = (1.0 - self.alpha) * shares.values + self.alpha * other.vectors.values
        return Probabilities(logged, shares.replace_values(values), excess, self.alpha * other.short_of_one)


@dataclass(frozen=True, slots=True)
class Bounded(Wrapper):
    max_weight: float
    kind = "bounded"

    @property
    def limits(self) -> Limits:
        other = self.policy.limits
        return Limits(other.drop, min(other.rise, self.max_weight - 1.0))

    def needs(self, logs: Logs) -> Needs:
        if logs.declaration.by_draws or draws_in(self.policy):
            raise UsageError(
                "bounded(policy, max_weight) needs exact weights: with wins they vary with the draws, so that no bound on "
                "them is known. Give the policy without bounded; the plain bounds hold."
            )
        return self.policy.needs(logs)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        probabilities = self.policy.probabilities(rounds, subject)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            largest = 1.0 + probabilities.excess(rounds.propensity)
        above = largest > self.max_weight * (1.0 + 1e-9)
        shares, vectors = rounds.logging_shares, probabilities.vectors
        if shares is not None and vectors is not None and len(shares.values) == len(vectors.values):
            # Check the other actions too: one without support in production would invalidate a controlled bound.
            with np.errstate(divide="ignore", invalid="ignore"):
                weights = np.where(vectors.values > 0.0, vectors.values / shares.values, 0.0)
            largest = np.fmax(largest, vectors.fold(np.fmax, weights, empty=0.0))
            above |= largest > self.max_weight * (1.0 + max(shares.tolerance, vectors.tolerance))
        subject = f"{subject}, declared at most {self.max_weight:g}"
        rounds.refuse(subject, faults.MAX_WEIGHT, rounds.usable & above, largest)
        return probabilities
