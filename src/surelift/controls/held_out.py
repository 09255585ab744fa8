"""Reward models fitted on whole rounds held out: those of another log, or all but one fold of this one."""

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from surelift.batch import Batch
from surelift.controls.features import ModelFeatures
from surelift.controls.fitting import (
    Fitted,
    GrowingRounds,
    TrainingRounds,
    actions_of,
    name_of,
    training_needs,
    training_of,
)
from surelift.controls.model import SAME_ROUNDS, Predictor, RewardModel
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import Needs, Slice, Source
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.origins import Origins
from surelift.logs.sources.files import Files
from surelift.logs.vectors import Vectors
from surelift.traits.logs import Logs


@dataclass(frozen=True, eq=False)
class FittedOn(RewardModel):
    logs: Logs
    estimator: Any
    assumes = "the reward model was fitted on other rounds, which was checked as far as rounds can be told apart"

    def needs(self, logs: Logs) -> Needs:
        if _share_files(logs.source, self.logs.source):
            raise UsageError(SAME_ROUNDS)
        if logs.scale != self.logs.scale:
            raise UsageError("the reward model's log declares another reward range, or costs instead of rewards.")
        training_needs(logs)
        logs.require_columns(self._contexts, role="a feature of the reward model")
        return Needs(read=self._contexts)

    def start(self, logs: Logs) -> "_HeldOutModel":
        model = self._fitted[0]
        # It meets other categories in each log.
        return replace(model, features=copy.deepcopy(model.features))

    def describe(self) -> dict[str, Any]:
        return {"model": "fitted on another log", "estimator": name_of(self.estimator)}

    @property
    def learned_from(self) -> Origins:
        """Rounds that it must not predict."""
        return self._fitted[1]

    @property
    def _contexts(self) -> tuple[str, ...]:
        return self.logs.contexts

    @cached_property
    def _fitted(self) -> "tuple[_HeldOutModel, Origins]":
        features = ModelFeatures(self._contexts)
        training, actions, origins = whole_training(self.logs, features)
        return _HeldOutModel(features, actions, Fitted(self.estimator, training, actions)), origins


@dataclass(frozen=True, slots=True)
class _HeldOutModel(Predictor):
    features: ModelFeatures
    actions: int
    fitted: Fitted

    def predictions(self, batch: Batch) -> Vectors:
        training = training_of(batch, self.features)
        if not batch.fit or batch.size == 0:
            return Vectors(np.zeros(0), np.zeros(batch.size + 1, dtype=np.int64), 0.0)
        if actions_of(batch) != self.actions:
            raise LogsError(
                f"the reward model was fitted with {self.actions} actions, but these rounds have {actions_of(batch)}."
            )
        return Vectors.from_matrix(self.fitted.predict(training.features), tolerance=0.0)


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

    def start(self, logs: Logs) -> "_CrossFitting":
        return _CrossFitting(self, logs)

    def describe(self) -> dict[str, Any]:
        return {"model": "cross-fitted", "estimator": name_of(self.estimator), "folds": self.folds}


class _CrossFitting(Predictor):
    def __init__(self, model: CrossFitted, logs: Logs) -> None:
        self._features = ModelFeatures(logs.contexts)
        training, actions, _ = whole_training(logs, self._features)
        fold = np.arange(len(training.reward)) % model.folds
        self._models = [Fitted(model.estimator, training.only(fold != k), actions) for k in range(model.folds)]
        self._actions = actions

    def predictions(self, batch: Batch) -> Vectors:
        training = training_of(batch, self._features)
        predicted = np.empty((batch.size, self._actions))
        fold = batch.rows.numbered % len(self._models)
        for k, model in enumerate(self._models):
            predicted[fold == k] = model.predict(training.features[fold == k])
        return Vectors.from_matrix(predicted, tolerance=0.0)


def _share_files(first: Source, second: Source) -> bool:
    if isinstance(first, Slice):
        return first.overlaps(second)
    if isinstance(second, Slice):
        return second.overlaps(first)
    if isinstance(first, Files) and isinstance(second, Files):
        return bool(first.resolved & second.resolved)
    return first is second


def whole_training(logs: Logs, features: ModelFeatures) -> tuple[TrainingRounds, int, Origins]:
    """All rounds of a log in memory, to train on, the number of actions, and what tells these rounds again."""
    kept, rows, actions, origins, invalid = GrowingRounds(), 0, set(), Origins(), dict[Fault, Tally]()
    for table in logs.batches(training_needs(logs)):
        batch = Batch(logs, table).read()
        training = training_of(batch, features)
        rows += batch.size
        invalid = merge_tallies(invalid, batch.rows.faults.tallies)
        if batch.size and not invalid:
            kept.append(training)
            actions.add(actions_of(batch))
            origins += Origins.of(batch.rows, batch.decisions.taken, [logs.contexts])
    refuse_faults(invalid, rows=rows)
    if not actions:
        raise LogsError("the log to fit the reward model on is empty.")
    if len(actions) > 1:
        raise LogsError(f"a reward model needs the same actions in every round, but the action counts vary: {actions}.")
    return kept.first(rows), actions.pop(), origins
