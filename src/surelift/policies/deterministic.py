"""Deterministic, epsilon-greedy and uniform policies."""

from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Probabilities, StoredPolicy, action_counts, require_action, require_action_count
from surelift.policies.readers import Reader


@dataclass(frozen=True, slots=True)
class Chosen(StoredPolicy):
    column: str
    kind = "chosen"

    def needs(self, logs: Logs) -> Needs:
        require_action(logs, f"chosen({self.column!r})")
        logs.require_columns(self.column, role="chosen", single=True)
        return Needs(read=(self.column,))

    def positions(self, rounds: Rounds, subject: str) -> IntArray:
        return rounds.positions(self.column, f"{subject}, column {self.column!r}")

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        return peaked(rounds, self.positions(rounds, subject), exploration=0.0)


@dataclass(frozen=True, slots=True)
class EpsilonGreedy(StoredPolicy):
    greedy: Chosen | Reader
    epsilon: float
    kind = "epsilon_greedy"

    def needs(self, logs: Logs) -> Needs:
        require_action(logs, "epsilon_greedy")
        if isinstance(self.greedy, Chosen):
            require_action_count(logs, "epsilon_greedy of a chosen action")
        return self.greedy.needs(logs)

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        if isinstance(self.greedy, Chosen):
            return peaked(rounds, self.greedy.positions(rounds, subject), exploration=self.epsilon)
        scores = self.greedy.read(rounds, subject)
        if not isinstance(scores, Vectors):
            raise UsageError(f"{subject}: epsilon_greedy needs one score per action, or chosen('column').")
        best = scores.spread(scores.fold(np.maximum, scores.values, empty=0.0))
        indices = np.where(scores.values == best, np.arange(len(best)), len(best))
        first = scores.fold(np.minimum, indices.astype(np.float64), empty=0.0).astype(np.int64) - scores.starts[:-1]
        assert rounds.action is not None
        rounds.check_vector_layout(scores, subject)
        vectors = scores.replace_values(_peaks(scores, first, self.epsilon))
        logged = self.epsilon / np.maximum(scores.lengths, 1) + (1.0 - self.epsilon) * (first == rounds.action)
        return Probabilities(logged, vectors)


@dataclass(frozen=True, slots=True)
class UniformPolicy(StoredPolicy):
    kind = "uniform"

    def needs(self, logs: Logs) -> Needs:
        require_action_count(logs, "uniform()")
        return Needs()

    def probabilities(self, rounds: Rounds, subject: str) -> Probabilities:
        layout, shares = rounds.logging, 1.0 / action_counts(rounds)
        return Probabilities(shares, None if layout is None else layout.replace_values(layout.spread(shares)))


def peaked(rounds: Rounds, positions: IntArray, *, exploration: float) -> Probabilities:
    """Put 1 - ``exploration`` on one action, and spread the rest over all."""
    assert rounds.action is not None
    logged: FloatArray = (1.0 - exploration) * (positions == rounds.action)
    if exploration:
        logged = logged + exploration / action_counts(rounds)
    layout = rounds.logging
    vectors = None if layout is None else layout.replace_values(_peaks(layout, positions, exploration))
    return Probabilities(logged, vectors)


def _peaks(layout: Vectors, positions: IntArray, exploration: float) -> FloatArray:
    values = layout.spread(exploration / np.maximum(layout.lengths, 1))
    inside = (positions >= 0) & (positions < layout.lengths)
    values[layout.starts[:-1][inside] + positions[inside]] += 1.0 - exploration
    return values
