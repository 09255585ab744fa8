"""Reward models, by where they come from: what decides is whether a certificate may use them."""

from collections.abc import Mapping
from typing import Any

from surelift.controls.cross_fitted import CrossFitted
from surelift.controls.fitting import LINEAR, check_estimator
from surelift.controls.held_out import FittedOn
from surelift.controls.model import RewardModel
from surelift.controls.predictions import GivenPredictions
from surelift.controls.refitted import Refitted
from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.policies.resolve import as_reader, reader_from

_MODELS = (GivenPredictions, Refitted, FittedOn, CrossFitted)


def given(predictions: Any) -> RewardModel:
    """What a model expects of every action: a list column, a list of columns, a matrix, or a function of the batch.

    In the units of the reward column, brought into its range; the model must not have been fitted on these rounds.
    """
    return GivenPredictions(as_reader(predictions))


def refitted(estimator: Any = None) -> RewardModel:
    """An estimator fitted anew, as the log goes on, on the rounds that came before.

    Gradient boosting by default; "linear" is a ridge regression for every action, much faster where contexts are many.
    """
    return Refitted(check_estimator(estimator))


def fitted_on(logs: Logs, estimator: Any = None) -> RewardModel:
    """An estimator fitted on another log, which has nothing to do with the rounds to be judged."""
    if not isinstance(logs, Logs):
        raise UsageError(f"fitted_on takes the Logs to fit on, not a {type(logs).__name__}.")
    return FittedOn(logs, check_estimator(estimator))


def cross_fitted(estimator: Any = None, *, folds: int = 5) -> RewardModel:
    """An estimator fitted on all folds but one, for each fold: for point estimates only."""
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise UsageError(f"folds must be a whole number of at least 2, but is {folds!r}.")
    return CrossFitted(check_estimator(estimator), folds)


def is_model(form: Any) -> bool:
    return isinstance(form, _MODELS)


def from_description(description: Mapping[str, Any]) -> RewardModel:
    """Rebuild what a certificate can hold: the default estimator, or a column of predictions."""
    if description["model"] == "refitted" and (description["default"] or description["estimator"] == LINEAR):
        return refitted(None if description["default"] else LINEAR)
    try:
        if description["model"] == "given":
            return GivenPredictions(reader_from(description["of"]))
        raise UsageError(f"{description['model']}, {description.get('estimator')}")
    except UsageError as error:
        raise UsageError(
            f"a reward model narrowed this certificate, which it cannot hold ({error}); give it in control=."
        ) from error
