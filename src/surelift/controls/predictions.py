"""Precomputed predictions of a reward model: a list column, a matrix, or a function of the batch."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.controls.model import within_range
from surelift.errors import UsageError
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import require_action
from surelift.policies.readers import Reader

SUBJECT = "the reward model"


@dataclass(frozen=True, slots=True)
class GivenPredictions:
    """Expected rewards in the units of the reward (or cost) column, from a model not fitted on these rounds."""

    reader: Reader
    predictable: ClassVar[bool] = True
    in_order: ClassVar[bool] = False
    assumes: ClassVar[str] = "the reward model was not fitted on these rounds"

    def needs(self, logs: Logs) -> Needs:
        require_action(logs, SUBJECT)
        return self.reader.needs(logs)

    def start(self, logs: Logs) -> "GivenPredictions":
        return self

    def predictions(self, rounds: Rounds) -> Vectors:
        predicted = self.reader.read(rounds, SUBJECT)
        if not isinstance(predicted, Vectors):
            raise UsageError(f"{SUBJECT} must predict a reward for every action: a list column, columns, or a matrix.")
        rounds.check_vector_layout(predicted, SUBJECT)
        if rounds.faults.tallies:
            return predicted.replace_values(np.zeros(len(predicted.values)))
        return predicted.replace_values(within_range(rounds.logs.scale.unit(predicted.values)))

    def finish(self) -> None:
        pass

    def describe(self) -> dict[str, Any]:
        return {"model": "given", "of": self.reader.describe()}
