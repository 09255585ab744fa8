"""Fitting an estimator on rounds, and asking it about every action.

The estimator is "linear", or any object with ``fit(X, y)`` and ``predict(X)`` or ``predict_proba(X)``, as in scikit-learn.
X holds the contexts (a column of text becomes one column per text, a list column one per entry) and then one column per
action, 1 for the action taken and 0 for the others; y the rewards scaled to [0, 1].
"""

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.controls.features import MOST_CATEGORIES, ModelFeatures
from surelift.controls.linear import Linear
from surelift.controls.model import within_range
from surelift.errors import UsageError
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.policies.policy import action_counts, require_action, require_action_count

SUBJECT = "a reward model"
LINEAR = "linear"
"""A ridge regression for every action, in place of an estimator."""
_ENTRIES_AT_ONCE = 1 << 22
_WORTH_THREADS = 20_000


@dataclass(frozen=True, slots=True)
class TrainingRounds:
    """Rounds to learn from."""

    features: FloatArray  # (rounds, contexts)
    categorical: tuple[bool, ...]
    """Which contexts are codes."""
    action: IntArray
    reward: FloatArray

    def only(self, chosen: Any) -> "TrainingRounds":
        return replace(self, features=self.features[chosen], action=self.action[chosen], reward=self.reward[chosen])

    @classmethod
    def joined(cls, parts: list["TrainingRounds"]) -> "TrainingRounds":
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.features for part in parts]),
            parts[-1].categorical,
            np.concatenate([part.action for part in parts]),
            np.concatenate([part.reward for part in parts]),
        )


class Fitted:
    """An estimator fitted once, or a constant where there is nothing to fit."""

    def __init__(self, estimator: Any, training: TrainingRounds | None, actions: int) -> None:
        self._actions = actions
        self._constant: float | None = 0.5
        if training is None or len(training.reward) == 0:
            return
        first = float(training.reward[0])
        if (training.reward == first).all():
            self._constant = first
            return
        self._constant = None
        self._default, self._linear = estimator is None, isinstance(estimator, str)
        # Counted in the rounds to learn from: a code that comes later is not known yet.
        self._codes = [
            int(np.nanmax(column, initial=-1.0)) + 1 if codes else 0
            for column, codes in zip(training.features.T, training.categorical, strict=True)
        ]
        self._unknown = np.isnan(training.features).all(axis=0)
        self._rounds = len(training.reward)
        if self._linear:
            contexts = self._contexts(training.features)
            self._estimator: Any = Linear.fitted(contexts, training.action, training.reward, actions)
            return
        with self._blamed("copied and fitted"):
            self._estimator = _default_estimator(training, actions) if estimator is None else copy.deepcopy(estimator)
            binary = np.isin(training.reward, (0.0, 1.0)).all()
            target = training.reward.astype(np.int64) if binary and self._classifies else training.reward
            self._estimator.fit(self._design(training.features, training.action), target)

    def predict(self, features: FloatArray) -> FloatArray:
        """What every action is expected to earn, (rounds, actions), on [0, 1]."""
        rounds, actions = len(features), self._actions
        if self._constant is not None:
            return np.full((rounds, actions), self._constant)
        if self._linear:
            return within_range(self._estimator.predict(self._contexts(features)))
        found = np.empty((rounds, actions))
        step = max(1, _ENTRIES_AT_ONCE // (actions * (features.shape[1] + sum(self._codes) + actions)))
        for start in range(0, rounds, step):
            part = features[start : start + step]
            design = self._design(np.repeat(part, actions, axis=0), np.tile(np.arange(actions), len(part)))
            with self._blamed("asked"):
                found[start : start + step] = self._ask(design).reshape(len(part), actions)
        return within_range(found)

    @contextmanager
    def _blamed(self, doing: str) -> Iterator[None]:
        """Whatever goes wrong in an estimator is told as its fault; small ones are not worth several threads."""
        try:
            with _one_thread() if self._default and self._rounds < _WORTH_THREADS else nullcontext():
                yield
        except UsageError:
            raise
        except Exception as error:
            name = name_of(None) if self._default else type(getattr(self, "_estimator", None)).__name__
            raise UsageError(
                f"the reward model {name} could not be {doing}, after {self._rounds:,} rounds to learn from: {error}"
            ) from error

    def _design(self, features: FloatArray, action: IntArray) -> FloatArray:
        # A context that was never known says nothing yet, and trips some estimators.
        features = np.where(self._unknown, 0.0, features)
        if self._default:
            return np.column_stack([features, action])
        return np.column_stack([self._contexts(features), _indicators(action, self._actions)])

    def _contexts(self, features: FloatArray) -> FloatArray:
        """With a column for every code in place of the codes."""
        if not any(self._codes):
            return features
        columns = [
            _indicators(column, codes) if codes else column
            for column, codes in zip(features.T, self._codes, strict=True)
        ]
        return np.column_stack(columns)

    @property
    def _classifies(self) -> bool:
        return hasattr(self._estimator, "predict_proba")

    def _ask(self, design: FloatArray) -> FloatArray:
        if not self._classifies:
            return np.asarray(self._estimator.predict(design), dtype=np.float64)
        chances = np.asarray(self._estimator.predict_proba(design), dtype=np.float64)
        expected: FloatArray = chances @ np.asarray(self._estimator.classes_, dtype=np.float64)
        return expected


def _default_estimator(training: TrainingRounds, actions: int) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError as error:
        raise UsageError(
            "the default reward model needs scikit-learn: pip install 'surelift[sklearn]', or give an object with fit and "
            "predict."
        ) from error
    # The action is the last column; too many of them can only be a number.
    categorical = [*training.categorical, actions <= MOST_CATEGORIES]
    return HistGradientBoostingRegressor(categorical_features=categorical, random_state=0)


def _one_thread() -> AbstractContextManager[Any]:
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def _indicators(codes: FloatArray | IntArray, count: int) -> FloatArray:
    """A column per code, 1 where it is the one; none is 1 for a code not seen when fitted."""
    found: FloatArray = (codes[:, None] == np.arange(count)).astype(np.float64)
    return found


def check_estimator(estimator: Any) -> Any:
    """Refuse, before anything is read, what cannot be fitted and asked."""
    if isinstance(estimator, str):
        if estimator != LINEAR:
            raise UsageError(f"no reward model {estimator!r}; say {LINEAR!r}, or give an object with fit and predict.")
        return estimator
    asks = any(callable(getattr(estimator, name, None)) for name in ("predict", "predict_proba"))
    if estimator is not None and not (callable(getattr(estimator, "fit", None)) and asks):
        raise UsageError(
            f"a reward model needs fit and predict (or predict_proba), but a {type(estimator).__name__} has not both."
        )
    if isinstance(estimator, type):
        raise UsageError(f"give the reward model as an object, {estimator.__name__}(), not as the class.")
    return estimator


def name_of(estimator: Any) -> str:
    if isinstance(estimator, str):
        return estimator
    return "HistGradientBoostingRegressor" if estimator is None else type(estimator).__name__


def training_needs(logs: Logs) -> Needs:
    require_action(logs, SUBJECT)
    require_action_count(logs, SUBJECT)
    return Needs(read=logs.declaration.contexts or ())


def training_of(rounds: Rounds, features: ModelFeatures) -> TrainingRounds:
    """The contexts, actions and rewards of a batch; contexts that are no numbers are counted as faults."""
    assert rounds.action is not None
    values = features.read(rounds)
    counts = action_counts(rounds)
    differ = rounds.usable & (counts != counts[0]) if rounds.size else np.zeros(0, dtype=np.bool_)
    rounds.refuse(SUBJECT, faults.ACTIONS_VARY, differ, counts)
    return TrainingRounds(values, features.categorical, rounds.action, rounds.reward)


def actions_of(rounds: Rounds) -> int:
    return int(action_counts(rounds)[0])
