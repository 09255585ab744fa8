"""Fit an estimator on rounds, and predict the reward of every action.

The estimator is "linear", or any object with ``fit(X, y)`` and ``predict(X)`` or ``predict_proba(X)``, as in scikit-learn.
X holds the contexts (text is one-hot encoded, a list column becomes one column per entry), then the logged action, one-hot
encoded; y holds the rewards scaled to [0, 1].
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surelift import capabilities
from surelift.arrays import FloatArray, IntArray, as_numpy
from surelift.batch import Batch
from surelift.controls.features import MOST_CATEGORIES, ModelFeatures
from surelift.controls.linear import Linear
from surelift.controls.model import within_range
from surelift.errors import LogsError, UsageError, install_extra
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.traits.logs import Logs

SUBJECT = "a reward model"
LINEAR = "linear"
"""Selects one ridge regression per action instead of an estimator."""
_ENTRIES_AT_ONCE = 1 << 22
_WORTH_THREADS = 20_000


@dataclass(frozen=True, slots=True)
class TrainingRounds:
    features: FloatArray  # (rounds, contexts)
    categorical: tuple[bool, ...]  # the contexts that hold category codes
    action: IntArray
    reward: FloatArray

    def only(self, chosen: Any) -> "TrainingRounds":
        return replace(self, features=self.features[chosen], action=self.action[chosen], reward=self.reward[chosen])

    @classmethod
    def joined(cls, parts: Sequence["TrainingRounds"]) -> "TrainingRounds":
        arrays = ([getattr(part, name) for part in parts] for name in ("features", "action", "reward"))
        features, action, reward = map(np.concatenate, arrays)
        return cls(features, parts[-1].categorical, action, reward)


class Fitted:
    """A fitted estimator, or a constant if there is nothing to fit."""

    def __init__(self, estimator: Any, training: TrainingRounds, actions: int) -> None:
        self._actions, self._rounds, self._name = actions, len(training.reward), name_of(estimator)
        self._default, self._linear = estimator is None, isinstance(estimator, str)
        self._constant = float(training.reward[0]) if self._rounds else 0.5
        self._is_constant = bool((training.reward == self._constant).all())
        if self._is_constant:
            return
        # Count codes in the training rounds only: a code that first appears later is not known yet.
        self._codes = [
            int(np.nanmax(column, initial=-1.0)) + 1 if codes else 0
            for column, codes in zip(training.features.T, training.categorical, strict=True)
        ]
        self._unknown = np.isnan(training.features).all(axis=0)
        if self._linear:
            contexts = self._contexts(training.features)
            self._estimator: Any = Linear.fitted(contexts, training.action, training.reward, actions)
            return
        with self._attributed("copied and fitted"):
            self._estimator = _default_estimator(training, actions) if estimator is None else copy.deepcopy(estimator)
            target = training.reward
            if hasattr(self._estimator, "predict_proba") and np.isin(target, (0.0, 1.0)).all():
                target = target.astype(np.int64)
            self._estimator.fit(self._design(training.features, training.action), target)

    def predict(self, features: FloatArray) -> FloatArray:
        """The expected reward of every action, shape (rounds, actions), on [0, 1]."""
        rounds, actions = len(features), self._actions
        if self._is_constant:
            return np.full((rounds, actions), self._constant)
        if self._linear:
            return within_range(self._estimator.predict(self._contexts(features)))
        predicted = np.empty((rounds, actions))
        step = max(1, _ENTRIES_AT_ONCE // (actions * (features.shape[1] + sum(self._codes) + actions)))
        for start in range(0, rounds, step):
            part = features[start : start + step]
            design = self._design(np.repeat(part, actions, axis=0), np.tile(np.arange(actions), len(part)))
            with self._attributed("evaluated"):
                predicted[start : start + step] = self._rewards(design).reshape(len(part), actions)
        return within_range(predicted)

    @contextmanager
    def _attributed(self, action: str) -> Iterator[None]:
        """Report any exception as the estimator's; small fits use one thread, as more would not pay off."""
        try:
            with ExitStack() as stack:
                if self._default and self._rounds < _WORTH_THREADS:
                    from threadpoolctl import threadpool_limits  # it comes with scikit-learn

                    stack.enter_context(threadpool_limits(1))
                yield
        except Exception as error:
            why = f"could not be {action}, with {self._rounds:,} training rounds: {error}"
            if self._default and isinstance(error, ImportError):
                why = f"needs scikit-learn, which is not installed. {install_extra('sklearn')} Or give another estimator."
            raise UsageError(f"the reward model {self._name} {why}") from error

    def _design(self, features: FloatArray, action: IntArray) -> FloatArray:
        # A context that was never observed carries no information yet, and breaks some estimators.
        features = np.where(self._unknown, 0.0, features)
        if self._default:
            return np.column_stack([features, action])
        return np.column_stack([self._contexts(features), _indicators(action, self._actions)])

    def _contexts(self, features: FloatArray) -> FloatArray:
        """The contexts, with category codes one-hot encoded."""
        if not any(self._codes):
            return features
        coded = zip(features.T, self._codes, strict=True)
        return np.column_stack([_indicators(column, codes) if codes else column for column, codes in coded])

    def _rewards(self, design: FloatArray) -> FloatArray:
        classifies = hasattr(self._estimator, "predict_proba")
        predict = self._estimator.predict_proba if classifies else self._estimator.predict
        predicted = as_numpy(predict(design), "the reward model").astype(np.float64)
        return np.asarray(predicted @ np.asarray(self._estimator.classes_, np.float64)) if classifies else predicted


def _default_estimator(training: TrainingRounds, actions: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    # The action is the last column; with too many categories it must be treated as a number.
    categorical = [*training.categorical, actions <= MOST_CATEGORIES]
    return HistGradientBoostingRegressor(categorical_features=categorical, random_state=0)


def _indicators(codes: FloatArray | IntArray, count: int) -> FloatArray:
    """One-hot columns; all zero for a code not seen in training."""
    return np.asarray((codes[:, None] == np.arange(count)).astype(np.float64))


def check_estimator(estimator: Any) -> Any:
    """Reject, before reading anything, an object that cannot be fitted or cannot predict."""
    fits, *predicts = (callable(getattr(estimator, name, None)) for name in ("fit", "predict", "predict_proba"))
    wrong, name = "", type(estimator).__name__
    if isinstance(estimator, str):
        if estimator != LINEAR:
            wrong = f"unknown reward model {estimator!r}; use {LINEAR!r} or an object with fit and predict."
    elif estimator is not None and not (fits and any(predicts)):
        wrong = f"a reward model needs fit and predict (or predict_proba), but a {name} lacks one of them."
    elif isinstance(estimator, type):
        wrong = f"pass an instance of the reward model, {estimator.__name__}(), not the class."
    if wrong:
        raise UsageError(wrong)
    return estimator


def name_of(estimator: Any) -> str:
    if isinstance(estimator, str):
        return estimator
    return "HistGradientBoostingRegressor" if estimator is None else type(estimator).__name__


def training_needs(logs: Logs) -> Needs:
    capabilities.require(logs.declaration.features, ["reward model"], SUBJECT)
    return Needs(read=logs.contexts)


def training_of(batch: Batch, features: ModelFeatures) -> TrainingRounds:
    """The contexts, actions and rewards of a batch; non-numeric entries in numeric contexts count as faults."""
    values, rows = features.read(batch.rows), batch.rows
    counts = batch.decisions.available(SUBJECT)
    differ = rows.usable & (counts != counts[0]) if batch.size else np.zeros(0, dtype=np.bool_)
    rows.refuse(SUBJECT, faults.ACTIONS_VARY, differ, counts)
    return TrainingRounds(values, features.categorical, batch.decisions.taken, batch.line.reward)


def same_actions(batch: Batch, before: int) -> int:
    """The number of actions, which must be that of the batches before; 0 if there are none."""
    found = int(batch.decisions.available(SUBJECT)[0])
    if before not in (0, found):
        change = f"their number changes from {before} to {found} in row {batch.rows.start:,}"
        raise LogsError(f"a reward model needs the same actions in every round, but {change}; or give it as a list column.")
    return found
