"""Every kind of bad row is counted by reason, reported with its first row and a remedy, and blocks the result."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import surelift as sl

ROWS = 200
BAD = (17, 150)


def good() -> dict[str, list[Any]]:
    """A small log with every kind of column."""
    rng = np.random.default_rng(0)
    logging = rng.dirichlet([2.0, 2.0, 2.0], ROWS)
    action = [int(rng.choice(3, p=row)) for row in logging]
    new = rng.dirichlet([2.0, 2.0, 2.0], ROWS)
    return {
        "click": rng.integers(0, 2, ROWS).astype(float).tolist(),
        "p": [float(row[a]) for row, a in zip(logging, action, strict=True)],
        "p_new": [float(row[a]) for row, a in zip(new, action, strict=True)],
        "a": action,
        "item": [("hat", "coat", "shoe")[a] for a in action],
        "logging": [list(map(float, row)) for row in logging],
        "new": [list(map(float, row)) for row in new],
        "when": list(range(ROWS)),
    }


def ask(columns: Any, policy: Any = "p_new", **options: Any) -> str:
    """The error message."""
    with pytest.raises(sl.LogsError) as caught:
        sl.compare(sl.Logs(columns, **{"reward": "click", "propensity": "p", **options}), policy)
    return str(caught.value)


def spoil(column: str, value: Any) -> dict[str, list[Any]]:
    columns = good()
    for row in BAD:
        columns[column][row] = value
    return columns


def test_the_unspoiled_log_is_accepted() -> None:
    logs = sl.Logs(good(), reward="click", propensity="p", action="a", logging="logging", time="when")
    assert sl.compare(logs, "new").rounds == ROWS
    assert sl.check(logs, "new").ok


@pytest.mark.parametrize(
    "column, value, subject, says, shown",
    [
        ("click", None, "reward 'click'", "are missing (null)", "null"),
        ("click", float("nan"), "reward 'click'", "are NaN", "nan"),
        ("click", float("inf"), "reward 'click'", "are infinite", "inf"),
        ("click", 1.5, "reward 'click', declared in [0, 1]", "lie outside the declared reward range", "1.5"),
        ("click", -0.1, "reward 'click', declared in [0, 1]", "lie outside the declared reward range", "-0.1"),
        ("p", None, "propensity 'p'", "are missing (null)", "null"),
        ("p", 0.0, "propensity 'p'", "lie outside (0, 1]", "0.0"),
        ("p", -0.2, "propensity 'p'", "lie outside (0, 1]", "-0.2"),
        ("p", 1.001, "propensity 'p'", "lie outside (0, 1]", "1.001"),
        ("p", float("nan"), "propensity 'p'", "are NaN", "nan"),
        ("p_new", -1e-9, "policy 'p_new'", "lie outside [0, 1]", "-1e-09"),
        ("p_new", 1.2, "policy 'p_new'", "lie outside [0, 1]", "1.2"),
        ("p_new", None, "policy 'p_new'", "are missing (null)", "null"),
        ("p", 5e-324, "policy 'p_new'", "give a weight above 1e150", "inf"),
    ],
)
def test_bad_numbers(column: str, value: Any, subject: str, says: str, shown: str) -> None:
    message = ask(spoil(column, value))
    assert f"{subject}: 2 of 200 values {says}; the first is {shown} in row 17, counting from 0." in message
    assert "nothing was computed" in message


def test_text_instead_of_numbers_is_rejected() -> None:
    columns = good()
    columns["click"] = [f"{value} points" for value in columns["click"]]
    assert "reward 'click': 200 of 200 values are not numbers; the first is '1.0 points' in row 0" in ask(columns)


@pytest.mark.parametrize(
    "column, value, policy, says",
    [
        ("new", [0.5, 0.5, 0.5], "new", "policy 'new': 2 of 200 values do not sum to 1; the first is 1.5 in row 17"),
        (
            "new",
            [1.1, -0.1, 0.0],
            "new",
            "policy 'new': 2 of 200 values lie outside [0, 1]; the first is -0.1 in row 17",
        ),
        (
            "new",
            [0.5, 0.5, 0.0, 0.0],
            "new",
            "policy 'new': 2 of 200 values differ in length from the vector in logging=",
        ),
        ("new", None, "new", "policy 'new': 2 of 200 values are missing or empty vectors"),
        (
            "new",
            [0.5, None, 0.5],
            "new",
            "policy 'new': 2 of 200 values are vectors with an entry that is missing or not finite",
        ),
        ("new", [], "new", "policy 'new': 2 of 200 values are missing or empty vectors"),
        ("logging", [0.2, 0.2, 0.2], "p_new", "logging 'logging': 2 of 200 values do not sum to 1"),
        ("logging", [0.0, 0.0, 1.0], "p_new", "do not hold the logged propensity at the logged action"),
        (
            "a",
            3,
            "p_new",
            "action 'a': 2 of 200 values are not a position among that round's actions; the first is 3 in row 17",
        ),
        (
            "a",
            -1,
            "p_new",
            "action 'a': 2 of 200 values are not a position among that round's actions; the first is -1 in row 17",
        ),
        ("a", None, "p_new", "action 'a': 2 of 200 values are missing (null)"),
        ("when", None, "p_new", "time 'when': 2 of 200 values are missing (null)"),
    ],
)
def test_bad_vectors_and_actions(column: str, value: Any, policy: str, says: str) -> None:
    columns = spoil(column, value)
    if column == "logging" and value == [0.0, 0.0, 1.0]:
        columns["a"][17], columns["p"][17] = 0, 0.4
    message = ask(columns, policy, action="a", logging="logging", time="when")
    assert says in message


@pytest.mark.parametrize("column", ["new", "logging"])
def test_an_infinite_entry_of_a_vector_is_told_without_a_warning(column: str) -> None:
    message = ask(spoil(column, [float("inf"), 0.5, 0.5]), "new", action="a", logging="logging")
    assert f"'{column}': 2 of 200 values are vectors with an entry that is missing or not finite" in message


def test_an_entry_beyond_all_measure_is_told_without_a_warning() -> None:
    columns = spoil("logging", [1e308, 0.0, 0.0])
    for row in BAD:
        columns["logging"][row] = [1e308 if place == columns["a"][row] else -1e308 for place in range(3)]
    assert "logging 'logging': 2 of 200 values lie outside [0, 1]" in ask(columns, "new", action="a", logging="logging")


def test_a_time_that_is_nan_is_missing() -> None:
    columns = {**good(), "when": np.where(np.isin(np.arange(ROWS), BAD), np.nan, np.arange(ROWS))}
    message = ask(columns, time="when")
    assert "time 'when': 2 of 200 values are missing (null); the first is null in row 17" in message


def test_text_with_gaps_in_a_series_is_text() -> None:
    columns = spoil("item", None)
    series = {name: pd.Series(cells) for name, cells in columns.items()}
    message = ask(series, "new", action="item", actions=["hat", "coat", "shoe"])
    assert "action 'item': 2 of 200 values are missing (null); the first is null in row 17" in message


def test_only_the_column_that_mixes_types_is_said_to() -> None:
    columns = good()
    columns["p"][3] = None
    columns["p_new"][5] = "x"
    frame = pd.DataFrame({name: pd.Series(columns[name], dtype="Float64") for name in ("p", "click")})
    frame["p_new"] = columns["p_new"]
    message = ask(frame)
    assert "column 'p_new' mixes types: 1 of the 200 values from row 0 on are not numbers; the first is 'x'" in message


def test_zero_is_a_position_in_a_column_of_decimals() -> None:
    columns = good()
    table = {**columns, "a": pa.array([Decimal(action) for action in columns["a"]], pa.decimal128(20, 9))}
    logs = sl.Logs(table, reward="click", propensity="p", action="a", logging="logging")
    assert sl.compare(logs, "new").rounds == ROWS


def test_a_keep_probability_that_no_round_survives_is_rejected() -> None:
    columns = {**good(), "kept": [1.0] * ROWS}
    for row in BAD:
        columns["kept"][row] = 5e-324
    message = ask(columns, keep_probability="kept", rounds_before_sampling=10 * ROWS)
    assert "policy 'p_new': 2 of 200 values give a weight above 1e150; the first is inf in row 17" in message


def test_unknown_labels() -> None:
    columns = spoil("item", "sock")
    message = ask(columns, "new", action="item", actions=["hat", "coat", "shoe"])
    assert "action 'item': 2 of 200 values are not among the declared actions; the first is 'sock' in row 17" in message


def test_all_faults_are_reported() -> None:
    columns = spoil("click", 7.0)
    columns["p"][3] = 0.0
    message = ask(columns)
    assert "reward 'click'" in message
    assert "propensity 'p'" in message
    health = sl.check(sl.Logs(columns, reward="click", propensity="p"))
    assert not health.ok
    assert [finding.severity for finding in health.findings] == ["refuse", "refuse"]


@pytest.mark.parametrize("value", [0.1, float("-inf"), -2000.0])
def test_bad_log_propensities(value: float) -> None:
    columns = good()
    columns["log_p"] = [float(np.log(p)) for p in columns["p"]]
    columns["log_p"][17] = value
    with pytest.raises(sl.LogsError, match="log_propensity 'log_p': 1 of 200"):
        sl.compare(sl.Logs(columns, reward="click", log_propensity="log_p"), "p_new")


def test_densities_may_exceed_one_but_must_not_be_negative() -> None:
    columns = good()
    columns["p"] = [3.0 * p for p in columns["p"]]
    assert "lie outside (0, 1]" in ask(columns)
    logs = sl.Logs(columns, reward="click", propensity="p", density=True)
    assert sl.evaluate(logs, "p_new")["p_new"].rounds == ROWS
    assert "are not positive" in ask(spoil("p", 0.0), density=True)
    assert "are negative" in ask(spoil("p_new", -1.0), density=True)


def test_a_false_max_weight_is_rejected_not_clipped() -> None:
    message = ask(good(), {"new": sl.bounded("p_new", 1.5)})
    assert "give a weight above the declared max_weight" in message
    assert "policy 'new', declared at most 1.5" in message


def test_an_empty_log_is_rejected() -> None:
    with pytest.raises(sl.LogsError, match="empty"):
        sl.compare(sl.Logs({"click": [], "p": [], "new": []}, reward="click", propensity="p"), "new")
    assert not sl.check(sl.Logs({"click": [], "p": []}, reward="click", propensity="p")).ok


def test_the_file_and_row_are_reported(tmp_path: Path) -> None:
    columns = spoil("p", 0.0)
    table = pa.table({name: columns[name] for name in ("click", "p", "p_new")})
    pq.write_table(table.slice(0, 100), tmp_path / "a.parquet")
    pq.write_table(table.slice(100), tmp_path / "b.parquet")
    table = table.set_column(1, "p", pa.array([0.5] * 17 + [0.5] * (ROWS - 17)))
    pq.write_table(table.slice(0, 100), tmp_path / "a.parquet")
    with pytest.raises(sl.LogsError, match=r"in row 150 \(.*b\.parquet, row 50\)"):
        sl.compare(sl.Logs(str(tmp_path / "*.parquet"), reward="click", propensity="p"), "p_new")


def test_text_deep_in_a_csv_is_counted(tmp_path: Path) -> None:
    rows = 200_000
    lines = ["click,p,p_new"] + ["0,0.5,0.25"] * rows
    lines[1 + 150_000] = "0,half,0.25"
    lines[1 + 160_000] = "0.5,0.5,0.25"
    lines[1 + 170_000] = "True,0.5,0.25"
    path = tmp_path / "logs.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(
        sl.LogsError, match="propensity 'p': 1 of 200,000 values are not numbers; the first is 'half' in row 150,000"
    ):
        sl.compare(sl.Logs(path, reward="click", propensity="p"), "p_new")
    path.write_text("\n".join(lines).replace("half", "0.5"))
    assert sl.evaluate(sl.Logs(path, reward="click", propensity="p"), "p_new")["p_new"].estimate == pytest.approx(
        0.75 / rows
    )
