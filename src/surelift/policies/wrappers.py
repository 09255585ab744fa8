"""Policies built from other policies: in a share of the traffic, with a largest weight, or by actions."""

from dataclasses import dataclass

import numpy as np

from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions, Limits, Probabilities
from surelift.policies.policy import Policy
from surelift.traits.logs import Logs
from surelift.traits.trait import Recipe


@dataclass(frozen=True, slots=True)
class Wrapper(Policy):
    policy: Policy

    @property
    def features(self) -> frozenset[str]:
        return self.policy.features

    @property
    def assumes(self) -> tuple[str, ...]:
        return getattr(self.policy, "assumes", ())

    @property
    def doubts(self) -> tuple[str, ...]:
        return getattr(self.policy, "doubts", ())

    def needs(self, logs: Logs) -> Needs:
        return self.policy.needs(logs)


@dataclass(frozen=True, slots=True)
class Direct(Wrapper):
    """A policy weighted by actions where others are weighted by embeddings, to compare the two."""

    kind = "direct"

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        actions = decisions.by_action
        if actions is None:
            return self.policy.probabilities(decisions, subject)
        excess = self.policy.probabilities(actions, subject).excess(actions.propensity)
        return Probabilities(np.maximum((1.0 + excess) * decisions.propensity, 0.0), None, excess)


@dataclass(frozen=True, slots=True)
class Blend(Wrapper):
    alpha: float
    kind = "blend"

    @property
    def limits(self) -> Limits:
        other = self.policy.limits
        return Limits(self.alpha * other.drop, self.alpha * other.rise if self.alpha else 0.0)

    @property
    def recipe(self) -> tuple[Recipe, float] | None:
        inner = self.policy.recipe
        return None if inner is None else (inner[0], self.alpha * inner[1])

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        other, shares = self.policy.probabilities(decisions, subject), decisions.shares
        logged = (1.0 - self.alpha) * decisions.propensity + self.alpha * other.logged
        # Not from ``logged``: a small alpha would be lost in the rounding of a number near 1.
        excess, short = self.alpha * other.excess(decisions.propensity), self.alpha * other.short_of_one
        if shares is None or other.vectors is None or len(shares.values) != len(other.vectors.values):
            return Probabilities(logged, None, excess, short)
        # Use production's shares as weight control sees them, so that rounding pushes no weight below 1 - alpha.
        mixed = shares.replace_values((1.0 - self.alpha) * shares.values + self.alpha * other.vectors.values)
        return Probabilities(logged, mixed, excess, short)


@dataclass(frozen=True, slots=True)
class Bounded(Wrapper):
    max_weight: float
    kind = "bounded"

    @property
    def features(self) -> frozenset[str]:
        return self.policy.features | {"largest weight"}

    @property
    def limits(self) -> Limits:
        other = self.policy.limits
        return Limits(other.drop, min(other.rise, self.max_weight - 1.0))

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        rows, probabilities = decisions.rows, self.policy.probabilities(decisions, subject)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            largest = 1.0 + probabilities.excess(decisions.propensity)
        above, shares, vectors = largest > self.max_weight * (1.0 + 1e-9), decisions.shares, probabilities.vectors
        if shares is not None and vectors is not None and len(shares.values) == len(vectors.values):
            # Check the other actions too: one without support in production would invalidate a controlled bound.
            with np.errstate(divide="ignore", invalid="ignore"):
                weights = np.where(vectors.values > 0.0, vectors.values / shares.values, 0.0)
            largest = np.fmax(largest, vectors.fold(np.fmax, weights, empty=0.0))
            above |= largest > self.max_weight * (1.0 + max(shares.tolerance, vectors.tolerance))
        rows.refuse(f"{subject}, declared at most {self.max_weight:g}", faults.MAX_WEIGHT, rows.usable & above, largest)
        return probabilities
