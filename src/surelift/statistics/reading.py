"""What one batch says: its rounds, every policy's probabilities and weights, and what a reward model predicts."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from surelift.arrays import FloatArray
from surelift.controls.model import Predictor
from surelift.controls.score import LabelledTerms
from surelift.errors import LogsError, UsageError
from surelift.kernels.sums import weigh
from surelift.logs import faults
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Probabilities
from surelift.quantities import Quantity, Weights
from surelift.quantities.prefixes import in_sequence, padding_of, prefix_weights
from surelift.statistics.embedded import embedded
from surelift.statistics.plan import Plan, RewardColumn

# Beyond this the square of a weight could overflow; no propensity that was ever drawn from is so small.
LARGEST_WEIGHT = 1e150
KEPT_TERMS = 4


@dataclass(frozen=True, slots=True)
class Reading:
    rounds: Rounds
    probabilities: Mapping[str, Probabilities]
    weights: Mapping[str, Weights]
    predicted: Vectors | None
    """What a reward model expects of every action, where there is one."""
    outcomes: Mapping[RewardColumn, FloatArray] = field(default_factory=dict)
    """Other rewards of the same rounds, on [0, 1]."""
    least_weights: Mapping[str, float] = field(default_factory=dict)
    """The least that the weight of a round's own action can be, by policy: 0, or less in additive slates."""
    _terms: dict[tuple[str, Quantity], FloatArray] = field(default_factory=dict)

    def terms(self, candidate: str, quantity: Quantity) -> FloatArray:
        """The number of each round; the last few are kept, since several statistics ask for the same."""
        found = self._terms.get((candidate, quantity))
        if found is None:
            if len(self._terms) >= KEPT_TERMS:
                self._terms.clear()
            found = self._terms[candidate, quantity] = self._computed(candidate, quantity)
        return found

    def _computed(self, candidate: str, quantity: Quantity) -> FloatArray:
        labels = self.rounds.labels
        if labels is None:
            return quantity.terms(candidate, self.weights, self.rounds.reward)
        return LabelledTerms.of(*self.at_ends(candidate, quantity), labels).terms

    def at_ends(self, candidate: str, quantity: Quantity) -> tuple[FloatArray, FloatArray]:
        """The number of each round if its reward were 0, and if it were 1."""
        zero, one = np.zeros(self.rounds.size), np.ones(self.rounds.size)
        return quantity.terms(candidate, self.weights, zero), quantity.terms(candidate, self.weights, one)

    def padding(self, candidate: str, quantity: Quantity) -> float | FloatArray:
        """What stands for each round that a cluster lacks."""
        return padding_of(self.rounds, candidate, quantity, self.weights)

    def own_weights(self, candidate: str) -> FloatArray:
        """The weight of each round's own action: given everything before it, its mean is at most 1."""
        if in_sequence(self.rounds) is None:
            return self.weights[candidate].weight
        return 1.0 + self.probabilities[candidate].excess(self.rounds.propensity)

    @property
    def fit(self) -> bool:
        return not self.rounds.faults.tallies

    def judged_by(self, outcome: RewardColumn | None) -> "Reading":
        """The same decisions with another reward."""
        if outcome is None:
            return self
        rounds = copy.copy(self.rounds)
        rounds.reward, rounds.labels = self.outcomes[outcome], None
        return replace(self, rounds=rounds, _terms={})

    def predictions_for(self, candidate: str) -> tuple[FloatArray, FloatArray] | None:
        """What the model expects of the logged action, and of the candidate's own choice."""
        if self.predicted is None:
            return None
        vectors = self.probabilities[candidate].vectors
        if vectors is None:
            raise UsageError(
                f"policy {candidate!r} must be given as a vector over actions: an estimate with a reward model asks what "
                "it would have done, not only how likely the logged action was."
            )
        assert self.rounds.action is not None
        differ = vectors.lengths != self.predicted.lengths
        if differ.any():
            raise LogsError(
                f"the reward model predicts for {self.predicted.lengths[differ][0]} actions where policy {candidate!r} has "
                f"{vectors.lengths[differ][0]}, first in row {self.rounds.rows[differ][0]:,}; they must list the same."
            )
        chosen = vectors.fold(np.add, vectors.values * self.predicted.values, empty=0.0)
        return self.predicted.at(self.rounds.action), chosen


def read(rounds: Rounds, plan: Plan, predictor: Predictor | None = None) -> Reading:
    """In the order of the policies' names, so that the fingerprint does not depend on the order they were given in."""
    probabilities = {
        name: plan.policies[name].probabilities(rounds, f"policy {name!r}") for name in sorted(plan.policies)
    }
    if rounds.declaration.embedding is not None:
        if plan.model is not None:
            raise UsageError(
                "a reward model speaks of actions, not of their embeddings; use control='weights' or 'none'."
            )
        rounds, probabilities = embedded(rounds, probabilities, plan.policies)
    weights = {name: _weights(rounds, name, found) for name, found in probabilities.items()}
    predicted = None if predictor is None else predictor.predictions(rounds)
    outcomes = {outcome: rounds.read_outcome(outcome.column, outcome.scale) for outcome in plan.outcomes}
    least = {name: min(0.0, 1.0 - policy.limits.drop) for name, policy in plan.policies.items()}
    return Reading(rounds, probabilities, weights, predicted, outcomes, least)


def _weights(rounds: Rounds, name: str, probabilities: Probabilities) -> Weights:
    weight, excess, beyond = weigh(probabilities.logged, rounds.propensity, LARGEST_WEIGHT)
    known = probabilities.known_excess
    found, clusters = Weights(weight, excess if known is None else known), in_sequence(rounds)
    if clusters is not None:
        # What was refused already must not spoil the positions after it.
        usable = rounds.usable
        steps = Weights(np.where(usable, weight, 1.0), np.where(usable, found.excess, 0.0))
        found = prefix_weights(steps, clusters)
        weight, beyond = found.weight, int(np.count_nonzero(~(found.weight <= LARGEST_WEIGHT)))
    shown, kept = weight, rounds.keep_probability
    if kept is not None and rounds.declaration.rounds_before_sampling is not None:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            shown = weight / kept
    if rounds.labels is not None:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            shown = shown / rounds.labels.probability
    if beyond or shown is not weight:
        rounds.refuse(f"policy {name!r}", faults.WEIGHT_OVERFLOW, rounds.usable & ~(shown <= LARGEST_WEIGHT), shown)
    return found
