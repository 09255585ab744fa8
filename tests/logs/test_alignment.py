"""pandas objects beside each other are matched by their row labels; unequal ones are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import surelift as sl
from surelift import importers, models

ROUNDS = 400


def shop() -> pd.DataFrame:
    """Rounds with labels that are no row numbers."""
    rng = np.random.default_rng(3)
    propensity = rng.uniform(0.1, 0.9, ROUNDS)
    action = (rng.random(ROUNDS) > propensity).astype(int)
    return pd.DataFrame(
        {
            "r": (rng.random(ROUNDS) < propensity) * 1.0, "p": np.where(action == 0, propensity, 1 - propensity),
            "new": rng.uniform(0.1, 0.9, ROUNDS), "a": action, "v0": propensity, "v1": 1 - propensity,
        },
        index=[f"round {i}" for i in rng.permutation(ROUNDS)],
    )  # fmt: skip


FRAME = shop()
SORTED = FRAME.sort_index()
EXPECTED = sl.evaluate(sl.Logs(FRAME, reward="r", propensity="p"), {"new": "new"})


def arrays(reward: Any, propensity: Any, policy: Any) -> Any:
    return sl.evaluate(sl.Logs(reward=reward, propensity=propensity), {"new": policy})


def same(answer: Any, expected: Any = EXPECTED) -> bool:
    found, wanted = ((each["new"].lower, each["new"].upper) for each in (answer, expected))
    return bool(found == pytest.approx(wanted, rel=1e-9))


def test_equal_labels_in_another_order_are_aligned() -> None:
    assert same(arrays(FRAME.r, FRAME.p, FRAME.new))
    assert same(arrays(FRAME.r, SORTED.p, FRAME.new))
    assert same(arrays(FRAME.r, FRAME.p, SORTED.new))
    assert same(arrays(FRAME.r, SORTED.p, SORTED.new.to_numpy()[SORTED.index.get_indexer(FRAME.index)]))
    assert same(sl.evaluate(sl.Logs({"r": SORTED.r, "p": FRAME.p}, reward="r", propensity="p"), {"new": FRAME.new}))
    logs = sl.Logs(FRAME, reward="r", propensity="p")
    assert same(sl.evaluate(logs, {"new": SORTED.new}))
    half = logs.part(100, 300)
    assert same(sl.evaluate(half, {"new": SORTED.new}), sl.evaluate(half, {"new": "new"}))


def test_vectors_are_aligned() -> None:
    logs = sl.Logs(FRAME, reward="r", propensity="p", action="a", logging=["v0", "v1"])
    expected = sl.evaluate(logs, {"new": ["v0", "v1"]})["new"].lower
    assert sl.evaluate(logs, {"new": SORTED[["v0", "v1"]]})["new"].lower == expected
    given = sl.Logs(reward=FRAME.r, propensity=SORTED.p, action=FRAME.a, logging=SORTED[["v0", "v1"]])
    assert sl.evaluate(given, {"new": FRAME[["v0", "v1"]]})["new"].lower == expected
    by_model = [
        sl.evaluate(logs, {"new": ["v0", "v1"]}, control=models.given(frame[["v0", "v1"]]))["new"].lower
        for frame in (FRAME, SORTED)
    ]
    assert by_model[0] == by_model[1]


@pytest.mark.parametrize("other", [FRAME.p.reset_index(drop=True), FRAME.p.rename({FRAME.index[7]: "elsewhere"})])
def test_unequal_indexes_are_refused(other: Any) -> None:
    row = next(i for i, label in enumerate(other.index) if label != FRAME.index[i])
    labels = rf"row {row} is {other.index[row]!r} in \w+.* and {FRAME.index[row]!r} in "
    for given in (
        lambda: arrays(FRAME.r, other, FRAME.new),
        lambda: arrays(FRAME.r, FRAME.p, other),
        lambda: sl.evaluate(sl.Logs(FRAME, reward="r", propensity="p"), {"new": other}),
        lambda: sl.Logs(reward=FRAME.r, propensity=FRAME.p, contexts=other.to_frame()),
        lambda: importers.obp({"reward": FRAME.r, "pscore": other, "action": FRAME.a}),
        lambda: sl.PolicyLearner().fit(FRAME[["v0"]], FRAME.a, reward=FRAME.r, propensity=other),
        lambda: sl.PolicyLearner().fit({"x": FRAME.r, "y": other}, [0], reward=[0], propensity=[0.5]),
    ):
        with pytest.raises(sl.UsageError, match=rf"have different indexes: {labels}[\s\S]*reset_index\(drop=True\)"):
            given()


def test_labels_that_occur_twice_are_matched_only_in_the_same_order() -> None:
    twice = FRAME.set_axis(["x", "x", *FRAME.index[2:]])
    assert same(arrays(twice.r, twice.p, twice.new))
    with pytest.raises(sl.UsageError, match="Some labels occur twice"):
        arrays(twice.r, twice.p[::-1], twice.new)


def test_learners_align_what_they_are_given() -> None:
    def learned(propensity: Any) -> Any:
        learner = sl.PolicyLearner("gaussian", epochs=1, seed=0)
        return learner.fit(FRAME[["v0"]], FRAME.a, reward=FRAME.r, propensity=propensity, action_count=2).answer_.lower

    assert learned(FRAME.p) == learned(SORTED.p)


def test_what_has_no_index_goes_by_position(tmp_path: Path) -> None:
    assert same(arrays(FRAME.r.to_numpy(), FRAME.p, FRAME.new.tolist()))
    assert same(arrays(pl.Series(FRAME.r.to_numpy()), FRAME.p, pl.Series(FRAME.new.to_numpy())))
    numbered = FRAME.reset_index(drop=True)
    numbered.to_parquet(tmp_path / "log.parquet")
    logs = sl.Logs(tmp_path / "log.parquet", reward="r", propensity="p")
    assert same(sl.evaluate(logs, {"new": numbered.new}))
    assert same(sl.evaluate(logs, {"new": FRAME.new}))
    with pytest.raises(sl.UsageError, match="numbers its rows in another order"):
        sl.evaluate(logs, {"new": numbered.new.sort_values()})
    with pytest.raises(sl.UsageError, match="what policy 'new' returned numbers its rows in another order"):
        sl.evaluate(logs, {"new": lambda batch: batch.to_pandas().new.sort_values()})


def test_a_frame_whose_columns_are_the_actions_in_another_order_is_refused() -> None:
    logs = sl.Logs(FRAME, reward="r", propensity="p", action="a", actions=["hat", "coat"])
    frame = FRAME[["v0", "v1"]].set_axis(["hat", "coat"], axis="columns")
    assert sl.evaluate(logs, {"new": frame})["new"].lower == sl.evaluate(logs, {"new": ["v0", "v1"]})["new"].lower
    turned = frame[["coat", "hat"]]
    for policy in (turned, lambda batch: turned.reset_index(drop=True)):
        with pytest.raises(sl.UsageError, match=r"are \['coat', 'hat'\], but actions= lists \['hat', 'coat'\]"):
            sl.evaluate(logs, {"new": policy})


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_named_by_the_labels_as_text_must_stand_in_their_order(kind: Any) -> None:
    logs = sl.Logs({"r": [0.0, 1.0], "p": [0.5, 0.5], "a": [0, 1]}, reward="r", propensity="p", action="a", actions=[0, 1])
    swapped, right = kind({"1": [0.7, 0.7], "0": [0.3, 0.3]}), kind({"0": [0.3, 0.3], "1": [0.7, 0.7]})
    for policy in (swapped, lambda table: swapped[: table.num_rows]):
        with pytest.raises(sl.UsageError, match=r"columns of a policy's frame are \['1', '0'\]"):
            sl.evaluate(logs, {"new": policy})
    of_function = sl.evaluate(logs, {"new": lambda table: right[: table.num_rows]})
    assert of_function["new"].estimate == sl.evaluate(logs, {"new": right})["new"].estimate == 0.7
