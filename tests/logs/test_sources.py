"""The same rounds give the same answer and fingerprint from every source."""

import gzip
import json
import os
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
from surelift.logs.sources.parquet import ParquetFile

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


def write_json(table: Any, path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


def write_gz(table: Any, path: Path) -> Path:
    path.write_bytes(gzip.compress(write_csv(table, path.with_suffix("")).read_bytes()))
    return path


def write_parts(table: Any, folder: Path) -> Path:
    folder.mkdir()
    for number, start in enumerate(range(0, ROWS, 20_000)):
        pq.write_table(table.slice(start, 20_000), folder / f"part-{number:02}.parquet")
    return folder


def write_parquet(table: Any, path: Path) -> Path:
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
    "parquet": lambda table, path: write_parquet(table, path / "logs.parquet"),
    "folder": lambda table, path: write_parts(table, path / "logs"),
    "glob": lambda table, path: str(write_parts(table, path / "logs") / "part-*.parquet"),
    "list": lambda table, path: sorted(write_parts(table, path / "logs").iterdir(), reverse=True),
    "csv": lambda table, path: write_csv(table, path / "logs.csv"),
    "tsv": lambda table, path: write_csv(table, path / "logs.tsv", "\t"),
    "csv.gz": lambda table, path: write_gz(table, path / "logs.csv.gz"),
    "semicolons": lambda table, path: write_csv(table, path / "logs.csv", ";"),
    "jsonl": lambda table, path: write_json(table, path / "logs.jsonl"),
    "arrow": lambda table, path: write_feather(table, path / "logs.arrow"),
}


def ask(source: Any, policy: Any) -> sl.results.Improvement:
    logs = sl.Logs(source, reward="click", propensity="p", action="item", actions=["a", "b", "c"])
    return sl.compare(logs, {"new": policy})


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_result(container: str, table: Any, tmp_path: Path) -> None:
    source = CONTAINERS[container](table, tmp_path)
    for policy in ("p_new", ["n0", "n1", "n2"]):
        expected, found = ask(table, policy), ask(source, policy)
        assert found.rounds == ROWS
        assert found.lower == pytest.approx(expected.lower, rel=1e-12)
        assert found.provenance.fingerprint == expected.provenance.fingerprint


@pytest.mark.parametrize("largest", [0, 1 << 40], ids=["large", "small"])
def test_small_and_large_parquet_files_give_the_same(
    largest: int, table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surelift.logs.sources.parquet.SMALL_FILE", largest)
    vectors = pa.array(np.column_stack([table[f"n{i}"] for i in range(3)]).tolist())
    path = tmp_path / "logs.parquet"
    pq.write_table(table.append_column("list", vectors), path, row_group_size=10_000)
    logs = sl.Logs(path, reward="click", propensity="p", action="item", actions=["a", "b", "c"])
    assert logs.count() == ROWS
    for policy, same in (("p_new", "p_new"), ("list", ["n0", "n1", "n2"])):
        found, expected = sl.compare(logs, {"new": policy}), ask(table, same)
        assert found.lower == pytest.approx(expected.lower, rel=1e-12)
        assert found.provenance.fingerprint == expected.provenance.fingerprint


def test_a_file_that_goes_away_while_it_is_read_is_told(table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surelift.logs.sources.parquet.SMALL_FILE", 0)
    path = tmp_path / "logs.parquet"
    pq.write_table(table, path, row_group_size=100)
    file = ParquetFile(str(path), frozenset())
    batches = file.batches(["p"], 10)
    next(batches)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        list(batches)


@pytest.mark.parametrize("small_file", [0, 1 << 24])
@pytest.mark.parametrize("files", [1, 3])
def test_a_part_reads_only_the_row_groups_it_lies_in(
    files: int, small_file: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surelift.logs.sources.parquet.SMALL_FILE", small_file)
    read, batches = list[int](), ParquetFile.batches

    def counted(self: ParquetFile, *arguments: Any) -> Any:
        for batch in batches(self, *arguments):
            read.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(ParquetFile, "batches", counted)
    numbers = pa.table({"r": np.arange(600) / 600, "p": np.full(600, 0.5)})
    for number in range(files):
        part = numbers.slice(number * 600 // files, 600 // files)
        pq.write_table(part, tmp_path / f"{number}.parquet", row_group_size=50)
    logs = sl.Logs(tmp_path, reward="r", propensity="p")
    for first, last in [(0, 600), (0, 50), (50, 51), (199, 201), (320, 480), (549, 600), (300, 300), (599, 900)]:
        read.clear()
        found = [(batch.start, batch.table["r"].to_pylist()) for batch in logs.part(first, last).batches()]
        assert [value for _, values in found for value in values] == numbers["r"][first:last].to_pylist()
        assert all(values[0] == start / 600 for start, values in found)
        assert sum(read) <= (-(-last // 50) - first // 50) * 50


@pytest.mark.parametrize("nulls", [False, True])
def test_segments_of_unsigned_codes(nulls: bool) -> None:
    codes = pa.array([0, 1, None if nulls else 1] * 100, pa.uint32())
    segments = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]))
    logs = sl.Logs(
        pa.table({"r": [1.0] * 300, "q": [0.5] * 300, "p": [0.5] * 300, "s": segments}), reward="r", propensity="q"
    )
    found = {name: one.rounds for name, one in sl.compare(logs, "p", by="s").items()}
    assert found == ({"a": 100, "b": 100, "(missing)": 100} if nulls else {"a": 100, "b": 200})


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
    assert sl.compare(logs, "p_new", grid="planned").lower == pytest.approx(sl.compare(other, "p_new", grid="planned").lower)


def test_pandas_types(table: Any) -> None:
    frame = table.to_pandas().head(1_000)
    expected = ask(frame, "p_new").lower
    frame["click"] = frame["click"].astype("boolean")
    frame["p_new"] = frame["p_new"].astype("Float64")
    assert ask(frame, "p_new").lower == expected
    frame.loc[5, "click"] = pd.NA
    with pytest.raises(sl.LogsError, match="reward 'click': 1 of 1,000 values are missing"):
        ask(frame, "p_new")


def test_a_broken_file_is_named_and_blocks_the_result(table: Any, tmp_path: Path) -> None:
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
    parquet, csv = write_parquet(table, tmp_path / "a.parquet"), write_csv(table, tmp_path / "b.csv")
    with pytest.raises(sl.UsageError, match="mix formats"):
        ask([parquet, csv], "p_new")
    spreadsheet = tmp_path / "logs.xlsx"
    spreadsheet.write_text("no table")
    with pytest.raises(sl.UsageError, match="none of the extensions"):
        ask(spreadsheet, "p_new")


def test_columns_of_different_lengths() -> None:
    with pytest.raises(sl.UsageError, match="differ in length"):
        sl.Logs({"click": [0, 1], "p": [0.5]}, reward="click", propensity="p")


def test_a_file_given_twice_is_read_once_and_said(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Double-counted rounds would overstate the evidence."""
    folder = write_parts(table, tmp_path / "logs")
    (tmp_path / "link.parquet").symlink_to(folder / "part-00.parquet")
    monkeypatch.chdir(tmp_path)
    for source in (["logs", "./logs/part-01.parquet"], ["logs/*.parquet", str(folder)], ["logs", "link.parquet"]):
        assert ask(source, "p_new").rounds == ROWS
        assert "given twice, also through links or other paths; each file is read once" in capsys.readouterr().err
    assert ask(["logs/part-00.parquet", "link.parquet"], "p_new").rounds == 20_000
    said = capsys.readouterr().err
    assert said.startswith("surelift: link.parquet was given twice")


def test_temporary_folders_of_other_tools_are_ignored(table: Any, tmp_path: Path) -> None:
    folder = write_parts(table, tmp_path / "logs")
    (folder / "_temporary").mkdir()
    (folder / ".ipynb_checkpoints").mkdir()
    for name in ("_temporary/part-00.parquet", ".ipynb_checkpoints/part-00.parquet", "_metadata.parquet"):
        write_parquet(table.slice(0, 100), folder / name)
    assert ask(folder, "p_new").rounds == ROWS


def test_an_unclosed_quote_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("r,p,pn,note\n" + "0,0.5,0.4,fine\n" * 50 + '0,0.5,0.4,"oops\n' + "1,0.5,0.6,fine\n" * 50)
    with pytest.raises(sl.LogsError, match="has 101 lines below its header, but 51 rows"):
        sl.compare(sl.Logs(path, reward="r", propensity="p"), "pn")


def test_a_function_sees_numbers_in_a_csv_whose_types_change_late(tmp_path: Path) -> None:
    rows = 150_000
    lines = ["r,p,pn,when"] + ["0,0.5,0.4,1"] * rows
    lines[140_000] = "0.5,0.5,0.4,2024-01-01"
    path = tmp_path / "late.csv"
    path.write_text("\n".join(lines))
    contexts = sl.Logs(path, reward="r", propensity="p", contexts=["pn"], time="when")
    assert sl.evaluate(contexts, {"new": lambda batch: batch["pn"].to_numpy()})["new"].rounds == rows


def test_a_missing_time_in_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("r,p,pn,when\n0,0.5,0.4,2024-01-01\n1,0.5,0.4,\n")
    with pytest.raises(sl.LogsError, match="time 'when': 1 of 2 values are missing"):
        sl.compare(sl.Logs(path, reward="r", propensity="p", time="when"), "pn")


def test_mixed_python_types_are_reported_with_their_row() -> None:
    frame = pd.DataFrame({"r": [0, 1, "abc", 1], "p": [0.5] * 4, "pn": [0.5] * 4}).astype({"r": object})
    for source in (frame, {name: frame[name].tolist() for name in frame}):
        with pytest.raises(sl.LogsError, match=r"column 'r' mixes types: 1 of the 4 .* the first is 'abc', a str, in row 2"):
            sl.compare(sl.Logs(source, reward="r", propensity="p"), "pn")
    numbers = {"r": [True, 0, 1.0, None], "p": [0.5] * 4, "pn": [0.5] * 4}
    with pytest.raises(sl.LogsError, match="reward 'r': 1 of 4 values are missing"):
        sl.compare(sl.Logs(numbers, reward="r", propensity="p"), "pn")


def test_decimals_are_read_exactly(tmp_path: Path) -> None:
    texts = [f"0.{i:03}" for i in range(1, 1_000)]
    plain = pa.table({"r": [0.5] * 999, "p": [float(text) for text in texts], "pn": [0.25 * float(text) for text in texts]})
    exact = plain.set_column(1, "p", pa.array(texts).cast(pa.decimal128(10, 3)))
    checks = [sl.check(sl.Logs(t, reward="r", propensity="p")) for t in (plain, exact)]
    assert checks[0].smallest_propensity == checks[1].smallest_propensity
    prints = {
        sl.evaluate(sl.Logs(t, reward="r", propensity="p"), "pn", sides="upper").provenance.fingerprint
        for t in (plain, exact)
    }
    assert len(prints) == 1


def test_a_failing_query_raises_a_logs_error(tmp_path: Path) -> None:
    with pytest.raises(sl.LogsError, match="the query could not be read"):
        sl.Logs(pl.scan_parquet(tmp_path / "nothing.parquet"), reward="r", propensity="p")


def test_tables_that_cannot_be_read() -> None:
    with pytest.raises(sl.UsageError, match="column names must be strings"):
        sl.Logs(pd.DataFrame({0: [1.0], 1: [0.5]}), reward="0", propensity="1")


def test_the_format_follows_the_file_extension(table: Any, tmp_path: Path) -> None:
    (tmp_path / "d.tsv").mkdir()
    assert ask(write_csv(table, tmp_path / "d.tsv" / "a.csv"), "p_new").rounds == ROWS
    assert ask(write_gz(table, tmp_path / "a.CSV.GZ"), "p_new").rounds == ROWS


def test_partition_folders_become_columns(tmp_path: Path) -> None:
    """As Spark and Hive write them: day=2024-03-01/country=FR/part-0.parquet."""
    for day, country in (("2024-03-01", "FR"), ("2024-03-01", "DE"), ("2024-03-02", "FR")):
        folder = tmp_path / f"day={day}" / f"country={country}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"r": [0.0, 1.0] * 50, "p": [0.5] * 100, "n": [0.4, 0.6] * 50}), folder / "part-0.parquet")
    logs = sl.Logs(tmp_path, reward="r", propensity="p", time="day")
    assert sl.compare(logs, "n").rounds == 300
    by = sl.evaluate(logs, "n", by="country")
    assert {name: evaluation.rounds for name, evaluation in by.items()} == {"DE": 100, "FR": 200}
    assert sl.check(logs, "n", by="country").ok


def test_folders_with_a_file_extension(tmp_path: Path) -> None:
    """Spark writes a folder x.parquet; each of its files counts once, however the folder is given."""
    table = pa.table({"r": [0.0, 1.0], "q": [0.5, 0.5]})
    for day in ("1", "2"):
        for part in ("a", "b"):
            (tmp_path / f"day{day}.parquet").mkdir(exist_ok=True)
            pq.write_table(table, tmp_path / f"day{day}.parquet" / f"{part}.parquet")
    root = str(tmp_path)
    for source in (
        root,
        f"{root}/*.parquet",
        f"{root}/**/*.parquet",
        [f"{root}/*.parquet", f"{root}/day1.parquet", f"{root}/day1.parquet/a.parquet"],
    ):
        assert sl.Logs(source, reward="r", propensity="q").count() == 8
    os.link(tmp_path / "day1.parquet" / "a.parquet", tmp_path / "again.parquet")
    assert sl.Logs(root, reward="r", propensity="q").count() == 8


def test_a_broken_link_is_reported(tmp_path: Path) -> None:
    pq.write_table(pa.table({"r": [0.0], "q": [0.5]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").symlink_to(tmp_path / "gone.parquet")
    with pytest.raises(sl.LogsError, match=r"b\.parquet cannot be read: No such file"):
        sl.Logs(str(tmp_path), reward="r", propensity="q")


def test_csv_of_other_encodings_and_line_ends(tmp_path: Path) -> None:
    rows = [f"{i % 2},0.5,é" for i in range(300)]
    path = tmp_path / "log.csv"
    declared: dict[str, Any] = {"reward": "r", "propensity": "p"}
    path.write_bytes("\n".join(["r,p,prénom", *rows]).encode("latin-1"))
    with pytest.raises(sl.LogsError, match=r"is not text in UTF-8: line 1 holds b'r,p,pr\\xe9nom'"):
        sl.Logs(path, **declared)
    assert sl.Logs(path, **declared, encoding="latin-1").column_names() == ["r", "p", "prénom"]
    for end in ("\r", "\r\n", "\n", "\n\n", "\r\n\r\n"):
        path.write_bytes((end.join(["r,p,c", *rows]) + end).encode())
        assert sl.evaluate(sl.Logs(path, **declared), {"new": np.full(300, 0.5)})["new"].rounds == 300
    path.write_bytes(("\r".join(["r,p,c", *rows[:9], '1,0.5,"x', *rows[9:]]) + "\r").encode())
    with pytest.raises(sl.LogsError, match="quote"):
        sl.check(sl.Logs(path, **declared))


def test_lines_are_counted_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"r,p\r\n" + b"1,0.5\r\n\r\n" * 50)
    for block in (1, 2, 3, 7):
        monkeypatch.setattr("surelift.logs.sources.delimited._BLOCK", block)
        assert sl.check(sl.Logs(path, reward="r", propensity="p")).rounds == 50


@pytest.mark.skipif(os.name == "nt", reason="Windows lets few users make links")
def test_folders_behind_links_are_read_and_loops_end(table: Any, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    for place in (folder, elsewhere):
        place.mkdir()
        pq.write_table(table.slice(place == folder), place / f"{place.name}.parquet")
    (folder / "more").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(folder)
    assert sl.Logs(str(folder), reward="click", propensity="p").count() == 2 * table.num_rows - 1


@pytest.mark.parametrize("name", ["b.csv.lz4", "b.parquet.gz", "b.json.br", "b.CSV.zip"])
def test_compressed_files_that_are_not_read_are_not_left_out(name: str, table: Any, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "a.parquet")
    for other in ("_SUCCESS", "notes.txt", ".b.csv.bz2", "b.parquet.crc", "b.csv.tmp"):
        (tmp_path / other).touch()
    assert sl.Logs(str(tmp_path), reward="click", propensity="p").count() == table.num_rows
    (tmp_path / name).touch()
    with pytest.raises(sl.UsageError, match=f"{name} has none of the extensions"):
        sl.Logs(str(tmp_path), reward="click", propensity="p")


def test_copies_of_a_file_do_not_count_twice(tmp_path: Path) -> None:
    text = "r,p,q\n" + "".join(f"{i % 3 == 0:d},0.5,0.{i % 7 + 1}\n" for i in range(500))
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(text)
    with pytest.raises(sl.LogsError, match=r"b\.csv is a copy of .*a\.csv: its rounds would count twice"):
        sl.Logs(tmp_path, reward="r", propensity="p")
    (tmp_path / "b.csv").write_text(text.replace("0.5", "0.4", 1))
    assert sl.Logs(tmp_path, reward="r", propensity="p").count() == 1_000
    empty = pa.table({"r": [0.0], "p": [0.5], **{f"x{i}": [0.0] for i in range(200)}}).slice(0, 0)
    for name in ("c.parquet", "d.parquet"):
        pq.write_table(empty, tmp_path / name)
    assert sl.Logs([tmp_path / "c.parquet", tmp_path / "d.parquet"], reward="r", propensity="p").count() == 0


def test_a_damaged_arrow_file_is_told(tmp_path: Path) -> None:
    table = pa.table({"r": [0.0, 1.0] * 50, "p": [0.5] * 100, "n": [0.4, 0.6] * 50})
    path = tmp_path / "log.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    content, told = path.read_bytes(), 0
    for place in range(200, 600):  # where it says which bytes hold what
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            sl.compare(sl.Logs(path, reward="r", propensity="p"), "n")
        except sl.SureliftError:
            told += 1
    assert told
