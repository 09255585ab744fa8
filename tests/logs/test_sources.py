"""The same rounds from every container give the same answer and the same fingerprint."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.logs.batch import ROWS_PER_BATCH

ROWS = ROWS_PER_BATCH + 1_234


@pytest.fixture(scope="module")
def table() -> Any:
    rng = np.random.default_rng(5)
    logging = rng.dirichlet([1.0, 2.0, 3.0], ROWS)
    action = (rng.random(ROWS)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    new = rng.dirichlet([3.0, 2.0, 1.0], ROWS)
    rows = np.arange(ROWS)
    return pa.table(
        {
            "click": rng.integers(0, 2, ROWS),
            "p": logging[rows, action],
            "p_new": new[rows, action],
            "item": pa.array(np.array(["a", "b", "c"])[action]).dictionary_encode(),
            **{f"n{i}": new[:, i] for i in range(3)},
        }
    )


def write_csv(table: Any, path: Path, delimiter: str = ",") -> Path:
    plain = table.set_column(3, "item", table["item"].cast(pa.string()))
    pyarrow.csv.write_csv(plain, path, pyarrow.csv.WriteOptions(delimiter=delimiter))
    return path


def write_gz(table: Any, path: Path) -> Path:
    path.write_bytes(gzip.compress(write_csv(table, path.with_suffix("")).read_bytes()))
    return path


def write_parts(table: Any, folder: Path) -> Path:
    folder.mkdir()
    for number, start in enumerate(range(0, ROWS, 20_000)):
        pq.write_table(table.slice(start, 20_000), folder / f"part-{number:02}.parquet")
    return folder


def write_one(table: Any, path: Path) -> Path:
    pq.write_table(table, path)
    return path


def write_feather(table: Any, path: Path) -> Path:
    pyarrow.feather.write_feather(table, str(path))
    return path


CONTAINERS: dict[str, Callable[[Any, Path], Any]] = {
    "pyarrow": lambda table, path: table,
    "pandas": lambda table, path: table.to_pandas(),
    "polars": lambda table, path: pl.from_arrow(table),
    "polars lazy": lambda table, path: pl.DataFrame(pl.from_arrow(table)).lazy(),
    "duckdb": lambda table, path: duckdb.from_arrow(table),
    "dict of arrays": lambda table, path: {
        name: table[name].to_pylist() if name == "item" else table[name].to_numpy() for name in table.column_names
    },
    "parquet": lambda table, path: write_one(table, path / "logs.parquet"),
    "folder": lambda table, path: write_parts(table, path / "logs"),
    "glob": lambda table, path: str(write_parts(table, path / "logs") / "part-*.parquet"),
    "list": lambda table, path: sorted(write_parts(table, path / "logs").iterdir(), reverse=True),
    "csv": lambda table, path: write_csv(table, path / "logs.csv"),
    "tsv": lambda table, path: write_csv(table, path / "logs.tsv", "\t"),
    "csv.gz": lambda table, path: write_gz(table, path / "logs.csv.gz"),
    "arrow": lambda table, path: write_feather(table, path / "logs.arrow"),
}


def ask(source: Any, policy: Any) -> sl.Improvement:
    logs = sl.Logs(source, reward="click", propensity="p", action="item", actions=["a", "b", "c"])
    return sl.compare(logs, {"new": policy})


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_container_does_not_matter(container: str, table: Any, tmp_path: Path) -> None:
    source = CONTAINERS[container](table, tmp_path)
    for policy in ("p_new", ["n0", "n1", "n2"]):
        expected, found = ask(table, policy), ask(source, policy)
        assert found.rounds == ROWS
        assert found.lower == pytest.approx(expected.lower, rel=1e-12)
        assert found.basis.fingerprint == expected.basis.fingerprint


@pytest.mark.parametrize("container", ["parquet", "csv", "pandas", "dict of arrays", "folder"])
def test_arrays_follow_the_order_of_the_source(container: str, table: Any, tmp_path: Path) -> None:
    source = CONTAINERS[container](table, tmp_path)
    matrix = np.column_stack([table[f"n{i}"].to_numpy() for i in range(3)])
    assert ask(source, matrix).lower == pytest.approx(ask(table, ["n0", "n1", "n2"]).lower, rel=1e-12)


@pytest.mark.parametrize("container", ["duckdb", "polars lazy"])
def test_a_query_has_no_order_for_arrays(container: str, table: Any, tmp_path: Path) -> None:
    with pytest.raises(sl.UsageError, match="no order"):
        ask(CONTAINERS[container](table, tmp_path), np.full(ROWS, 0.5))


def test_planned_grids_count_a_query(table: Any, tmp_path: Path) -> None:
    logs = sl.Logs(duckdb.from_arrow(table), reward="click", propensity="p")
    other = sl.Logs(table, reward="click", propensity="p")
    assert sl.compare(logs, "p_new", grid="planned").lower == pytest.approx(
        sl.compare(other, "p_new", grid="planned").lower
    )


def test_pandas_types(table: Any) -> None:
    frame = table.to_pandas().head(1_000)
    expected = ask(frame, "p_new").lower
    frame["click"] = frame["click"].astype("boolean")
    frame["p_new"] = frame["p_new"].astype("Float64")
    assert ask(frame, "p_new").lower == expected
    frame.loc[5, "click"] = pd.NA
    with pytest.raises(sl.LogsError, match="reward 'click': 1 of 1,000 values are missing"):
        ask(frame, "p_new")


def test_a_broken_file_is_named_and_nothing_is_certified_from_the_rest(table: Any, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "logs")
    broken = folder / "part-02.parquet"
    whole = broken.read_bytes()
    broken.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(sl.LogsError, match=r"part-02\.parquet cannot be read as parquet"):
        ask(folder, "p_new")
    pq.write_table(table.slice(0, 10).drop_columns(["p"]), broken)
    with pytest.raises(sl.LogsError, match=r"part-02\.parquet has no column 'p'"):
        ask(folder, "p_new")


def test_mixed_and_unknown_formats(table: Any, tmp_path: Path) -> None:
    one, other = write_one(table, tmp_path / "a.parquet"), write_csv(table, tmp_path / "b.csv")
    with pytest.raises(sl.UsageError, match="mix formats"):
        ask([one, other], "p_new")
    odd = tmp_path / "logs.xlsx"
    odd.write_text("no table")
    with pytest.raises(sl.UsageError, match="ends in none of"):
        ask(odd, "p_new")


def test_columns_of_different_lengths() -> None:
    with pytest.raises(sl.UsageError, match="differ in length"):
        sl.Logs({"click": [0, 1], "p": [0.5]}, reward="click", propensity="p")
