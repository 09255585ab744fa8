"""The reward-model protocol: for each round, the expected reward of every action, on [0, 1]; and given predictions.

In a certificate it complements the share in weight control (``controls/weights``) and may be arbitrarily wrong: only
*when* it is known matters. It is predictable if a round's predictions were fixed before its action and reward.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from surelift import capabilities
from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import Needs
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Reader
from surelift.traits.logs import Logs

CROSS_FITTED = (
    "a cross-fitted reward model gives point estimates, never a certificate: rounds of different folds depend on each "
    "other. Use models.refitted, models.fitted_on or models.given."
)
SAME_ROUNDS = (
    "the reward model would be fitted on the rounds it predicts, which voids a certificate; fit it on another log, or refit "
    "it as the log grows: control=models.refitted(estimator)."
)
_SUBJECT = "the reward model"


class Predictor(Protocol):
    """A model passing through a log, one batch after another in order."""

    def predictions(self, batch: Batch) -> Vectors:
        """The expected reward of each action in each round, on [0, 1], laid out like production's vectors."""


class RewardModel(Protocol):
    predictable: ClassVar[bool] = True  # a certificate may use it
    in_order: ClassVar[bool] = False  # it must see the rounds in order, in one process
    features: ClassVar[frozenset[str]] = frozenset()  # its names in the table of capabilities
    assumes: ClassVar[str]  # the assumption of a certificate that uses it

    def needs(self, logs: Logs) -> Needs:
        """The columns to read; raises if these logs do not support this model."""

    def start(self, logs: Logs) -> Predictor: ...

    def describe(self) -> dict[str, Any]:
        """The model as it is stored in a certificate."""


def within_range(predicted: FloatArray) -> FloatArray:
    """Clip predictions to [0, 1], the range of rewards: a control must not overshoot."""
    if not np.isfinite(predicted).all():
        count = np.count_nonzero(~np.isfinite(predicted))
        raise LogsError(f"the reward model predicted {count:,} values that are not finite; check its features, or drop it.")
    return np.clip(predicted, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class GivenPredictions(RewardModel, Predictor):
    """Expected rewards in the units of the reward (or cost) column, from a model not fitted on these rounds."""

    reader: Reader
    assumes = "the reward model was not fitted on these rounds"

    def needs(self, logs: Logs) -> Needs:
        capabilities.require(logs.declaration.features, ["policy over all actions"], _SUBJECT)
        return self.reader.needs(logs)

    def start(self, logs: Logs) -> "GivenPredictions":
        return self

    def predictions(self, batch: Batch) -> Vectors:
        predicted = self.reader.read(batch.decisions, _SUBJECT)
        if not isinstance(predicted, Vectors):
            raise UsageError(f"{_SUBJECT} must predict a reward for every action: a list column, columns, or a matrix.")
        batch.decisions.check_layout(predicted, _SUBJECT)
        if not batch.fit:
            return predicted.replace_values(np.zeros(len(predicted.values)))
        return predicted.replace_values(within_range(batch.rows.logs.scale.unit(predicted.values)))

    def describe(self) -> dict[str, Any]:
        return {"model": "given", "of": self.reader.describe()}
