"""Deterministic, epsilon-greedy and uniform policies."""

from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError
from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions, Probabilities
from surelift.logs.vectors import Vectors
from surelift.policies.policy import StoredPolicy
from surelift.policies.readers import Reader
from surelift.traits.logs import Logs

OVER_ALL, COUNTED = frozenset({"policy over all actions"}), frozenset({"policy over counted actions"})


@dataclass(frozen=True, slots=True)
class Chosen(StoredPolicy):
    column: str
    kind = "chosen"
    features = OVER_ALL

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.column, role="chosen", single=True)
        return Needs(read=(self.column,))

    def positions(self, decisions: Decisions, subject: str) -> IntArray:
        assert decisions.positions is not None
        return decisions.positions(self.column, f"{subject}, column {self.column!r}")

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        return peaked(decisions, self.positions(decisions, subject), 0.0, subject)


@dataclass(frozen=True, slots=True)
class EpsilonGreedy(StoredPolicy):
    greedy: Chosen | Reader
    epsilon: float
    kind = "epsilon_greedy"

    @property
    def features(self) -> frozenset[str]:
        return OVER_ALL | (COUNTED if isinstance(self.greedy, Chosen) else frozenset())

    def needs(self, logs: Logs) -> Needs:
        return self.greedy.needs(logs)

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        if isinstance(self.greedy, Chosen):
            return peaked(decisions, self.greedy.positions(decisions, subject), self.epsilon, subject)
        scores = self.greedy.read(decisions, subject)
        if not isinstance(scores, Vectors):
            raise UsageError(f"{subject}: epsilon_greedy needs one score per action, or chosen('column').")
        best = scores.spread(scores.fold(np.maximum, scores.values, empty=0.0))
        indices = np.where(scores.values == best, np.arange(len(best)), len(best))
        first = scores.fold(np.minimum, indices.astype(np.float64), empty=0.0).astype(np.int64) - scores.starts[:-1]
        decisions.check_layout(scores, subject)
        vectors = scores.replace_values(_peaks(scores, first, self.epsilon))
        if decisions.embed is not None:
            return decisions.vector(vectors, subject)
        logged = self.epsilon / np.maximum(scores.lengths, 1) + (1.0 - self.epsilon) * (first == decisions.taken)
        return Probabilities(logged, vectors)


@dataclass(frozen=True, slots=True)
class UniformPolicy(StoredPolicy):
    kind = "uniform"
    features = COUNTED

    def needs(self, logs: Logs) -> Needs:
        return Needs()

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        actions = decisions.by_action or decisions
        layout, shares = actions.logging, 1.0 / actions.available(subject)
        vectors = None if layout is None else layout.replace_values(layout.spread(shares))
        return decisions.vector(vectors, subject) if decisions.embed and vectors else Probabilities(shares, vectors)


def peaked(decisions: Decisions, positions: IntArray, exploration: float, subject: str) -> Probabilities:
    """Put 1 - ``exploration`` on one action, and spread the rest over all."""
    actions = decisions.by_action or decisions
    layout = actions.logging
    vectors = None if layout is None else layout.replace_values(_peaks(layout, positions, exploration))
    if decisions.embed is not None and vectors is not None:
        return decisions.vector(vectors, subject)
    logged: FloatArray = (1.0 - exploration) * (positions == decisions.taken)
    if exploration:
        logged = logged + exploration / actions.available(subject)
    return Probabilities(logged, vectors)


def _peaks(layout: Vectors, positions: IntArray, exploration: float) -> FloatArray:
    values = layout.spread(exploration / np.maximum(layout.lengths, 1))
    inside = (positions >= 0) & (positions < layout.lengths)
    values[layout.starts[:-1][inside] + positions[inside]] += 1.0 - exploration
    return values
