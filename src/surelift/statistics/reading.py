"""What one batch says: its rounds, every policy's probabilities and weights, and what a reward model predicts."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from surelift.arrays import BoolArray, FloatArray
from surelift.controls.model import Predictor
from surelift.errors import LogsError, UsageError
from surelift.logs import faults
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Probabilities
from surelift.quantities import Weights
from surelift.statistics.embedded import embedded
from surelift.statistics.plan import Plan

# Beyond this the square of a weight could overflow; no propensity that was ever drawn from is so small.
LARGEST_WEIGHT = 1e150


@dataclass(frozen=True, slots=True)
class Reading:
    rounds: Rounds
    probabilities: Mapping[str, Probabilities]
    weights: Mapping[str, Weights]
    predicted: Vectors | None
    """What a reward model expects of every action, where there is one."""

    @property
    def fit(self) -> bool:
        return not self.rounds.faults.tallies

    def only(self, chosen: BoolArray) -> "Reading":
        """Some of the rounds, of a batch that is fit."""
        return Reading(
            self.rounds.only(chosen),
            {name: one.only(chosen) for name, one in self.probabilities.items()},
            {name: Weights(one.weight[chosen], one.excess[chosen]) for name, one in self.weights.items()},
            None if self.predicted is None else self.predicted.only(chosen),
        )

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
    return Reading(rounds, probabilities, weights, predicted)


def _weights(rounds: Rounds, name: str, probabilities: Probabilities) -> Weights:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weight: FloatArray = probabilities.logged / rounds.propensity
    beyond = rounds.usable & ~(weight <= LARGEST_WEIGHT)
    rounds.refuse(f"policy {name!r}", faults.WEIGHT_OVERFLOW, beyond, weight)
    return Weights(weight, probabilities.excess(rounds.propensity))
