"""Every estimate by hand and against golden values, and the paper's results on logarithmic smoothing."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import surelift as sl
from surelift.estimates import ESTIMATES
from surelift.quantities.regularizers import Discrepancy, LinearDiscrepancy, PolicyRounds
from tests.laws import LAWS, from_law
from tests.strategies import LoggedRounds, logged_rounds, smoothings

# Weights 2 and 1/2, rewards 1 and 1, propensities 1/4 and 1/2: w r is 2 and 1/2.
LOGS = sl.Logs(reward=[1.0, 1.0], propensity=[0.25, 0.5])
NEW = {"new": [0.5, 0.25]}
BY_HAND: dict[str, tuple[dict[str, Any], float]] = {
    "ips": ({}, (2 + 0.5) / 2),
    "clipped": ({"clip": 1.5}, (1.5 + 0.5) / 2),
    "exponential-smoothing": ({"alpha": 0.5}, (0.5 / 0.5 + 0.25 / math.sqrt(0.5)) / 2),
    "implicit-exploration": ({"smoothing": 0.5}, (0.5 / 0.5 + 0.25 / 0.75) / 2),
    "shrinkage": ({"strength": 4.0}, (2 * 4 / (4 + 4) + 0.5 * 4 / (0.25 + 4)) / 2),
    "harmonic": ({"strength": 0.5}, (2 / 1.5 + 0.5 / 0.75) / 2),
    "global-clipping": ({"smoothing": 0.8}, (1.25 + 0.5) / 2),
    "ls": ({"smoothing": 0.5}, (math.log(2) + math.log(1.25)) / 0.5 / 2),
    "ls-lin": ({"smoothing": 0.5}, (0.5 * math.log(3) + 0.25 * math.log(2)) / 0.5 / 2),
    "snips": ({}, 1.0),
}


def test_every_estimate_has_a_value_by_hand() -> None:
    """Estimates that use a reward model are in test_doubly_robust."""
    assert BY_HAND.keys() == {name for name, line in ESTIMATES.items() if not line.asks_model}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    options, expected = BY_HAND[name]
    result = sl.estimate(LOGS, NEW, estimator=name, **options)["new"]
    assert result.estimate == pytest.approx(expected, rel=1e-14)
    assert dict(result.parameter) == options
    assert result.mean_weight == 1.25


GOLDEN_NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "ips": ("ips", {}),
    "snips": ("snips", {}),
    "clipped, clip 2": ("clipped", {"clip": 2}),
    "implicit exploration, smoothing 0.1": ("implicit-exploration", {"smoothing": 0.1}),
    "exponential smoothing, alpha 0.7": ("exponential-smoothing", {"alpha": 0.7}),
    "shrinkage, 5": ("shrinkage", {"strength": 5}),
    "harmonic, 0.2": ("harmonic", {"strength": 0.2}),
    "ls, smoothing 0.1": ("ls", {"smoothing": 0.1}),
    "ls-lin, smoothing 0.1": ("ls-lin", {"smoothing": 0.1}),
}


@pytest.mark.parametrize(
    "golden", json.loads((Path(__file__).parent.parent / "golden.json").read_text()), ids=lambda g: g["name"]
)
def test_golden(golden: dict[str, Any]) -> None:
    rows = range(len(golden["action"]))
    p, new = ([golden[name][i][golden["action"][i]] for i in rows] for name in ("logging", "first"))
    logs = sl.Logs(reward=golden["reward"], propensity=p)
    for label, (name, options) in GOLDEN_NAMES.items():
        result = sl.estimate(logs, {"new": new}, estimator=name, **options)["new"].estimate
        assert result == pytest.approx(golden["values"][label], rel=1e-12), label


def test_smoothing_zero_is_ips_and_defaults_depend_on_the_rounds() -> None:
    assert sl.estimate(LOGS, NEW, estimator="ls", smoothing=0)["new"].estimate == 1.25
    assert sl.estimate(LOGS, NEW, estimator="ls")["new"].parameter == {"smoothing": 1 / math.sqrt(2)}
    assert sl.estimate(LOGS, NEW, estimator="clipped")["new"].parameter == {"clip": math.sqrt(2)}
    assert sl.estimate(LOGS, NEW, estimator="exponential-smoothing", alpha=0)["new"].estimate == pytest.approx(0.375)


@given(rounds=logged_rounds(), smoothing=smoothings())
def test_the_order_of_the_estimates(rounds: LoggedRounds, smoothing: float) -> None:
    """LS lies between LS-LIN and IPS, for every input: the logarithm is concave and below its tangent."""
    logs, new = rounds.logs(), {"new": rounds.probability}
    ips = sl.estimate(logs, new, estimator="ips")["new"].estimate
    ls, lin = (sl.estimate(logs, new, estimator=name, smoothing=smoothing)["new"].estimate for name in ("ls", "ls-lin"))
    assert lin <= ls * (1 + 1e-12) + 1e-300
    assert ls <= ips * (1 + 1e-12) + 1e-300


@given(rounds=logged_rounds(), smoothing=smoothings())
def test_the_bias_is_at_most_smoothing_times_the_discrepancy(rounds: LoggedRounds, smoothing: float) -> None:
    """x - log(1 + s x)/s <= s x^2/(1 + s x) in every round, so it holds for sample means too."""
    result = sl.estimate(rounds.logs(), {"new": rounds.probability}, estimator="ls", smoothing=smoothing)["new"]
    ips = float((rounds.weights * rounds.reward).mean())
    assert ips - result.estimate + 1e-12 * (1 + ips) >= 0
    assert ips - result.estimate <= result.plug_ins["bias_at_most"] * (1 + 1e-9) + 1e-12 * (1 + ips)


def test_bias_and_variance_over_many_logs() -> None:
    """The paper, Proposition 6, with S computed exactly."""
    law, smoothing, rounds = LAWS["graded"], 0.3, 40
    drawn = from_law(law)(np.random.default_rng(0), 20_000, rounds)
    estimates = (np.log1p(smoothing * drawn.weights * drawn.reward) / smoothing).mean(axis=1)
    chances, weight, _, _, reward = (np.array(column) for column in zip(*law.outcomes(), strict=True))
    x = weight * reward
    discrepancy = float((chances * x**2 / (1 + smoothing * x)).sum())
    error = estimates.std() / math.sqrt(len(estimates))
    assert -5 * error <= drawn.true_value - estimates.mean() <= smoothing * discrepancy + 5 * error
    assert estimates.var() <= discrepancy / rounds * 1.05


def test_plug_ins_by_hand() -> None:
    plug_ins = sl.estimate(LOGS, NEW, estimator="ls", smoothing=0.5, delta=0.5)["new"].plug_ins
    # x^2/(1 + x/2): 4/2 = 2 and 0.25/1.25 = 0.2.
    assert plug_ins["discrepancy"] == pytest.approx(1.1)
    assert plug_ins["bias_at_most"] == pytest.approx(0.55)
    assert plug_ins["variance_at_most"] == pytest.approx(0.55)
    # E x^2 = 2.125 over 2 rounds, ln(2/0.5) = ln 4.
    assert plug_ins["sub_gaussian_smoothing"] == pytest.approx(math.sqrt(math.log(4) / 4.25))
    assert plug_ins["selection_suboptimality"] == pytest.approx(0.55 + 2 * math.log(4))
    two = sl.estimate(LOGS, {**NEW, "none": [0.0, 0.0]}, estimator="ls", smoothing=0.5, delta=0.5)
    # With two candidates the logarithm is ln(2 * 2/0.5), and both use the S of the largest estimate.
    for estimate in two.values():
        assert estimate.plug_ins["selection_suboptimality"] == pytest.approx(0.55 + 2 * math.log(8))
    assert "sub_gaussian_smoothing" not in two["none"].plug_ins
    linear = sl.estimate(LOGS, NEW, estimator="ls-lin", smoothing=0.5)["new"].plug_ins
    # p r^2/(q^2 + s q r): 0.5/(0.0625 + 0.125) and 0.25/(0.25 + 0.25).
    assert linear == {"linear_discrepancy": pytest.approx((0.5 / 0.1875 + 0.5) / 2)}
    rounds = PolicyRounds(*(np.array([value]) for value in (2.0, 0.5, 0.25, 1.0, 2.0)))
    assert Discrepancy(0.5).values(rounds) == pytest.approx([2.0])
    # p r^2/(q^2 + s q r) = 0.5/(0.0625 + 0.125).
    assert LinearDiscrepancy(0.5).values(rounds) == pytest.approx([0.5 / 0.1875])


def test_costs_in_their_own_units() -> None:
    logs = sl.Logs(cost=[0.0, 10.0], propensity=[0.25, 0.5], reward_range=(0, 10))
    assert sl.estimate(logs, NEW, estimator="snips")["new"].estimate == pytest.approx(10 * 0.5 / 2.5)


@pytest.mark.parametrize(
    "options, says",
    [
        ({"estimator": "oracle"}, "the estimators are ips"),
        ({"estimator": "ips", "clip": 3}, "does not use clip=; it takes none"),
        ({"estimator": "ls", "alpha": 0.5}, "does not use alpha=; it takes smoothing="),
        ({"estimator": "shrinkage"}, "needs strength="),
        ({"estimator": "exponential-smoothing", "alpha": 1.5}, "at most 1"),
        ({"estimator": "harmonic", "strength": 2}, "at most 1"),
        ({"estimator": "clipped", "clip": -1}, "positive"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], says: str) -> None:
    with pytest.raises(sl.UsageError, match=says):
        sl.estimate(LOGS, NEW, **options)


def test_snips_is_undefined_without_any_weight() -> None:
    with pytest.raises(sl.LogsError, match="undefined"):
        sl.estimate(LOGS, {"none": [0.0, 0.0]}, estimator="snips")


def test_densities_and_linear_smoothing() -> None:
    logs = sl.Logs(reward=[1.0, 0.0], propensity=[2.5, 0.5], density=True)
    with pytest.raises(sl.UsageError, match="may exceed 1, and this has no meaning then"):
        sl.estimate(logs, {"new": [1.0, 1.0]}, estimator="ls-lin")
    assert sl.estimate(logs, {"new": [1.0, 1.0]}, estimator="ls", smoothing=0.1)["new"].rounds == 2


@pytest.mark.parametrize("name", BY_HAND)
def test_text_json_and_frames(name: str) -> None:
    result = sl.estimate(LOGS, NEW, estimator=name, **BY_HAND[name][0])
    for view in (result, result["new"]):
        assert json.loads(view.to_json()) == view.to_dict()
        assert "no guarantee" in str(view)
    assert len(result.to_frame("pyarrow")) == 1
