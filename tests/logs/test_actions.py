"""Actions mean the same in every file format: whole numbers are positions, declared labels are labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.logs.positions import NOWHERE, find_positions


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
        sl.compare(sl.Logs(tmp_path / name, reward="r", propensity="p", action="act", actions=labels), {"new": policy}).lower
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


LARGE = 2**53


@pytest.mark.parametrize(
    "column",
    [
        pa.array([LARGE, LARGE + 1, LARGE + 2], pa.int64()),
        pa.array([LARGE, LARGE + 1, LARGE + 2], pa.uint64()),
        pa.array([LARGE, LARGE + 1, LARGE + 2], pa.decimal128(20, 0)),
        pa.array([LARGE, LARGE + 1, LARGE + 2]).cast(pa.string()),
        pa.array([LARGE, LARGE + 1, LARGE + 2]).cast(pa.large_string()).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_large_ids_are_told_apart(column: Any) -> None:
    labels = [LARGE + 1, LARGE, LARGE + 2]
    for wanted in (labels, [str(label) for label in labels]):
        assert find_positions(column, wanted, as_text=True)[0].tolist() == [1, 0, 2]
    assert find_positions(column, None, as_text=True)[0].tolist() == [LARGE, LARGE + 1, LARGE + 2]


def test_ids_of_every_size_and_sign() -> None:
    labels = [2**64 - 1, -1, 2**63, 10**30, 0.5, -(2**63)]
    assert find_positions(pa.array([2**64 - 1, 2**63], pa.uint64()), labels, as_text=False)[0].tolist() == [0, 2]
    assert positions([-1, -(2**63), 0], labels) == [1, 5, NOWHERE]
    assert positions([10**30, 0.5, -1, "007", 2**64 - 1], [*labels, 7], as_text=True) == [3, 4, 1, 6, 0]
    assert positions([0.5, -1.0], labels) == [4, 1]
    assert positions([True, False], [False, True]) == [1, 0]
    decimals = pa.array([0, -1, 7], pa.decimal128(20, 9))
    assert find_positions(decimals, [7, 0, -1], as_text=False)[0].tolist() == [1, 2, 0]
    assert find_positions(decimals, None, as_text=False)[0].tolist() == [0, NOWHERE, 7]
    assert positions(["true", "false"], [False, True], as_text=True) == [1, 0]


@pytest.mark.parametrize("as_text", [False, True])
def test_a_label_of_minus_one_is_not_a_marker(as_text: bool) -> None:
    assert positions([-1, -7, 1, 0], ["-1", "0", "1"], as_text=as_text) == [0, NOWHERE, 2, 1]
    assert positions([1.5], ["-1", "1"], as_text=as_text) == [NOWHERE]


@pytest.mark.parametrize("as_text", [False, True])
def test_numbers_are_no_positions_where_a_label_looks_like_a_number(as_text: bool) -> None:
    assert positions([1, 2, 0], ["none", "2", "1"], as_text=as_text) == [2, 1, NOWHERE]
    assert positions([0, 1], ["none", "na"], as_text=as_text) == [0, 1]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_floats_too_large_for_ids_are_refused(kind: Any) -> None:
    large = {np.float64: LARGE, np.float32: 2**24, np.float16: 2**11}[kind]
    columns = {"r": [0, 1], "p": [0.5, 0.5], "a": np.array([0, large], kind), "one": [1, 1]}
    message = "1 of 2 values are floats too large to tell whole numbers apart; the first is .* in row 1"
    for labels in (None, [0, large], ["0", str(large)]):
        logs = sl.Logs(columns, reward="r", propensity="p", action="a", actions=labels)
        with pytest.raises(sl.LogsError, match=f"action 'a': {message}"):
            sl.evaluate(logs, {"new": sl.chosen("one")})
    logs = sl.Logs(columns, reward="r", propensity="p", cluster="a", cluster_max=1)
    with pytest.raises(sl.LogsError, match=f"cluster 'a': {message}"):
        sl.evaluate(logs, "p")
    with pytest.raises(sl.LogsError, match=f"by 'a': {message}"):
        sl.evaluate(sl.Logs(columns, reward="r", propensity="p"), "p", by="a")


def test_labels_that_are_one_number_are_rejected() -> None:
    for labels in ([1, 1.0], [True, 1], [0.0, -0.0]):
        with pytest.raises(sl.UsageError, match="lists a label twice"):
            sl.Logs({"r": [0], "p": [0.5]}, reward="r", propensity="p", actions=labels)
    for label in (float(LARGE), np.float64(1e300), float("nan"), float("inf")):
        with pytest.raises(sl.UsageError, match="a float that cannot tell whole numbers apart"):
            sl.Logs({"r": [0], "p": [0.5]}, reward="r", propensity="p", actions=[0, label])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("labels", [[LARGE + 1, LARGE, 7], [str(LARGE + 1), str(LARGE), "7"]])
def test_no_certificate_from_ids_that_collide(ending: str, labels: list[Any], tmp_path: Path) -> None:
    """The candidate prefers the worse of two ids that are the same as floats: it loses 0.012 where it seemed to gain."""
    rng, rounds = np.random.default_rng(1), 20_000
    drawn = rng.integers(0, 3, rounds)
    reward = (rng.random(rounds) < np.array([0.8, 0.9, 0.9])[drawn]) * 1
    table = pa.table({"r": reward, "p": np.full(rounds, 1 / 3), "a": np.array([LARGE + 1, LARGE, 7])[drawn]})
    for name, share in (("n0", 0.45), ("n1", 0.35), ("n2", 0.2)):
        table = table.append_column(name, pa.array(np.full(rounds, share)))
    path = tmp_path / f"log.{ending}"
    (pyarrow.csv.write_csv if ending == "csv" else pq.write_table)(table, path)
    logs = sl.Logs(path, reward="r", propensity="p", action="a", actions=labels)
    answer = sl.compare(logs, {"new": ["n0", "n1", "n2"]})
    assert answer.lower < -0.012 < answer.upper
    assert not answer.certified


def test_functions_see_large_ids_as_they_are(tmp_path: Path) -> None:
    table = pa.table({"r": [0, 1], "p": [0.5, 0.5], "id": [LARGE, LARGE + 1], "few": [1, 2]})
    pyarrow.csv.write_csv(table, tmp_path / "log.csv")
    logs = sl.Logs(tmp_path / "log.csv", reward="r", propensity="p", action="id", contexts=["id", "few"])
    seen: dict[str, Any] = {}

    def policy(batch: Any) -> Any:
        seen.update(batch.to_pydict() if batch.num_rows == 2 else {})
        return np.full(batch.num_rows, 0.5)

    sl.evaluate(logs, {"new": policy})
    assert seen == {"id": [str(LARGE), str(LARGE + 1)], "few": [1.0, 2.0]}


@pytest.mark.parametrize("declared", [{"actions": {"a", "b"}}, {"contexts": frozenset(["x"])}], ids=["actions", "contexts"])
def test_a_set_has_no_order(declared: dict[str, Any]) -> None:
    columns = {"r": [1.0], "p": [0.5], "a": ["a"], "x": [1.0]}
    with pytest.raises(sl.UsageError, match=r"(actions|contexts) must be a list: a (frozen)?set has no order"):
        sl.Logs(columns, reward="r", propensity="p", action="a", **declared)
