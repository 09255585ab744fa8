"""Policies over all actions: the one in a column, epsilon-greedy, softmax and uniform."""

from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError
from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions, Probabilities
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Policy, Reader
from surelift.traits.logs import Logs

OVER_ALL, COUNTED = frozenset({"policy over all actions"}), frozenset({"policy over counted actions"})


@dataclass(frozen=True, slots=True)
class Chosen(Policy):
    column: str
    kind = "chosen"
    features = OVER_ALL

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.column, role="chosen", single=True)
        return Needs(read=(self.column,))

    def positions(self, decisions: Decisions, subject: str) -> IntArray:
        return decisions.positions(self.column, f"{subject}, column {self.column!r}")

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        return peaked(decisions, self.positions(decisions, subject), 0.0, subject)


@dataclass(frozen=True, slots=True)
class EpsilonGreedy(Policy):
    greedy: Chosen | Reader
    epsilon: float
    kind = "epsilon_greedy"

    @property
    def features(self) -> frozenset[str]:
        return OVER_ALL | COUNTED if isinstance(self.greedy, Chosen) else OVER_ALL

    def needs(self, logs: Logs) -> Needs:
        return self.greedy.needs(logs)

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        if isinstance(self.greedy, Chosen):
            return peaked(decisions, self.greedy.positions(decisions, subject), self.epsilon, subject)
        scores = _scores(self.greedy, decisions, subject, "epsilon_greedy")
        best = scores.spread(scores.fold(np.maximum, scores.values, empty=0.0))
        indices = np.where(scores.values == best, np.arange(len(best)), len(best))
        first = scores.fold(np.minimum, indices.astype(np.float64), empty=0.0).astype(np.int64) - scores.starts[:-1]
        decisions.check_layout(scores, subject)
        return peaked(decisions, first, self.epsilon, subject, scores)


@dataclass(frozen=True, slots=True)
class Softmax(Policy):
    scores: Reader
    temperature: float
    kind = "softmax"
    features = OVER_ALL

    def needs(self, logs: Logs) -> Needs:
        return self.scores.needs(logs)

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        scores = _scores(self.scores, decisions, subject, "softmax")
        with np.errstate(invalid="ignore"):
            top = scores.spread(scores.fold(np.maximum, scores.values, empty=0.0))
            exponentials = np.exp((scores.values - top) / self.temperature)
        totals = scores.replace_values(exponentials).sums()
        values = exponentials / scores.spread(np.where(totals > 0, totals, 1.0))
        return decisions.vector(scores.replace_values(values), subject)


@dataclass(frozen=True, slots=True)
class UniformPolicy(Policy):
    kind = "uniform"
    features = COUNTED

    def probabilities(self, decisions: Decisions, subject: str) -> Probabilities:
        return peaked(decisions, np.zeros(decisions.rows.size, dtype=np.int64), 1.0, subject)


def _scores(reader: Reader, decisions: Decisions, subject: str, what: str) -> Vectors:
    scores = reader.read(decisions, subject)
    if isinstance(scores, Vectors):
        return scores
    instead = ", or chosen('column')" if what == "epsilon_greedy" else ""
    raise UsageError(
        f"{subject}: {what} needs one score per action: a list column, a list of columns, or a matrix{instead}."
    )


def peaked(
    decisions: Decisions, positions: IntArray, exploration: float, subject: str, layout: Vectors | None = None
) -> Probabilities:
    """Put 1 - ``exploration`` on one action, and spread the rest over all, in production's layout or another."""
    actions, vectors, counts = decisions.by_action or decisions, None, None
    layout = actions.logging if layout is None else layout
    if layout is not None:
        counts = np.maximum(layout.lengths, 1)
        values = layout.spread(exploration / counts)
        inside = (positions >= 0) & (positions < layout.lengths)
        values[layout.starts[:-1][inside] + positions[inside]] += 1.0 - exploration
        vectors = layout.replace_values(values)
        if decisions.embed is not None:
            return decisions.vector(vectors, subject)
    logged: FloatArray = np.zeros(len(positions))
    if exploration:
        logged = exploration / (actions.available(subject) if counts is None else counts)
    if exploration < 1.0:
        logged = logged + (1.0 - exploration) * (positions == decisions.taken)
    return Probabilities(logged, vectors)
