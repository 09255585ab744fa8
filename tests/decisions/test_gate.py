"""The gate: fit logs, a certified improvement, and guardrails that hold, with delta split over the claims."""

from typing import Any

import numpy as np
import pytest

import surelift as sl
from tests.prose import flat

ROUNDS = 2_000
RNG = np.random.default_rng(0)
NEW = np.tile([0.8, 0.2], ROUNDS // 2)
# The reward follows the candidate's favourite; revenue, in [0, 10], falls a little with it; clicks do not care.
REWARD = np.tile([1.0, 0.0], ROUNDS // 2)
SOURCE: dict[str, Any] = {
    "r": REWARD, "p": np.full(ROUNDS, 0.5), "new": NEW, "revenue": 5.0 - 0.1 * REWARD,
    "clicks": (RNG.random(ROUNDS) < 0.5).astype(float), "cost": 1 - REWARD,
}  # fmt: skip


def logs(**changed: Any) -> sl.Logs:
    return sl.Logs(SOURCE, **{"reward": "r", "propensity": "p", **changed})


def test_delta_is_split_over_the_claims() -> None:
    rails = [sl.Outcome("revenue", at_most_worse=0.5, range=(0, 10)), sl.Outcome("clicks", at_most_worse=0.2)]
    answer = sl.gate(logs(), "new", guardrails=rails, delta=0.06)
    alone = sl.compare(logs(), "new", delta=0.02)
    assert answer.improvement is not None
    assert answer.improvement.lower == alone.lower
    revenue = sl.compare(logs(reward="revenue", reward_range=(0, 10)), "new", delta=0.02, margin=-0.5)
    assert answer.guardrails["revenue"].lower == revenue.lower
    assert answer.certified
    assert "3 claims, each at delta 0.02" in str(answer)
    assert sl.verify(sl.Certificate.of(answer), logs()).same


@pytest.mark.parametrize(
    ("options", "promise"),
    [
        ({}, "all lower bounds hold with probability 0.95, at any number of looks"),
        ({"grid": "planned"}, "all lower bounds hold with probability 0.95, at one look"),
        ({"method": "normal"}, "all lower bounds aim for probability 0.95, only asymptotically"),
    ],
)
def test_all_claims_hold_as_the_method_promises(options: dict[str, Any], promise: str) -> None:
    assert promise in flat(str(sl.gate(logs(), "new", guardrails=[sl.Outcome("clicks", at_most_worse=0.2)], **options)))
    both = str(sl.evaluate(logs(), {"new": "new", "production": "production"}, **options))
    assert ("hold together" in both) == ("aim" not in promise)


def test_warnings_stand_above_the_verdict() -> None:
    times = np.repeat(np.arange(len(SOURCE["r"])), np.arange(len(SOURCE["r"])) % 2 + 1)  # every other row twice
    table = {name: np.asarray(column)[times] for name, column in SOURCE.items()}
    copies = sl.Logs({**table, "t": times}, reward="r", propensity="p", time="t")
    for rails in ([], [sl.Outcome("clicks", at_most_worse=0.2)]):
        said = flat(str(sl.gate(copies, "new", guardrails=rails)))
        assert said.startswith("Warning: rounds: 33.3% of the rows are copies of another, their time included.")


def test_a_guardrail_that_does_not_hold_keeps_the_gate_shut() -> None:
    answer = sl.gate(logs(), "new", guardrails=[sl.Outcome("revenue", at_most_worse=0.001, range=(0, 10))])
    assert answer.improvement is not None
    assert answer.improvement.certified
    assert not answer.guardrails["revenue"].certified
    assert not answer.certified
    assert "not enough to launch" in flat(str(answer))


def test_without_guardrails_it_is_compare_after_check() -> None:
    answer = sl.gate(logs(), "new")
    assert answer.certified
    assert answer.improvement is not None
    assert str(answer) == str(answer.improvement)
    by_cost = sl.gate(logs(reward=None, cost="cost"), "new", guardrails=[sl.Outcome("clicks", at_most_worse=0.2)])
    assert by_cost.certified


def test_logs_that_are_not_fit() -> None:
    broken = sl.Logs({**SOURCE, "p": np.full(ROUNDS, 1.5)}, reward="r", propensity="p")
    answer = sl.gate(broken, "new")
    assert not answer.certified
    assert answer.improvement is None
    with pytest.raises(sl.LogsError, match="nothing to certify"):
        sl.Certificate.of(answer)


def test_a_cost_as_guardrail() -> None:
    """Complaints fall: as a reward that is a loss, as a cost a gain."""
    as_reward = sl.gate(logs(), "new", guardrails=[sl.Outcome("cost", at_most_worse=0.05)])
    as_cost = sl.gate(logs(), "new", guardrails=[sl.Outcome("cost", at_most_worse=0.05, cost=True)])
    assert not as_reward.certified
    assert as_cost.certified
    assert sl.verify(sl.Certificate.of(as_cost), logs()).same


def test_what_cannot_change_does_not_get_worse() -> None:
    same = sl.gate(logs(), {"same": sl.blend("new", 0.0)}, guardrails=[sl.Outcome("clicks", at_most_worse=0.0)])
    assert same.guardrails["clicks"].certified
    assert not same.certified


def test_a_reward_model_speaks_of_the_reward_alone() -> None:
    from tests.controls.estimators import Means
    from tests.controls.test_models import columns, logs_of

    table = columns(2, 300)
    table["g"] = np.ones(300)
    log = logs_of(table)
    for control in ("model", Means(3), sl.models.given("q")):
        answer = sl.gate(log, "new", guardrails=[sl.Outcome("g", at_most_worse=0.5)], control=control)
        assert answer.improvement is not None
        assert (answer.improvement.control, answer.guardrails["g"].control) == ("model", "weights")
        again = control if isinstance(control, Means) else None
        assert sl.verify(sl.Certificate.of(answer), log, control=again).same


def test_what_is_refused() -> None:
    for wrong in (["clicks"], sl.Outcome("clicks"), [{"column": "clicks"}]):
        with pytest.raises(sl.UsageError, match="must be a list of Outcome"):
            sl.gate(logs(), "new", guardrails=wrong)  # type: ignore[arg-type]
    with pytest.raises(sl.UsageError, match="needs the name of a column"):
        sl.Outcome(["clicks"])  # type: ignore[arg-type]
    with pytest.raises(sl.UsageError, match=r"at least 0, not -0\.1"):
        sl.Outcome("clicks", at_most_worse=-0.1)
    with pytest.raises(sl.UsageError, match=r"no column 'click' for a guardrail\. Did you mean 'clicks'"):
        sl.gate(logs(), "new", guardrails=[sl.Outcome("click", at_most_worse=0.1)])
    with pytest.raises(sl.UsageError, match="two guardrails name one column"):
        sl.gate(logs(), "new", guardrails=[sl.Outcome("clicks", at_most_worse=0.1)] * 2)
    refused = sl.gate(logs(), "new", guardrails=[sl.Outcome("revenue", at_most_worse=0.1)])
    assert not refused.fit
    assert "reward 'revenue', declared in [0, 1]" in str(refused)


DAYS, A_DAY = 10, 1_000


def daily(**changed: Any) -> sl.Logs:
    """Independent rounds of a fixed policy on ten days; the candidate takes what is clicked on more often."""
    rng = np.random.default_rng(1)
    days = np.repeat(np.arange(DAYS), A_DAY)
    favourite = rng.random(DAYS * A_DAY) < 0.5
    table = {
        "r": (rng.random(DAYS * A_DAY) < np.where(favourite, 0.5, 0.2)).astype(float), "p": np.full(len(days), 0.5),
        "new": np.where(favourite, 0.9, 0.1), "day": days, "user": days // 2,
        "t": np.datetime64("2024-03-01T00:00:00") + days * np.timedelta64(1, "D") + np.arange(len(days)) % A_DAY,
        "k": np.ones(len(days)),
    }  # fmt: skip
    declared = {"reward": "r", "propensity": "p", "time": "t"}
    altered = {name: change(table) for name, change in changed.items() if callable(change)}
    options = {name: change for name, change in changed.items() if not callable(change)}
    return sl.Logs({**table, **altered}, **{**declared, **options})


DRIFTED: dict[str, Any] = {
    "r": lambda table: np.where(table["day"] < 5, table["r"], np.maximum(table["r"], table["k"] * 0.3))
}
ADAPTED: dict[str, Any] = {"p": lambda table: 0.5 + 0.02 * (table["day"] >= 7)}


def test_blocks_are_for_logs_that_do_not_drift() -> None:
    answer = sl.gate(daily(), "new", method="blocks")
    assert answer.certified
    assert answer.health.findings == ()
    assert answer.improvement is not None
    assert answer.improvement.lower > sl.gate(daily(), "new").improvement.lower


@pytest.mark.parametrize(
    "changed, says",
    [
        (DRIFTED, "the reward of a round differs from day to day by more than chance: 0.3"),
        (
            ADAPTED,
            "production's propensities differ from day to day by more than chance: 0.5 until 2024-03-07, 0.52 from",
        ),
    ],
)
def test_blocks_are_refused_on_a_log_that_drifts(changed: dict[str, Any], says: str) -> None:
    logs = daily(**changed)
    for answer in (sl.gate(logs, "new", method="blocks"), sl.report(logs, "new", method="blocks")):
        (refused,) = (finding for finding in answer.health.findings if finding.severity == "refuse")
        assert refused.subject == "method 'blocks'"
        assert refused.says.startswith(says)
        assert "leave the default, method='mixture'" in refused.remedy
        assert "Not fit for method 'blocks'" in str(answer)
    for answer in (sl.gate(logs, "new"), sl.report(logs, "new")):
        assert answer.health.ok
        assert any(
            finding.says.startswith(says) and "method='blocks' does not hold" in finding.remedy
            for finding in answer.health.findings
        )


@pytest.mark.parametrize(
    "declared, why",
    [
        ({"time": None}, "drift, and whether production adapted, were not tested: no time is declared"),
        ({"time": "day"}, "the times show no two days"),
        ({"cluster": "user", "cluster_max": 2 * A_DAY}, "the rounds come in clusters"),
        ({"keep_probability": "k", "rounds_before_sampling": DAYS * A_DAY}, "the log was sampled"),
        ({"density": True}, "whether production adapted was not tested: its propensities are densities"),
    ],
)
def test_blocks_say_what_was_not_tested(declared: dict[str, Any], why: str) -> None:
    answer = sl.gate(daily(**declared), "new", method="blocks")
    assert answer.fit
    said = flat(str(answer))
    assert said.startswith("Warning: ")
    assert f"{why}." in said[said.index("method 'blocks': ") :]
    assert "method 'blocks'" not in str(sl.gate(daily(**declared), "new"))


def test_drift_of_densities_and_of_sampled_logs_is_not_taken_from_their_propensities() -> None:
    """A density has no range, and rounds may have been kept by what happened in them, a different share every day."""
    for declared in ({"density": True}, {"keep_probability": "k", "rounds_before_sampling": DAYS * A_DAY}):
        assert sl.gate(daily(**ADAPTED, **declared), "new", method="blocks").fit
