"""A reward model that learns online from the log it predicts, and never from a round it has yet to predict.

It is refitted when 64, 128, 256, ... rounds have passed and a new timestamp begins, on the rounds before it, and predicts
the rounds after. So its prediction for a round is known before that round's action, and the certificate holds. (K-fold
cross-fitting does not qualify: two rounds in two folds depend on each other, and the product of their factors has a mean
above 1.)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift import capabilities
from surelift.batch import Batch
from surelift.controls.features import ModelFeatures
from surelift.controls.fitting import Fitted, GrowingRounds, actions_of, name_of, training_needs, training_of
from surelift.controls.model import Predictor, RewardModel
from surelift.errors import LogsError
from surelift.logs.batch import Needs
from surelift.logs.order import TimeOrder
from surelift.logs.vectors import Vectors
from surelift.traits.logs import Logs

FIRST = 64
# It stops learning here, so that memory does not grow with the log.
LAST = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Refitted(RewardModel):
    estimator: Any
    """None for the default, gradient boosting; "linear" for one ridge regression per action."""
    in_order = True
    features = frozenset({"refitted reward model"})
    assumes = "the rounds are in the order of their decisions"

    def needs(self, logs: Logs) -> Needs:
        capabilities.require(logs.declaration.features, "refitted reward model", "a reward model that learns online")
        return training_needs(logs)

    def start(self, logs: Logs) -> "_Refitting":
        (time,) = logs.declaration.times
        return _Refitting(self.estimator, ModelFeatures(logs.contexts), time)

    def describe(self) -> dict[str, Any]:
        return {"model": "refitted", "estimator": name_of(self.estimator), "default": self.estimator is None}


class _Refitting(Predictor):
    def __init__(self, estimator: Any, features: ModelFeatures, time: str) -> None:
        self._estimator, self._features = estimator, features
        self._seen, self._due, self._actions = 0, FIRST, 0
        self._kept = GrowingRounds()
        self._order = TimeOrder(time)
        self._fitted: Fitted | None = None

    def predictions(self, batch: Batch) -> Vectors:
        training, latest = training_of(batch, self._features), self._order.latest
        times = self._order.check(batch.rows)
        if not batch.fit or batch.size == 0:
            return Vectors(np.zeros(0), np.zeros(batch.size + 1, dtype=np.int64), 0.0)
        actions = actions_of(batch)
        if self._fitted is None:
            self._fitted, self._actions = Fitted(self._estimator, None, actions), actions
        if actions != self._actions:
            raise LogsError(
                f"the number of actions changes from {self._actions} to {actions} in row {batch.rows.start:,}; a "
                f"reward model "
                "fitted here needs the same actions in every round. Otherwise give its predictions in a list column."
            )
        if self._due <= LAST:
            self._kept.append(training)
        parts, begin = [], 0
        for end in self._refits(times, latest):
            parts.append(self._fitted.predict(training.features[begin:end]))
            self._fitted = Fitted(self._estimator, self._kept.first(self._seen + end), self._actions)
            begin = end
        parts.append(self._fitted.predict(training.features[begin:]))
        self._seen += batch.size
        if self._due > LAST:
            self._kept = GrowingRounds()
        return Vectors.from_matrix(np.concatenate(parts), tolerance=0.0)

    def _refits(self, times: Any, latest: Any) -> Iterator[int]:
        """Where in the batch a refit is due: at the first round of a timestamp, so that simultaneous rounds share a model.

        Their order within a timestamp may depend on their rewards.
        """
        later = np.ones(len(times), dtype=np.bool_)
        later[1:] = times[1:] > times[:-1]
        later[0] = latest is not None and times[0] > latest
        for index in np.flatnonzero(later):
            if self._seen + int(index) >= self._due and self._due <= LAST:
                yield int(index)
                while self._due <= self._seen + index:
                    self._due *= 2
