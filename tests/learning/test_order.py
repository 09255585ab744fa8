"""Rounds that judge come after those that were learned from: by time where it is declared, else by row."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.learning.learned import LearnedPolicy
from surelift.learning.learner import PolicyLearner
from tests.learning.test_learner import FEW, logs_of, problem

KINDS: dict[str, dict[str, Any]] = {"set aside": {"policy": "gaussian"}, "held out": {"policy": "linear"}}
SORTED = {
    "reward": lambda data: np.argsort(data["reward"], kind="stable"),
    "reward in five parts": lambda data: np.lexsort([data["reward"], np.arange(4_000) // 800]),
    "action": lambda data: np.argsort(data["action"], kind="stable"),
}


def in_order(data: dict[str, Any], order: Any) -> dict[str, Any]:
    return {name: column[order] for name, column in data.items()}


def learner(kind: str, **options: Any) -> PolicyLearner:
    return PolicyLearner(**FEW, **KINDS[kind], **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", SORTED)
def test_a_sorted_log_is_refused(kind: str, by: str) -> None:
    data = problem(4_000)
    with pytest.raises(sl.LogsError, match=f"{by.split()[0]} '.*sorted or grouped.*\\n.*time="):
        learner(kind).fit(logs_of(in_order(data, SORTED[by](data))))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_log_sorted_by_the_weights_of_a_good_policy_is_refused(sign: int) -> None:
    for seed in range(3):
        data = problem(4_000, seed)
        good = 0.8 * (data["contexts"].argmax(axis=1) == data["action"]) + 0.2 / 3
        with pytest.raises(sl.LogsError, match=r"sorted or grouped by it, by its propensity or by a weight"):
            learner("held out").fit(logs_of(in_order(data, np.argsort(sign * good / data["propensity"]))))


def test_where_no_rounds_are_cut_off_the_order_does_not_matter() -> None:
    data = problem(4_000)
    logs = logs_of(in_order(data, SORTED["reward"](data)))
    answer = PolicyLearner("gaussian", **FEW, prior="zero").fit(logs).answer_
    assert answer.certified
    assert not any("order" in line for line in answer.assumptions)


@pytest.mark.parametrize("kind", KINDS)
def test_times_must_ascend(kind: str) -> None:
    data, times = problem(1_000), np.arange(1_000)
    times[[600, 601]] = times[[601, 600]]
    with pytest.raises(
        sl.LogsError,
        match=r"time 'time': 1 of 1,000 values are earlier than the previous round; the first is 600 in row 601",
    ):
        learner(kind).fit(sl.Logs(**data, time=times))
    assert learner(kind).fit(sl.Logs(**data, time=np.sort(times))).answer_.rounds > 0


@pytest.mark.parametrize("kind", KINDS)
def test_rewards_may_jump_at_a_known_time(kind: str) -> None:
    """Without times, nobody can tell that from a sorted log."""
    data = problem(4_000)
    data["reward"] = np.sort(data["reward"])
    with pytest.raises(sl.LogsError, match="reward 'reward': the rows are sorted"):
        learner(kind).fit(logs_of(data))
    logs = sl.Logs(**data, time=np.arange(4_000))
    assert learner(kind).fit(logs).answer_.rounds > 0


@pytest.mark.parametrize("kind", ["numbers", "text", "dates"])
def test_rounds_of_one_time_are_not_separated(kind: str, tmp_path: Path) -> None:
    """An export may sort a day's rounds by reward: they are learned from, or they judge."""
    data, days = problem(1_000), np.repeat(np.arange(10), 100)
    times = {
        "numbers": days, "text": np.array([f"2024 day {day}" for day in days]),
        "dates": np.datetime64("2024-01-01") + days,
    }[kind]  # fmt: skip
    logs = sl.Logs(**in_order(data, np.lexsort([data["reward"], days])), time=times)
    held_out = learner("held out", holdout=0.35).fit(logs)
    assert held_out.answer_.rounds == 300
    assert held_out.certificate_.content["rows"] == [700, 1_000]
    set_aside = learner("set aside", prior_share=0.33).fit(logs)
    assert set_aside.answer_.rounds == 600
    assert "first 400 rounds" in set_aside.answer_.prior  # type: ignore[union-attr]
    for fitted in (held_out, set_aside):
        fitted.save(str(tmp_path / "policy"))
        again = LearnedPolicy.load(tmp_path / "policy")
        assert again.certificate is not None
        assert sl.verify(again.certificate, logs, again).same
    for name in KINDS:
        with pytest.raises(sl.UsageError, match="rounds of one time"):
            learner(name).fit(sl.Logs(**data, time=np.zeros(1_000)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_result_says_that_rows_are_taken_to_be_in_order(kind: str) -> None:
    data = problem(1_000)
    fitted = learner(kind).fit(logs_of(data))
    assert any("rows of the log stand in the order" in line for line in fitted.answer_.assumptions)
    assert sl.verify(fitted.certificate_, logs_of(data), fitted.policy_).same
    timed = sl.Logs(**data, time=np.arange(1_000))
    fitted = learner(kind).fit(timed)
    assert any("in the order of 'time', which ascends" in line for line in fitted.answer_.assumptions)
    assert sl.verify(fitted.certificate_, timed, fitted.policy_).same


def test_an_adaptive_log_is_learned_from() -> None:
    """Production itself learns, up to a share of 0.97 for one action: its rows are not taken for sorted ones."""
    rng, rounds = np.random.default_rng(0), 3_000
    contexts, pulls, wins = rng.normal(size=(rounds, 2)), np.ones(2), np.ones(2)
    logging, action, reward = np.empty((rounds, 2)), np.empty(rounds, dtype=int), np.empty(rounds)
    for i in range(rounds):
        shares = np.exp(8.0 * wins / (pulls + 1.0))
        logging[i] = 0.94 * shares / shares.sum() + 0.03
        action[i] = rng.random() > logging[i, 0]
        reward[i] = rng.random() < (0.2, 0.7)[action[i]]
        pulls[action[i]], wins[action[i]] = pulls[action[i]] + 1, wins[action[i]] + reward[i]
    data: dict[str, Any] = {"contexts": contexts, "action": action, "reward": reward, "logging": logging}
    for kind in KINDS:
        assert learner(kind).fit(sl.Logs(**data, propensity=logging[np.arange(rounds), action])).answer_.rounds > 0
