"""Reward models that are fitted here: on another log, on all folds but one, or again and again as the log grows.

The last never learns from a round it has yet to predict. It is refitted when 64, 128, 256, ... rounds have passed and a new
timestamp begins, on the rounds before it, and predicts the rounds after. So its prediction for a round is known before that
round's action, and the certificate holds. (K-fold cross-fitting does not qualify: two rounds in two folds depend on each
other, and the product of their factors has a mean above 1.)
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from surelift import capabilities
from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.controls.features import ModelFeatures
from surelift.controls.fitting import Fitted, TrainingRounds, name_of, same_actions, training_needs, training_of
from surelift.controls.model import SAME_ROUNDS, Predictor, RewardModel
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import Needs, Slice, Source
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.order import TimeOrder
from surelift.logs.seen import Origins
from surelift.logs.sources.files import Files
from surelift.logs.vectors import Vectors
from surelift.traits.logs import Logs

# Where a model that learns online begins, and where it stops, so that memory does not grow with the log.
FIRST, LAST = 64, 1 << 20


@dataclass(frozen=True, eq=False)
class FittedOn(RewardModel):
    logs: Logs
    estimator: Any
    assumes = "the reward model was fitted on other rounds, which was checked as far as rounds can be told apart"

    def needs(self, logs: Logs) -> Needs:
        wrong = SAME_ROUNDS if _share_files(logs.source, self.logs.source) else ""
        if logs.scale != self.logs.scale:
            wrong = wrong or "the reward model's log declares another reward range, or costs instead of rewards."
        if wrong:
            raise UsageError(wrong)
        training_needs(logs)
        logs.require_columns(self.logs.contexts, role="a feature of the reward model")
        return Needs(read=self.logs.contexts)

    def start(self, logs: Logs) -> Predictor:
        features, fitted, actions, _ = self._fitted
        # It meets other categories in each log.
        return _Predicting(copy.deepcopy(features), actions, lambda training, _: fitted.predict(training.features))

    def describe(self) -> dict[str, Any]:
        return {"model": "fitted on another log", "estimator": name_of(self.estimator)}

    @property
    def learned_from(self) -> Origins:
        """Rounds that it must not predict."""
        return self._fitted[-1]

    @cached_property
    def _fitted(self) -> tuple[ModelFeatures, Fitted, int, Origins]:
        features = ModelFeatures(self.logs.contexts)
        training, actions, origins = _whole_training(self.logs, features)
        return features, Fitted(self.estimator, training, actions), actions, origins


@dataclass(frozen=True, slots=True, eq=False)
class CrossFitted(RewardModel):
    """Each fold is predicted by a model fitted on the others. For point estimates only, never certificates."""

    estimator: Any
    folds: int
    predictable = False
    in_order = True
    assumes = "nothing: it is never used in a certificate"

    def needs(self, logs: Logs) -> Needs:
        return training_needs(logs)

    def start(self, logs: Logs) -> Predictor:
        features = ModelFeatures(logs.contexts)
        training, actions, _ = _whole_training(logs, features)
        fold = np.arange(len(training.reward)) % self.folds
        models = [Fitted(self.estimator, training.only(fold != k), actions) for k in range(self.folds)]

        def predict(training: TrainingRounds, seen: int) -> FloatArray:
            # By the place among the rounds that are read, as in training: a row is numbered from the start of its source.
            fold = (seen + np.arange(len(training.reward))) % self.folds
            predicted = np.empty((len(fold), actions))
            for k, model in enumerate(models):
                predicted[fold == k] = model.predict(training.features[fold == k])
            return predicted

        return _Predicting(features, actions, predict)

    def describe(self) -> dict[str, Any]:
        return {"model": "cross-fitted", "estimator": name_of(self.estimator), "folds": self.folds}


@dataclass(frozen=True, slots=True, eq=False)
class Refitted(RewardModel):
    estimator: Any
    """None for the default, gradient boosting; "linear" for one ridge regression per action."""
    in_order = True
    features = frozenset({"refitted reward model"})
    assumes = "the rounds are in the order of their decisions"

    def needs(self, logs: Logs) -> Needs:
        capabilities.require(logs.declaration.features, ["refitted reward model"], "a reward model that learns online")
        return training_needs(logs)

    def start(self, logs: Logs) -> Predictor:
        return _Refitting(self.estimator, ModelFeatures(logs.contexts), *logs.declaration.times)

    def describe(self) -> dict[str, Any]:
        return {"model": "refitted", "estimator": name_of(self.estimator), "default": self.estimator is None}


class _Predicting(Predictor):
    """Reads the rounds of every batch, and predicts those of a batch that is fit."""

    def __init__(self, features: ModelFeatures, actions: int, predict: Callable[[TrainingRounds, int], FloatArray]) -> None:
        self.features, self.actions, self.predict, self.seen = features, actions, predict, 0

    def predictions(self, batch: Batch) -> Vectors:
        training = training_of(batch, self.features)
        if not batch.fit or batch.size == 0:
            return Vectors(np.zeros(0), np.zeros(batch.size + 1, dtype=np.int64), 0.0)
        self.actions = same_actions(batch, self.actions)
        predicted = self.predict(training, self.seen)
        self.seen += batch.size
        return Vectors.from_matrix(predicted, tolerance=0.0)


class _Refitting(_Predicting):
    def __init__(self, estimator: Any, features: ModelFeatures, time: str) -> None:
        super().__init__(features, 0, self._predict)
        self._estimator, self._order = estimator, TimeOrder(time)
        self._due, self._kept = FIRST, list[TrainingRounds]()
        self._fitted: Fitted | None = None
        self._times: Any = ()
        self._latest: Any = None

    def predictions(self, batch: Batch) -> Vectors:
        self._latest, self._times = self._order.latest, self._order.check(batch.rows)
        return super().predictions(batch)

    def _predict(self, training: TrainingRounds, seen: int) -> FloatArray:
        if self._fitted is None:
            self._fitted = Fitted(self._estimator, training.only(slice(0)), self.actions)
        if self._due <= LAST:
            self._kept.append(training)
        predicted, begin = np.empty((len(training.reward), self.actions)), 0
        for end in self._refits(seen):
            predicted[begin:end] = self._fitted.predict(training.features[begin:end])
            self._kept = [TrainingRounds.joined(self._kept)]
            self._fitted = Fitted(self._estimator, self._kept[0].only(slice(seen + end)), self.actions)
            begin = end
        predicted[begin:] = self._fitted.predict(training.features[begin:])
        if self._due > LAST:
            self._kept = []
        return predicted

    def _refits(self, seen: int) -> Iterator[int]:
        """The positions of the batch at which a refit is due, each the first round of a timestamp."""
        # Simultaneous rounds share a model, since their order may depend on their rewards.
        begins = np.ones(len(self._times), dtype=np.bool_)
        begins[1:] = self._times[1:] > self._times[:-1]
        begins[0] = self._latest is not None and self._times[0] > self._latest
        for index in np.flatnonzero(begins).tolist():
            if seen + index >= self._due and self._due <= LAST:
                yield index
                while self._due <= seen + index:
                    self._due *= 2


def _share_files(first: Source, second: Source) -> bool:
    if isinstance(first, Slice) or isinstance(second, Slice):
        return first.overlaps(second) if isinstance(first, Slice) else _share_files(second, first)
    if isinstance(first, Files) and isinstance(second, Files):
        return bool(first.resolved & second.resolved)
    return first is second


def _whole_training(logs: Logs, features: ModelFeatures) -> tuple[TrainingRounds, int, Origins]:
    """All rounds of a log in memory, to train on, the number of actions, and what tells these rounds again."""
    kept, rows, actions, origins, invalid = list[TrainingRounds](), 0, 0, Origins(), dict[Fault, Tally]()
    for table in logs.batches(training_needs(logs)):
        batch = Batch(logs, table).read()
        training = training_of(batch, features)
        rows += batch.size
        invalid = merge_tallies(invalid, batch.rows.tallies)
        if batch.size and not invalid:
            kept.append(training)
            actions = same_actions(batch, actions)
            origins += Origins.of(batch.rows, batch.decisions.taken, [logs.contexts])
    if invalid:
        refuse_faults(invalid, rows=rows)
    if not kept:
        raise LogsError("the log to fit the reward model on is empty.")
    return TrainingRounds.joined(kept), actions, origins
