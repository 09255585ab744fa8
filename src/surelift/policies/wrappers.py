"""Policies built from readers and other policies, and production itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions, Limits, Probabilities
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Policy, StoredPolicy, recipe_of
from surelift.policies.readers import Column, Reader
from surelift.traits.logs import Logs
from surelift.traits.trait import Recipe


@dataclass(frozen=True, slots=True)
class Production(StoredPolicy):
    """The logging policy; every importance weight is 1."""

    limits = Limits(0.0, 0.0)
    kind = "production"

    def needs(self, logs: Logs) -> Needs:
        return Needs()

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        return Probabilities(decisions.propensity, decisions.shares, np.zeros(decisions.rows.size))


@dataclass(frozen=True, slots=True)
class Given(Policy):
    reader: Reader

    @property
    def features(self) -> frozenset[str]:
        return frozenset(getattr(self.reader, "features", ()))

    def needs(self, logs: Logs) -> Needs:
        return self.reader.needs(logs)

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        probabilities = self.reader.read(decisions, subject)
        if isinstance(probabilities, Vectors):
            return decisions.vector(probabilities, subject)
        return decisions.single(probabilities.values, probabilities.tolerance, subject)

    def recipe(self) -> tuple[Recipe, float] | None:
        """The column that a loop over plain columns, or a database, reads, and the share of decisions it acts in."""
        return (Recipe(self.reader.name), 1.0) if isinstance(self.reader, Column) else None

    def describe(self) -> dict[str, Any]:
        return self.reader.describe()


@dataclass(frozen=True, slots=True)
class Softmax(StoredPolicy):
    scores: Reader
    temperature: float
    kind = "softmax"
    features = frozenset({"policy over all actions"})

    def needs(self, logs: Logs) -> Needs:
        return self.scores.needs(logs)

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        scores = self.scores.read(decisions, subject)
        if not isinstance(scores, Vectors):
            raise UsageError(
                f"{subject}: softmax needs one score per action: a list column, a list of columns, or a matrix."
            )
        with np.errstate(invalid="ignore"):
            top = scores.spread(scores.fold(np.maximum, scores.values, empty=0.0))
            exponentials = np.exp((scores.values - top) / self.temperature)
        totals = scores.replace_values(exponentials).sums()
        values = exponentials / scores.spread(np.where(totals > 0, totals, 1.0))
        return decisions.vector(scores.replace_values(values), subject)


@dataclass(frozen=True, slots=True)
class Wrapper(StoredPolicy):
    policy: Policy

    @property
    def features(self) -> frozenset[str]:
        return self.policy.features

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

    def recipe(self) -> tuple[Recipe, float] | None:
        inner = recipe_of(self.policy)
        return None if inner is None else (inner[0], self.alpha * inner[1])

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        other = self.policy.probabilities(decisions, subject)
        logged = (1.0 - self.alpha) * decisions.propensity + self.alpha * other.logged
        # Not from ``logged``: a small alpha would be lost in the rounding of a number near 1.
        excess, short = self.alpha * other.excess(decisions.propensity), self.alpha * other.short_of_one
        shares = decisions.shares
        if shares is None or other.vectors is None or len(shares.values) != len(other.vectors.values):
            return Probabilities(logged, None, excess, short)
        # Use production's shares as weight control sees them, so that rounding pushes no weight below 1 - alpha.
        values = (1.0 - self.alpha) * shares.values + self.alpha * other.vectors.values
        return Probabilities(logged, shares.replace_values(values), excess, short)


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
        probabilities = self.policy.probabilities(decisions, subject)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            largest = 1.0 + probabilities.excess(decisions.propensity)
        above = largest > self.max_weight * (1.0 + 1e-9)
        shares, vectors = decisions.shares, probabilities.vectors
        if shares is not None and vectors is not None and len(shares.values) == len(vectors.values):
            # Check the other actions too: one without support in production would invalidate a controlled bound.
            with np.errstate(divide="ignore", invalid="ignore"):
                weights = np.where(vectors.values > 0.0, vectors.values / shares.values, 0.0)
            largest = np.fmax(largest, vectors.fold(np.fmax, weights, empty=0.0))
            above |= largest > self.max_weight * (1.0 + max(shares.tolerance, vectors.tolerance))
        subject = f"{subject}, declared at most {self.max_weight:g}"
        decisions.rows.refuse(subject, faults.MAX_WEIGHT, decisions.rows.usable & above, largest)
        return probabilities
