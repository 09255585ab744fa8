"""Actions mean the same in every file format: whole numbers are positions, declared labels are labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.logs.columns import NOWHERE, find_positions


def positions(values: list[Any], labels: list[Any] | None, *, as_text: bool = False) -> list[int]:
    column = pa.array([str(v) for v in values] if as_text else values)
    indices, null, _ = find_positions(column, labels, as_text=as_text)
    return [-9 if missing else int(index) for index, missing in zip(indices, null, strict=True)]


@pytest.mark.parametrize("as_text", [False, True])
def test_numbers_without_labels_are_positions(as_text: bool) -> None:
    assert positions([0, 2, 1], None, as_text=as_text) == [0, 2, 1]
    assert positions([0.0, 1.5, -1.0], None, as_text=as_text) == [0, NOWHERE, NOWHERE]


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("labels", [[20, 0, 10], ["20", "0", "10"]])
def test_numeric_looking_labels_are_always_labels(labels: list[Any], as_text: bool) -> None:
    assert positions([0, 10, 20, 1], labels, as_text=as_text) == [1, 2, 0, NOWHERE]


@pytest.mark.parametrize("as_text", [False, True])
def test_whole_numbers_among_text_labels_are_positions(as_text: bool) -> None:
    assert positions([0, 2, 3], ["hat", "coat", "shoe"], as_text=as_text) == [0, 2, NOWHERE]
    assert positions(["coat", "hat", "sock"], ["hat", "coat", "shoe"], as_text=as_text) == [1, 0, NOWHERE]


def test_missing_values_and_labels_that_look_missing() -> None:
    assert positions(["NA", "", "EU"], ["NA", "EU"], as_text=True) == [0, -9, 1]
    # An undeclared label is not missing, whatever its name.
    assert positions(["none", "", "EU"], ["NA", "EU"], as_text=True) == [NOWHERE, -9, 1]
    assert positions(["none", "", "1"], None, as_text=True) == [NOWHERE, -9, 1]
    indices, null, _ = find_positions(pa.array([None, "EU"]), ["NA", "EU"], as_text=False)
    assert (null.tolist(), indices.tolist()) == ([True, False], [NOWHERE, 1])


@pytest.mark.parametrize("labels", [["2", "0", "1"], [2, 0, 1]])
def test_csv_and_parquet_agree_for_every_kind_of_policy(labels: list[Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "r": rng.integers(0, 2, 500), "p": np.full(500, 1 / 3), "act": rng.integers(0, 3, 500),
            **{f"n{i}": np.full(500, share) for i, share in enumerate((0.2, 0.3, 0.5))},
        }
    )  # fmt: skip
    pq.write_table(table, tmp_path / "log.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "log.csv")
    columns = ["n0", "n1", "n2"]
    lowers = {
        sl.compare(
            sl.Logs(tmp_path / name, reward="r", propensity="p", action="act", actions=labels), {"new": policy}
        ).lower
        for name in ("log.parquet", "log.csv")
        for policy in (columns, lambda batch: np.column_stack([batch[name] for name in columns]))
    }
    assert len(lowers) == 1


def test_positions_are_checked_against_the_number_of_actions() -> None:
    columns = {"r": [0, 1], "p": [0.5, 0.5], "a": [0, 3], "pick": [0, 7], "v": [[0.5, 0.5], [0.5, 0.5]]}
    logs = sl.Logs(columns, reward="r", propensity="p", action="a", action_count=3)
    with pytest.raises(sl.LogsError, match="action 'a': 1 of 2 values are not a position among that round's actions"):
        sl.evaluate(logs, {"new": sl.uniform()})
    columns["a"] = [0, 1]
    logs = sl.Logs(columns, reward="r", propensity="p", action="a", logging="v")
    with pytest.raises(sl.LogsError, match="column 'pick': 1 of 2 values are not a position among that round's"):
        sl.evaluate(logs, {"new": sl.chosen("pick")})
    declared = sl.Logs(columns, reward="r", propensity="p", action="a", actions=["x", "y", "z"])
    with pytest.raises(sl.LogsError, match="policy 'v': 2 of 2 values differ in length from the declared actions"):
        sl.evaluate(declared, "v")


@pytest.mark.parametrize("count", [0, 0.5, -3, float("nan"), True, np.int64(0)])
def test_an_invalid_action_count_is_rejected(count: Any) -> None:
    with pytest.raises(sl.UsageError, match="action_count must be a whole number"):
        sl.Logs({"r": [0], "p": [0.5]}, reward="r", propensity="p", action_count=count)


@pytest.mark.parametrize("actions", ["abc", [], [["a"]], ["a", "a"], [1, "1"]])
def test_invalid_labels_are_rejected(actions: Any) -> None:
    with pytest.raises(sl.UsageError, match="actions"):
        sl.Logs({"r": [0], "p": [0.5]}, reward="r", propensity="p", actions=actions)
