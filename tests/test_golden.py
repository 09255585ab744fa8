"""Every value of golden.json, computed by an independent implementation, against the public functions."""

import json
from pathlib import Path
from typing import Any

import pytest

import surelift as sl
from surelift.bounds.independent_rounds import unfloored_empirical_bernstein
from surelift.bounds.single_smoothing import (
    unfloored_implicit_exploration,
    unfloored_logarithmic_smoothing,
    unfloored_moments,
)
from tests.term_sums import collected_from

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())


@pytest.fixture(params=GOLDEN, ids=lambda golden: golden["name"])
def golden(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


@pytest.fixture
def logs(golden: dict[str, Any]) -> sl.Logs:
    propensity = [row[action] for row, action in zip(golden["logging"], golden["action"], strict=True)]
    columns = {name: golden[name] for name in ("reward", "action", "logging", "first", "second")}
    source = {**columns, "propensity": propensity}
    return sl.Logs(source, reward="reward", propensity="propensity", action="action", logging="logging")


def close(value: float) -> Any:
    return pytest.approx(value, abs=2e-12, rel=1e-11)


def test_values(golden: dict[str, Any], logs: sl.Logs) -> None:
    expected, delta = golden["values"], golden["delta"]
    lower = sl.evaluate(logs, "first", delta=delta, sides="lower", control="none")["first"]
    upper = sl.evaluate(logs, "first", delta=delta, sides="upper", control="none")["first"]
    planned = sl.evaluate(logs, "first", delta=delta, sides="lower", grid="planned", control="none")["first"]
    assert lower.estimate == close(expected["ips"])
    assert lower.lower == close(expected["lower, mixture, anytime"])
    assert upper.upper == close(expected["upper, mixture, anytime"])
    assert planned.lower == close(expected["lower, mixture, planned"])


def test_improvements(golden: dict[str, Any], logs: sl.Logs) -> None:
    expected, delta = golden["values"], golden["delta"]
    anytime = sl.compare(logs, "first", delta=delta, control="none")
    planned = sl.compare(logs, "first", delta=delta, grid="planned", control="none")
    difference = sl.compare(logs, "first", over="second", delta=delta, control="none")
    assert anytime.lower == close(expected["improvement lower, anytime"])
    assert anytime.upper == close(expected["improvement upper, anytime"])
    assert anytime.e_value == close(expected["e-value of improvement 0, anytime"])
    assert planned.lower == close(expected["improvement lower, planned"])
    assert difference.lower == close(expected["difference of first and second lower, anytime"])


def test_single_smoothing(golden: dict[str, Any], logs: sl.Logs) -> None:
    bound = unfloored_logarithmic_smoothing(collected_from(logs, "first", "logarithmic-smoothing"), delta=golden["delta"])
    assert bound == close(golden["values"]["lower, logarithmic smoothing, 1/sqrt(n), unfloored"])
    floored = sl.evaluate(
        logs, "first", delta=golden["delta"], sides="lower", method="logarithmic-smoothing", control="none"
    )
    assert floored["first"].lower == close(max(bound, 0.0))


def test_rivals(golden: dict[str, Any], logs: sl.Logs) -> None:
    expected, delta = golden["values"], golden["delta"]

    def sums(method: str, **options: Any) -> Any:
        return collected_from(logs, "first", method, **options)

    assert unfloored_moments(sums("second-moment"), delta=delta) == close(
        expected["lower, second moment, 1/sqrt(n), unfloored"]
    )
    assert unfloored_implicit_exploration(sums("implicit-exploration"), delta=delta) == close(
        expected["lower, implicit exploration, 1/sqrt(n), unfloored"]
    )
    assert unfloored_empirical_bernstein(sums("empirical-bernstein"), delta=delta) == close(
        expected["lower, empirical Bernstein, clip sqrt(n), unfloored"]
    )
    assert unfloored_moments(sums("moments", order=2, regularizer="clipping:3"), delta=delta) == close(
        expected["lower, moments of order 2 of clipping at 3, 1/sqrt(n), unfloored"]
    )


def test_weight_control(golden: dict[str, Any], logs: sl.Logs) -> None:
    expected, delta = golden["values"], golden["delta"]
    lower = sl.evaluate(logs, "first", delta=delta, sides="lower", control="weights")["first"]
    upper = sl.evaluate(logs, "first", delta=delta, sides="upper", control="weights")["first"]
    assert lower.control == "weights"
    assert lower.lower == close(expected["lower, mixture, anytime, weight control"])
    assert upper.upper == close(expected["upper, mixture, anytime, weight control"])
    improvement = sl.compare(logs, "first", delta=delta, control="weights")
    assert improvement.lower == close(expected["improvement lower, anytime, weight control"])
