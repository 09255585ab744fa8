from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.batch import Batch

COLUMNS = {"click": [0, 1], "p_logged": [0.5, 0.5], "a": [0, 1], "all": [[0.5, 0.5], [0.5, 0.5]]}


@pytest.mark.parametrize(
    "arguments, says",
    [
        ({"propensity": "p_logged"}, "exactly one of reward= and cost="),
        ({"reward": "click", "cost": "click", "propensity": "p_logged"}, "both were given"),
        ({"reward": "click", "propensity": "p_logged", "log_propensity": "p_logged"}, "exactly one of propensity="),
        ({"reward": "clik", "propensity": "p_logged"}, "no column 'clik' for reward. Did you mean 'click'?"),
        ({"reward": "click", "propensity": "plogged"}, "Did you mean 'p_logged'"),
        ({"reward": "click", "propensity": "p_logged", "logging": "all"}, "action= must name the column"),
        ({"reward": "click", "propensity": "p_logged", "reward_range": (1, 0)}, "the smaller first"),
        ({"reward": "click", "propensity": "p_logged", "reward_range": (0, float("inf"))}, "two finite numbers"),
        ({"reward": "click", "propensity": "p_logged", "reward_range": 5}, "two numbers"),
        ({"reward": "click", "propensity": "p_logged", "actions": ["x", "x"]}, "lists a label twice"),
        ({"reward": "click", "propensity": "p_logged", "action_count": 0}, "at least 1"),
        (
            {"reward": "click", "propensity": "p_logged", "action": "a", "logging": "all", "density": True},
            "density=True",
        ),
        ({"reward": [0, 1], "propensity": "p_logged"}, "to pass arrays, leave out the source"),
    ],
)
def test_usage_errors_are_raised_at_construction(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(sl.UsageError) as caught:
        sl.Logs(COLUMNS, **arguments)
    assert says in str(caught.value)


def test_a_missing_propensity_error_explains_how_to_log_one() -> None:
    with pytest.raises(sl.UsageError) as caught:
        sl.Logs(COLUMNS, reward="click")
    assert "Log it at decision time" in str(caught.value)
    assert "propensity_is_estimated=True" in str(caught.value)


def test_arrays_need_no_source() -> None:
    logs = sl.Logs(
        reward=[0, 1],
        propensity=[0.5, 0.25],
        action=[1, 0],
        logging=[[0.5, 0.5], [0.25, 0.75]],
        contexts=[[1, 2], [3, 4]],
    )
    assert logs.declaration.contexts == ("x0", "x1")
    (batch,) = logs.batches()
    found = Batch(logs, batch).read()
    assert found.propensity.tolist() == [0.5, 0.25]
    assert found.fit
    with pytest.raises(sl.UsageError, match="there is no source"):
        sl.Logs(reward="click", propensity=[0.5])


def test_rewards_and_costs_in_their_own_units() -> None:
    rng = np.random.default_rng(1)
    unit, p = rng.random(3_000), rng.uniform(0.2, 0.8, 3_000)
    new = np.clip(p * rng.uniform(0.5, 1.5, 3_000), 0, 1)
    plain = sl.evaluate(sl.Logs(reward=unit, propensity=p), {"new": new})["new"]
    money = sl.evaluate(sl.Logs(reward=10 + 40 * unit, propensity=p, reward_range=(10, 50)), {"new": new})["new"]
    cost = sl.evaluate(sl.Logs(cost=50 - 40 * unit, propensity=p, reward_range=(10, 50)), {"new": new})["new"]
    assert plain.lower is not None
    assert plain.upper is not None
    assert (money.lower, money.estimate, money.upper) == pytest.approx(
        (10 + 40 * plain.lower, 10 + 40 * plain.estimate, 10 + 40 * plain.upper)
    )
    assert (cost.lower, cost.estimate, cost.upper) == pytest.approx(
        (50 - 40 * plain.upper, 50 - 40 * plain.estimate, 50 - 40 * plain.lower)
    )
    one_side = sl.evaluate(sl.Logs(cost=50 - 40 * unit, propensity=p, reward_range=(10, 50)), {"new": new}, sides="upper")[
        "new"
    ]
    reward_side = sl.evaluate(sl.Logs(reward=unit, propensity=p), {"new": new}, sides="lower")["new"]
    assert reward_side.lower is not None
    assert one_side.lower is None
    assert one_side.upper == pytest.approx(50 - 40 * reward_side.lower)


def test_an_improvement_is_positive_when_cost_falls() -> None:
    p = np.full(2_000, 0.5)
    cost = np.tile([0.0, 8.0], 1_000)
    cheaper = np.tile([0.6, 0.4], 1_000)
    answer = sl.compare(sl.Logs(cost=cost, propensity=p, reward_range=(0, 10)), {"cheaper": cheaper}, margin=0.3)
    assert answer.estimate == pytest.approx(10 * (0.2 * 1.0 * 0.5 - 0.2 * 0.2 * 0.5))
    assert answer.certified
    assert not sl.compare(
        sl.Logs(cost=cost, propensity=p, reward_range=(0, 10)), {"cheaper": cheaper}, margin=0.75
    ).certified


@pytest.mark.parametrize("source", ["nothing/*.parquet", "nothing.csv", Path("nothing.parquet"), ["a.parquet"]])
def test_a_missing_file_is_a_usage_error(source: Any) -> None:
    with pytest.raises(sl.UsageError, match="no file matches"):
        sl.Logs(source, reward="click", propensity="p")


def test_an_unsupported_source_is_rejected() -> None:
    with pytest.raises(sl.UsageError, match=r"cannot be read from a builtins\.int"):
        sl.Logs(3, reward="click", propensity="p")


def test_description_contains_the_declaration() -> None:
    logs = sl.Logs(COLUMNS, reward="click", propensity="p_logged", reward_range=(0, 2))
    assert logs.declaration.describe() == {"reward": "click", "propensity": "p_logged", "reward_range": [0.0, 2.0]}
    assert "reward_range" in repr(logs)


def test_a_part_of_a_part_counts_from_its_own_start() -> None:
    logs = sl.Logs(reward=[i / 100 for i in range(100)], propensity=[0.5] * 100)
    part = logs.part(50, 100).part(10, 20)
    rewards = [value for batch in part.batches() for value in batch.table["reward"].to_pylist()]
    assert rewards == [i / 100 for i in range(60, 70)]
    assert part.count() == 10
    beyond = logs.part(50, 60).part(5, 50)
    assert (beyond.count(), sum(batch.table.num_rows for batch in beyond.batches())) == (5, 5)


def test_a_column_name_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(sl.UsageError, match="not valid Unicode"):
        sl.Logs({"click\ud800": [0, 1], "p": [0.5, 0.5]}, reward="click\ud800", propensity="p")
