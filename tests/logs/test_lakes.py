"""Delta Lake and Iceberg tables: the rounds of one version, never the files that were removed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import parquet as pq
from pyiceberg.catalog.memory import InMemoryCatalog

import surelift as sl
from surelift.cli.app import main
from surelift.errors import LogsError, UsageError
from surelift.logs.sources import tables
from tests.logs.stores import s3_server
from tests.logs.test_stores import COLUMNS, answer, rounds

FLAGS = ["--reward", "reward", "--propensity", "propensity", "--policy", "new"]


def write_delta(folder: Path) -> None:
    """Two versions: the second replaced rounds of the first, whose files stay."""
    table = rounds().append_column("day", pa.array(["a", "b"] * (rounds().num_rows // 2)))
    write_deltalake(folder, table.slice(0, 3000), partition_by=["day"])
    write_deltalake(folder, table, mode="overwrite")


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    write_delta(tmp_path / "table")
    return tmp_path / "table"


@pytest.fixture
def iceberg(tmp_path: Path) -> Iterator[Any]:
    catalog = InMemoryCatalog("here", warehouse=str(tmp_path / "lake"))
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.logs", schema=rounds().schema)
    table.append(rounds().slice(0, 3000))
    table.overwrite(rounds())
    yield table
    catalog.close()


def assert_same(found: tuple[str, float | None, float | None]) -> None:
    expected = answer(rounds())
    assert found[0] == expected[0]
    assert found[1:] == pytest.approx(expected[1:], abs=1e-12)


def test_delta_gives_the_answer_of_the_plain_table(delta: Path) -> None:
    assert len(list(delta.rglob("*.parquet"))) > 2  # with those that were removed
    assert_same(answer(delta))
    assert_same(answer([f"{delta}/"]))
    assert_same(answer(DeltaTable(delta)))
    assert sorted(sl.evaluate(sl.Logs(delta, **COLUMNS), "new", by="day").results) == ["a", "b"]


def test_iceberg_gives_the_answer_of_the_plain_table(iceberg: Any) -> None:
    assert_same(answer(iceberg))
    assert_same(answer(iceberg.metadata_location))


def test_a_version_is_pinned_and_stated(delta: Path, iceberg: Any) -> None:
    table = DeltaTable(delta)
    for source, version in ((table, f"version 1 of Delta table {delta}"), (iceberg, "snapshot")):
        logs = sl.Logs(source, **COLUMNS)
        first = sl.evaluate(logs, "new")
        (value,) = first.values()
        assert any(version in text for text in value.assumptions)
        if source is table:
            write_deltalake(delta, rounds().append_column("day", pa.array(["a"] * rounds().num_rows)), mode="append")
            table.update_incremental()
        else:
            iceberg.append(rounds())
        assert sl.evaluate(logs, "new").provenance == first.provenance
        assert sl.Logs(source, **COLUMNS).count() == 2 * rounds().num_rows


def test_verify_reads_delta(delta: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    certificate, plain = str(tmp_path / "c.json"), str(tmp_path / "plain.parquet")
    pq.write_table(rounds(), plain)
    assert main(["evaluate", str(delta), *FLAGS, "--certificate", certificate]) == 0
    assert "version 1 of Delta table" in Path(certificate).read_text()
    assert main(["verify", certificate, str(delta)]) == 0
    assert main(["verify", certificate, plain]) == 0
    write_deltalake(delta, rounds().append_column("day", pa.array(["a"] * rounds().num_rows)), mode="append")
    assert main(["verify", certificate, str(delta)]) == 3
    capsys.readouterr()


@pytest.mark.parametrize("path", ["{}/*/*.parquet", "{}/day=a", "{}/../*", "{}/.."])
def test_delta_is_never_read_file_by_file(delta: Path, path: str) -> None:
    with pytest.raises(UsageError, match="belongs to a Delta or Iceberg table"):
        sl.Logs(path.format(delta), **COLUMNS)


@pytest.mark.parametrize("path", ["", "/data", "/data/*.parquet"])
def test_iceberg_is_never_read_file_by_file(iceberg: Any, path: str) -> None:
    with pytest.raises(UsageError, match=r"one \.metadata\.json\s?file"):
        sl.Logs(f"{iceberg.location()}{path}", **COLUMNS)


def test_without_the_extra_the_remedy_is_said(delta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda package: None)
    for path in (str(delta), "t/metadata/v3.metadata.json"):
        with pytest.raises(UsageError, match=r"pip install '\.\[lake\]'"):
            sl.Logs(path, **COLUMNS)


def test_a_file_of_the_table_that_vanishes_is_said(delta: Path) -> None:
    logs = sl.Logs(delta, **COLUMNS)
    shutil.rmtree(delta / "day=a")
    with pytest.raises(LogsError, match="the table could not be read"):
        sl.evaluate(logs, "new")


def test_arrays_need_an_order(delta: Path) -> None:
    with pytest.raises(UsageError, match="order"):
        sl.evaluate(sl.Logs(delta, **COLUMNS), rounds()["new"].to_numpy())


def test_delta_in_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_delta(tmp_path / "shop" / "table")
    with s3_server(tmp_path) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert_same(answer("s3://shop/table"))
        for path in ("table/day=a", "table/*/*.parquet", "*", ""):
            with pytest.raises(UsageError, match="belongs to a Delta or Iceberg table in shop/table"):
                sl.Logs(f"s3://shop/{path}", **COLUMNS)
