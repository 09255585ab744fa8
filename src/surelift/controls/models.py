"""Reward models by origin, which decides whether a certificate may use them."""

from collections.abc import Mapping
from typing import Any

from surelift.controls.fitted import CrossFitted, FittedOn, Refitted
from surelift.controls.fitting import LINEAR, check_estimator
from surelift.controls.model import GivenPredictions, RewardModel
from surelift.errors import UsageError, whole
from surelift.policies.resolve import as_reader
from surelift.policies.resolve import from_description as policy_from
from surelift.traits.logs import Logs


def given(predictions: Any) -> RewardModel:
    """Predictions that were made elsewhere, by a model that was not fitted on these rounds.

    Args:
        predictions: Of every action, in the units of the reward column, clipped to its range: a list column, a list of
            columns, a matrix, or a function of the batch.
    """
    return GivenPredictions(as_reader(predictions))


def refitted(estimator: Any = None) -> RewardModel:
    """An estimator refitted as the log grows, each time on all earlier rounds.

    Args:
        estimator: An object with ``fit`` and ``predict`` (or ``predict_proba``); gradient boosting by default. "linear"
            is one ridge regression per action, much faster with many contexts.
    """
    return Refitted(check_estimator(estimator))


def fitted_on(logs: Logs, estimator: Any = None) -> RewardModel:
    """An estimator fitted on another log, independent of the rounds to be predicted.

    Args:
        logs: The other log.
        estimator: As in ``refitted``.
    """
    if not isinstance(logs, Logs):
        raise UsageError(f"fitted_on takes the Logs to fit on, not a {type(logs).__name__}.")
    return FittedOn(logs, check_estimator(estimator))


def cross_fitted(estimator: Any = None, *, folds: int = 5) -> RewardModel:
    """A reward model that predicts each fold by an estimator fitted on the others; for point estimates only.

    Args:
        estimator: As in ``refitted``.
        folds: The number of folds.
    """
    return CrossFitted(check_estimator(estimator), whole("folds", folds, least=2))


def is_model(form: Any) -> bool:
    return isinstance(form, GivenPredictions | Refitted | FittedOn | CrossFitted)


def from_description(description: Mapping[str, Any]) -> RewardModel:
    """Rebuild what a certificate can store: the default or linear estimator, or a column of predictions."""
    kind, missing = description["model"], f"{description['model']}, {description.get('estimator')}"
    if kind == "refitted" and (description["default"] or description["estimator"] == LINEAR):
        return refitted(None if description["default"] else LINEAR)
    if kind == "given":
        try:
            return given(policy_from(description["of"]))
        except UsageError as error:
            missing = str(error)
    raise UsageError(f"this certificate used a reward model that it cannot store ({missing}); pass it in control=.")
