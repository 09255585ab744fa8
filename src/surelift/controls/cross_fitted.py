"""Cross-fitting: each fold is predicted by a model fitted on the others. For point estimates only, never certificates."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.controls.features import ModelFeatures
from surelift.controls.fitting import Fitted, name_of, training_needs, training_of
from surelift.controls.held_out import whole_training
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors


@dataclass(frozen=True, slots=True, eq=False)
class CrossFitted:
    estimator: Any
    folds: int
    predictable: ClassVar[bool] = False
    in_order: ClassVar[bool] = True
    assumes: ClassVar[str] = "nothing: it is never used in a certificate"

    def needs(self, logs: Logs) -> Needs:
        return training_needs(logs)

    def start(self, logs: Logs) -> "_CrossFitting":
        return _CrossFitting(self, logs)

    def describe(self) -> dict[str, Any]:
        return {"model": "cross-fitted", "estimator": name_of(self.estimator), "folds": self.folds}


class _CrossFitting:
    def __init__(self, model: CrossFitted, logs: Logs) -> None:
        self._features = ModelFeatures(logs.declaration.contexts or ())
        training, actions = whole_training(logs, self._features)
        fold = np.arange(len(training.reward)) % model.folds
        self._models = [Fitted(model.estimator, training.only(fold != k), actions) for k in range(model.folds)]
        self._actions = actions

    def predictions(self, rounds: Rounds) -> Vectors:
        training = training_of(rounds, self._features)
        predicted = np.empty((rounds.size, self._actions))
        fold = rounds.rows % len(self._models)
        for k, model in enumerate(self._models):
            predicted[fold == k] = model.predict(training.features[fold == k])
        return Vectors.from_matrix(predicted, tolerance=0.0)

    def finish(self) -> None:
        pass
