"""Estimates with a reward model, by hand and in their limiting cases."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from tests.controls.estimators import Means
from tests.controls.test_models import columns, logs_of

# Two rounds, two actions: w = 0.8/0.5 = 1.6 with r = 1, w = 0.4/0.8 = 0.5 with r = 0.
LOGS = sl.Logs(
    {"r": [1.0, 0.0], "p": [0.5, 0.8], "a": [0, 1], "l": [[0.5, 0.5], [0.2, 0.8]], "q": [[0.5, 0.25], [1.0, 0.5]],
     "new": [[0.8, 0.2], [0.6, 0.4]]}, reward="r", propensity="p", action="a", logging="l",
)  # fmt: skip
DIRECT = (0.8 * 0.5 + 0.2 * 0.25 + 0.6 * 1.0 + 0.4 * 0.5) / 2


@pytest.mark.parametrize(
    "estimator, options, expected",
    [
        ("dm", {}, DIRECT),
        ("dr", {}, DIRECT + (1.6 * 0.5 + 0.5 * -0.5) / 2),
        ("sndr", {}, DIRECT + (1.6 * 0.5 + 0.5 * -0.5) / 2.1),
        ("switch-dr", {"clip": 1.0}, DIRECT + 0.5 * -0.5 / 2),
        ("dr-os", {"strength": 2.0}, DIRECT + (1.6 * 2 / (1.6**2 + 2) * 0.5 + 0.5 * 2 / (0.5**2 + 2) * -0.5) / 2),
    ],
)
def test_by_hand(estimator: str, options: dict[str, Any], expected: float) -> None:
    result = sl.estimate(LOGS, "new", estimator=estimator, model=sl.models.given("q"), **options)["new"]
    assert result.estimate == pytest.approx(expected)
    assert result.model == {"model": "given", "of": {"kind": "column", "column": "q"}}
    assert result.estimate == sl.estimate(LOGS, "new", estimator=estimator, model="q", **options)["new"].estimate


@pytest.mark.slow
@given(seed=st.integers(0, 1_000))
def test_limits(seed: int) -> None:
    """With a model of zero DR is IPS and SNDR is SNIPS; a switch that never switches is DR; shrinkage vanishes."""
    table = columns(seed, 80)
    logs = logs_of(table)

    def ask(estimator: str, model: Any = None, **options: Any) -> float:
        return float(sl.estimate(logs, "new", estimator=estimator, model=model, **options)["new"].estimate)

    zero, truth = sl.models.given(np.zeros((80, 3))), sl.models.given("q")
    assert ask("dr", zero) == pytest.approx(ask("ips"))
    assert ask("sndr", zero) == pytest.approx(ask("snips"))
    assert ask("switch-dr", truth, clip=1e9) == pytest.approx(ask("dr", truth))
    assert ask("switch-dr", truth, clip=1e-9) == pytest.approx(ask("dm", truth), abs=1e-6)
    assert ask("dr-os", truth, strength=1e12) == pytest.approx(ask("dr", truth), rel=1e-6)
    assert ask("dr-os", zero, strength=5.0) == pytest.approx(ask("shrinkage", strength=5.0))


def test_cross_fitting_is_the_default_and_uses_the_other_folds() -> None:
    table = columns(1, 50)
    logs = logs_of(table)
    result = sl.estimate(logs, "new", estimator="dm", model=Means(3))["new"]
    assert result.model == {"model": "cross-fitted", "estimator": "Means", "folds": 5}
    fold = np.arange(50) % 5
    expected = np.empty(50)
    for k in range(5):
        taken = np.eye(3)[table["a"]][fold != k]
        means = (table["r"][fold != k] @ taken + 0.5) / (taken.sum(axis=0) + 1)
        expected[fold == k] = table["new"][fold == k] @ means
    assert result.estimate == pytest.approx(expected.mean())


@pytest.mark.slow
def test_dr_is_closer_to_the_truth_than_ips() -> None:
    errors = {"ips": [], "dr": []}  # type: dict[str, list[float]]
    for seed in range(12):
        table = columns(seed, 1_500)
        truth = float((table["new"] * table["q"]).sum(axis=1).mean())
        for estimator in errors:
            result = sl.estimate(logs_of(table), "new", estimator=estimator)["new"].estimate
            errors[estimator].append((result - truth) ** 2)
    assert np.mean(errors["dr"]) < np.mean(errors["ips"])


def test_predictions_with_the_wrong_number_of_actions() -> None:
    logs = sl.Logs(reward=[0.0, 1.0], propensity=[0.5, 0.5], action=[0, 1])
    with pytest.raises(sl.LogsError, match="predicts for 3 actions where policy 'new' has 2, first in row 0"):
        sl.estimate(
            logs,
            {"new": [[0.5, 0.5], [0.2, 0.3, 0.5]]},
            estimator="dm",
            model=sl.models.given([[0.1, 0.2, 0.3], [0.9, 0.8]]),
        )


def test_invalid_models_are_rejected() -> None:
    with pytest.raises(sl.UsageError, match="does not use model="):
        sl.estimate(LOGS, "new", estimator="ips", model="q")
    with pytest.raises(sl.UsageError, match="must be given as a vector"):
        sl.estimate(LOGS, {"one": "p"}, estimator="dr", model="q")
    with pytest.raises(sl.UsageError, match="needs fit and predict"):
        sl.estimate(LOGS, "new", estimator="dr", model=object())
    with pytest.raises(sl.UsageError, match="folds must be"):
        sl.models.cross_fitted(folds=1)
    with pytest.raises(sl.UsageError, match="a reward model needs to know how many actions were available"):
        sl.estimate(sl.Logs(reward=[1.0], propensity=[0.5]), {"new": [0.5]}, estimator="dr")
