"""``--by`` repeats, and cuts numbers into bins; a column of that very name comes first."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import surelift as sl
from tests.cli.test_cli import COLUMNS, run

POLICY = ("--policy", "p_better")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("segments")
    table = sl.datasets.shop(3_000).table
    age = np.random.default_rng(0).integers(10, 80, 3_000)
    table = table.append_column("age", [age]).append_column("age:1,2", [np.where(age < 40, "young", "old")])
    pq.write_table(table, path / "shop.parquet")
    csv.write_csv(table, path / "shop.csv")
    return path


def asked(command: str, *flags: str, folder: Path, file: str = "shop.parquet") -> Any:
    return run(command, file, *COLUMNS, *POLICY, *flags, folder=folder)


@pytest.mark.parametrize("file", ["shop.parquet", "shop.csv"])
def test_several_columns_and_bins(file: str, folder: Path) -> None:
    by = ["--by", "device", "--by", "age:18,30,50"]
    done = asked("compare", *by, "--json", "--certificate", "kept.json", "--csv", "kept.csv", folder=folder, file=file)
    logs = sl.Logs(pq.read_table(folder / "shop.parquet"), reward="click", propensity="propensity")
    answer = sl.compare(logs, "p_better", by=["device", sl.bins("age", [18, 30, 50])])
    told = json.loads(done.stdout)
    assert told["column_values"] == json.loads(answer.to_json())["column_values"]
    assert {name: one["lower"] for name, one in told["segments"].items()} == pytest.approx(
        {name: one.lower for name, one in answer.items()}
    )
    assert done.returncode == (0 if len(answer.certified) == len(answer) else 3)
    assert "By 'device', 'age': 8 segments" in asked("compare", *by, folder=folder, file=file).stdout
    assert (folder / "kept.csv").read_text().startswith("device,age,policy,")
    assert run("verify", "kept.json", file, folder=folder).returncode == 0


def test_a_column_of_that_name_comes_first(folder: Path) -> None:
    done = asked("evaluate", "--by", "age:1,2", folder=folder)
    assert "By 'age:1,2': 2 segments" in done.stdout


def test_listed_combinations_are_good_for_any_number_of_looks(folder: Path) -> None:
    listed = [part for name in ("phone,age < 40", "phone, age >= 40", "desktop,age < 40", "desktop,age >= 40")
              for part in ("--segments", name)]  # fmt: skip
    done = asked("evaluate", "--by", "device", "--by", "age:40", *listed, folder=folder)
    assert done.returncode == 0
    assert "at any number of looks" in done.stdout
    done = asked("evaluate", "--by", "device", "--segments", "phone", "--segments", "desktop", folder=folder)
    assert "at any number of looks" in done.stdout


def test_select_and_check(folder: Path) -> None:
    done = asked("select", "--policy", "p_worse", "--by", "device", "--json", folder=folder)
    chosen = {name: one["chosen"] for name, one in json.loads(done.stdout)["segments"].items()}
    assert set(chosen) == {"desktop", "phone"}
    assert done.returncode == (0 if all(chosen.values()) else 3)
    assert asked("select", "--by", "device", "--choose", "value", folder=folder).returncode == 0
    done = asked("check", "--by", "device", "--by", "age:18,50", "--by", "visitor", folder=folder)
    assert "(overall, device, age, visitor)" in done.stdout
    assert done.returncode == 0


def test_check_tests_each_column_by_itself_and_once(folder: Path, tmp_path: Path) -> None:
    table = sl.datasets.shop(3_000).table
    new = np.array(table["visitor"]) == "new"
    wrong = np.where(new, table["propensity"].to_numpy() / 5, table["propensity"].to_numpy())
    path = tmp_path / "wrong.parquet"
    pq.write_table(table.set_column(table.column_names.index("propensity"), "propensity", [wrong]), path)
    logs = sl.Logs(path, reward="click", propensity="propensity")
    done = asked("check", "--by", "device", "--by", "visitor", "--json", folder=folder, file=str(path))
    assert done.returncode == 4
    assert json.loads(done.stdout)["findings"] == sl.check(logs, "p_better", by=["device", "visitor"]).to_dict()["findings"]
    assert (
        json.loads(done.stdout)["findings"] != sl.check(logs, "p_better", by=[["device", "visitor"]]).to_dict()["findings"]
    )
    twice = asked("check", "--by", "device", "--by", "device", folder=folder)
    assert (twice.returncode, twice.stdout) == (2, "")
    assert "the test by 'device' is asked for twice; each column is tested by itself, once: leave one out" in twice.stderr
    twice = asked("compare", "--by", "device", "--by", "device", folder=folder)
    assert "by names a column twice: 'device', 'device'. Leave one out." in twice.stderr


@pytest.mark.parametrize(
    "by, code, message",
    [
        ("age:young", 2, "--by age:young, bins of 'age': 'young' is not a number"),
        ("age:", 2, "'' is not a number"),
        ("age:30,18", 2, "the edges of 'age' must increase"),
        ("agee:18", 2, "no column 'agee' for by. Did you mean 'age'"),
        ("device,visitor", 2, "no column is called 'device,visitor'; repeat --by for several columns"),
        ("device:1,2", 4, "by 'device': 3,000 of 3,000 values are not numbers"),
        ("propensity", 2, "by 'propensity' is declared in --propensity, which may depend on the action"),
        ("time", 4, "Cut a column of numbers into bins, --by COL:18,30,50, leave a column out"),
    ],
)
def test_what_is_refused(by: str, code: int, message: str, folder: Path) -> None:
    done = asked("evaluate", "--by", by, folder=folder)
    assert done.returncode == code
    assert message in done.stderr


@pytest.mark.parametrize("margin, certified", [(0.01, ["desktop", "phone"]), (0.02, ["desktop"])])
def test_a_monitor_is_certified_in_every_segment_or_not(
    margin: float, certified: list[str], folder: Path, tmp_path: Path
) -> None:
    logs = sl.Logs(pq.read_table(folder / "shop.parquet"), reward="click", propensity="propensity")
    answer = sl.compare(logs, "p_better", by="device", segments=["phone", "desktop"], margin=margin)
    assert sorted(answer.certified) == certified
    by = ["--by", "device", "--segments", "phone", "--segments", "desktop"]
    found = asked("monitor", "--state", str(tmp_path / "claims.json"), *by, "--margin", str(margin), folder=folder)
    assert found.returncode == (0 if len(certified) == 2 else 3), found.stderr
    values = asked("monitor", "--state", str(tmp_path / "values.json"), "--about", "evaluate", *by, folder=folder)
    assert values.returncode == 0, values.stderr


def test_a_monitor_judges_by_outcomes(folder: Path, tmp_path: Path) -> None:
    outcome = ["--outcome", "click:at-least=0.001"]
    compared = asked("compare", *outcome, folder=folder)
    for _ in range(2):
        watched = asked("monitor", "--state", str(tmp_path / "state.json"), *outcome, folder=folder)
        assert (watched.returncode, watched.stdout) == (compared.returncode, compared.stdout), watched.stderr
