"""Text in every shape that exports come in gives the answer and the fingerprint of the plain table, or a sentence."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surelift as sl
from surelift.logs.sources import json_lines

ROWS = 240
Rows = list[dict[str, Any]]


def rows_of(count: int = ROWS) -> Rows:
    rng = np.random.default_rng(11)
    logging = rng.dirichlet([1.0, 2.0, 3.0], count)
    new = rng.dirichlet([3.0, 2.0, 1.0], count)
    action = (rng.random(count)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    return [
        {
            "click": bool(rng.integers(0, 2)), "p": float(logging[i, action[i]]), "a": int(action[i]),
            "production": logging[i].tolist(), "new": new[i].tolist(), "place": ["Paris", "Zürich", "Orléans"][i % 3],
        }
        for i in range(count)
    ]  # fmt: skip


def ask(source: Any, **style: Any) -> Any:
    logs = sl.Logs(source, reward="click", propensity="p", action="a", logging="production", **style)
    return sl.compare(logs, {"new": "new"}, by="place")


@pytest.fixture(scope="module")
def plain() -> Any:
    return ask(pa.Table.from_pylist(rows_of()))


def assert_same(found: Any, plain: Any) -> None:
    assert found.provenance.fingerprint == plain.provenance.fingerprint
    assert {name: (part.rounds, part.lower, part.upper) for name, part in found.items()} == {
        name: (part.rounds, part.lower, part.upper) for name, part in plain.items()
    }


def delimited(separator: str = ",", words: tuple[str, str] = ("1", "0"), end: str = "\n") -> str:
    """Vectors are texts of JSON; all cells are quoted."""
    lines = [["click", "p", "a", "production", "new", "place"]]
    lines += [[words[not row["click"]], *(json.dumps(row[name], ensure_ascii=False).strip('"') for name in lines[0][1:])]
              for row in rows_of()]  # fmt: skip
    return end.join(separator.join(f'"{cell}"' for cell in line) for line in lines) + end


def json_text() -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows_of())


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    content = text.encode(encoding)
    if path.suffix == ".zst":
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(content)
    else:
        pack: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
        path.write_bytes(pack.get(path.suffix, bytes)(content))
    return path


def as_text(table: Any) -> Any:
    """The same cells as texts, as an export without types writes them."""
    rows = [{name: value if name == "place" else json.dumps(value) for name, value in row.items()} for row in rows_of()]
    return pa.Table.from_pylist(rows)


FILES: dict[str, tuple[str, str, str]] = {
    "semicolons": (".csv", delimited(";"), "utf-8"),
    "tabs in a csv": (".csv", delimited("\t"), "utf-8"),
    "bars": (".csv", delimited("|"), "utf-8"),
    "commas in a tsv": (".tsv", delimited(","), "utf-8"),
    "comments": (".csv", "# exported by a tool\n#\n\n# rows, days; more\n" + delimited(), "utf-8"),
    "comments, semicolons, mark": (".csv", "# a, b\r\n" + delimited(";", end="\r\n"), "utf-8-sig"),
    "utf-16": (".csv", delimited(";"), "utf-16"),
    "utf-16 json": (".json", json_text(), "utf-16"),
    "utf-32 with comments": (".csv", "# à\n" + delimited(), "utf-32"),
    "t/f": (".csv", delimited(words=("t", "f")), "utf-8"),
    "Y/N": (".csv", delimited(words=("Y", "N")), "utf-8"),
    "yes/No": (".csv", delimited(words=("yes", "No")), "utf-8"),
    "TRUE/FALSE": (".csv", delimited(words=("TRUE", "FALSE")), "utf-8"),
    **{f"csv{zipped}": (f".csv{zipped}", delimited(), "utf-8") for zipped in (".gz", ".bz2", ".zst", ".xz")},
    **{f"json{zipped}": (f".jsonl{zipped}", json_text(), "utf-8") for zipped in ("", ".gz", ".bz2", ".zst", ".xz")},
    "ndjson with a mark": (".ndjson", json_text(), "utf-8-sig"),
    "json with blank lines": (".json", json_text().replace("\n", "\n\n \r\n"), "utf-8"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_text_give_what_the_plain_table_gives(name: str, plain: Any, tmp_path: Path) -> None:
    ending, text, encoding = FILES[name]
    path = written(tmp_path / f"log{ending}", text, encoding)
    assert_same(ask(path), plain)
    logs = sl.Logs(path, reward="click", propensity="p")
    assert logs.count() == ROWS
    assert logs.part(10, 30).count() == 20


@pytest.mark.parametrize(("encoding", "separator"), [("latin-1", None), ("cp1252", ";"), ("utf-16-le", "tab")])
def test_declared_encodings_and_separators(encoding: str, separator: str | None, plain: Any, tmp_path: Path) -> None:
    mark = {"tab": "\t", None: ","}.get(separator, ";")
    path = written(tmp_path / "log.csv", delimited(mark), encoding)
    assert_same(ask(path, encoding=encoding, separator=separator), plain)
    lines = written(tmp_path / "log.jsonl.gz", json_text(), encoding)
    assert_same(ask(lines, encoding=encoding), plain)


MEMORY: dict[str, Callable[[Any, Path], Any]] = {
    "list of dicts": lambda table, folder: table.to_pylist(),
    "record array": lambda table, folder: np.array(
        [tuple(row.values()) for row in table.to_pylist()],
        dtype=[("click", "?"), ("p", "f8"), ("a", "i4"), ("production", "f8", 3), ("new", "f8", 3), ("place", "U8")],
    ),
    "np.recarray": lambda table, folder: MEMORY["record array"](table, folder).view(np.recarray),
    "texts in arrow": lambda table, folder: as_text(table),
    "texts in pandas": lambda table, folder: as_text(table).to_pandas(),
    "texts in polars": lambda table, folder: pl.from_arrow(as_text(table)),
    "texts in lists": lambda table, folder: as_text(table).to_pydict(),
    "texts in dicts": lambda table, folder: as_text(table).to_pylist(),
}


@pytest.mark.parametrize("name", MEMORY)
def test_tables_in_memory_give_what_the_plain_table_gives(name: str, plain: Any, tmp_path: Path) -> None:
    assert_same(ask(MEMORY[name](pa.Table.from_pylist(rows_of()), tmp_path)), plain)


def test_texts_in_parquet_and_arrow_files(plain: Any, tmp_path: Path) -> None:
    texts = as_text(None)
    pq.write_table(texts, tmp_path / "log.parquet")
    pyarrow.feather.write_feather(texts, str(tmp_path / "log.arrow"))
    for name in ("log.parquet", "log.arrow"):
        assert_same(ask(tmp_path / name), plain)
    broken = texts.set_column(1, "p", pa.array(["0.5"] * 5 + ["half", "0,5"] + ["NA"] + ["0.5"] * (ROWS - 8)))
    pq.write_table(broken, tmp_path / "log.parquet")
    with pytest.raises(sl.LogsError) as told:
        ask(tmp_path / "log.parquet")
    for part in ("are not numbers; the first is 'half' in row 5", "are numbers with a comma; the first is '0,5' in row 6",
                 "propensity 'p': 1 of 240 values are missing (null)"):  # fmt: skip
        assert part in str(told.value)


def small(path: Path, text: str, stored: str = "utf-8", **declared: Any) -> Any:
    written(path, text, stored)
    return sl.evaluate(sl.Logs(path, reward="r", propensity="p", **declared), {"new": "new"})["new"]


def refusal(path: Path, text: str, stored: str = "utf-8", **declared: Any) -> str:
    with pytest.raises(sl.SureliftError) as told:
        small(path, text, stored, **declared)
    return str(told.value)


# ruff: noqa: E501 (the cases below are lines of a table)
@pytest.mark.parametrize(
    ("ending", "text", "says"),
    [
        (".csv", "r;p;new\n1;0,5;0,4\n0;0.5;0,4\n", "policy 'new': 2 of 2 values are numbers with a comma; the first is '0,4' in row 0"),
        (".csv", 'r,p,new\n1,"0,5",0.5\n', "propensity 'p': 1 of 1 values are numbers with a comma; the first is '0,5' in row 0"),
        (".csv", "r,p,new\nyes,0.5,0.4\n1,0.5,0.4\n", "reward 'r': 1 of 2 values are not numbers; the first is 'yes' in row 0"),
        (".csv", "r,p,new\nt,0.5,0.4\nno,0.5,0.4\n", "reward 'r': 2 of 2 values are not numbers; the first is 't' in row 0"),
        (".csv", "a;r|p;new\n1;2|3;4\n", "its separator may be a semicolon or a bar; say which: separator=';'"),
        (".csv", "r\n1,2\n", "its first line has one column and other lines have more"),
        (".csv", "r,p,new\n1,0.5,0.5\n# the end\n", "Expected 3 columns, got 1: # the end"),
        (".csv", "#r,p,new\n1,0.5,0.5\n", "no column 'r' for reward. Did you mean '#r'?"),
        (".csv.gz", "", "cannot be read as csv: Empty CSV file"),
        (".json", '[{"r": 1, "p": 0.5, "new": 0.5}]', "line 1, is not a JSON object: it holds another value"),
        (".json", '{"r": 1,\n"p": 0.5, "new": 0.5}', "line 1, is not a JSON object"),
        (".jsonl", '{"r": 1, "p": 0.5, "new": 0.5}\n\n{"r": 1, "r": 0, "p": 0.5, "new": 0.5}', "line 3, is not a JSON object: it has the key 'r' twice"),
        (".jsonl", '{"r": 1, "p": 0.5, "new": 0.5} {"r": 1, "p": 0.5, "new": 0.5}', "line 1, is not a JSON object: Extra data"),
        (".jsonl", '{"r": 1, "p": 0.5, "new": 0.5}\n{"r": "x", "p": 0.5, "new": 0.5}\n', "column 'r' mixes types: 1 of the 2 values from row 0 on are not numbers; the first is 'x', a str, in row 1"),
        (".jsonl", '{"r": 1, "p": 0.5, "new": 0.5}\n{"p": 0.5, "new": 0.5}', "reward 'r': 1 of 2 values are missing (null); the first is null in row 1"),
        (".jsonl", '{"r": 1, "p": 0.5, "new": ' + "[" * 20_000 + "]" * 20_000 + "}", "more than 10,000 brackets"),
        (".jsonl", '{"r": 1, "p": 0.5, "new": {"p": 0.5}, "new.p": 1}', "no column 'new'"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_told(ending: str, text: str, says: str, tmp_path: Path) -> None:
    assert says in refusal(tmp_path / f"log{ending}", text)


def test_another_encoding_is_told_with_its_line(tmp_path: Path) -> None:
    text = "r,p,new,place\n" + "1,0.5,0.5,Lyon\n" * 40 + "1,0.5,0.5,Orléans\n"
    path = tmp_path / "log.csv"
    assert small(path, text, "latin-1").rounds == 41, "a column that is not read does not matter"
    with pytest.raises(sl.LogsError, match=r"line 42 holds b'.*Orl\\xe9ans.*'.\n.*encoding='latin-1'"):
        sl.evaluate(sl.Logs(path, reward="r", propensity="p"), {"new": "new"}, by="place")
    lines = '{"r": 1, "p": 0.5, "new": 0.5}\n' * 3 + '{"r": 1, "p": 0.5, "new": 0.5, "x": "é"}\n'
    assert "line 4 holds" in refusal(tmp_path / "log.jsonl", lines, "latin-1")
    far = lines[:62] * 20_000 + '{"x": "é"}'
    assert "line 40001 holds" in refusal(tmp_path / "log.jsonl", far, "latin-1", time="t").replace(",", "")
    assert "is not text in cp1252" in refusal(path, "r,p,new\n1,0.5,0.5\x81\n", "latin-1", encoding="cp1252")
    assert "unknown encoding 'rot13'" in refusal(path, "r,p,new\n", encoding="rot13")
    assert "one character" in refusal(path, "r,p,new\n", separator=";;")
    with pytest.raises(sl.UsageError, match="about files of text"):
        sl.Logs({"r": [1], "p": [0.5]}, reward="r", propensity="p", separator=";")


def test_truncated_files_of_text_are_refused(tmp_path: Path) -> None:
    for ending in (".csv.gz", ".csv.zst", ".csv.bz2", ".csv.xz", ".jsonl.xz", ".jsonl.zst"):
        rng = np.random.default_rng(2)
        rows = [f"1,{p!r},{p!r}" for p in rng.random(4_000).tolist()]
        text = "\n".join(["r,p,new", *rows]) if "csv" in ending else "\n".join(f'{{"r": {p[2:]}}}' for p in rows)
        path = written(tmp_path / f"log{ending}", text)
        path.write_bytes(path.read_bytes()[:-2_000])
        with pytest.raises(sl.LogsError, match="cannot be read as"):
            sl.check(sl.Logs(path, reward="r", propensity="p"))


def test_compressed_files_in_parts_are_read_whole(tmp_path: Path) -> None:
    """As written by appending, or by several threads."""
    texts = "r,p,new\n" + "1,0.5,0.5\n" * 10, "0,0.5,0.5\n" * 10
    for ending in (".csv.gz", ".csv.zst", ".csv.bz2", ".csv.xz"):
        parts = [written(tmp_path / f"{number}{ending}", text).read_bytes() for number, text in enumerate(texts)]
        path = tmp_path / f"log{ending}"
        path.write_bytes(b"".join(parts))
        found = sl.evaluate(sl.Logs(path, reward="r", propensity="p"), "new")["new"]
        assert (found.rounds, found.estimate) == (20, 0.5)


def test_nested_objects_late_keys_and_changing_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "_BLOCK", 1 << 10)
    monkeypatch.setattr(json_lines, "_FIRST", 1 << 10)
    rows: Rows = [{"r": 0, "p": 1, "user": {"country": "FR"}, "day": "2024-03-09"} for _ in range(100)]
    rows += [{"r": 0.5, "p": 0.5, "user": {"country": "DE", "plan": {"name": "pro"}}, "day": "x"} for _ in range(100)]
    rows += [{"r": True, "p": 0.25, "user": None, "day": None} for _ in range(50)]
    path = written(tmp_path / "log.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    logs = sl.Logs(path, reward="r", propensity="p")
    table = pa.table({
        "r": [0.0] * 100 + [0.5] * 100 + [1.0] * 50, "p": [1.0] * 100 + [0.5] * 100 + [0.25] * 50,
        "user.country": ["FR"] * 100 + ["DE"] * 100 + [None] * 50, "day": ["2024-03-09"] * 100 + ["x"] * 100 + [None] * 50,
        "user.plan.name": [None] * 100 + ["pro"] * 100 + [None] * 50,
    })  # fmt: skip
    for by in ("user.country", "user.plan.name", "day"):
        found = sl.evaluate(logs, {"same": "p"}, by=by)
        expected = sl.evaluate(sl.Logs(table, reward="r", propensity="p"), {"same": "p"}, by=by)
        assert found.provenance.fingerprint == expected.provenance.fingerprint
        assert {name: part.rounds for name, part in found.items()} == {name: part.rounds for name, part in expected.items()}
    with pytest.raises(sl.UsageError, match=r"no column 'user\.plan\.nam' .*'user\.plan\.name'"):
        sl.evaluate(logs, {"same": "p"}, by="user.plan.nam")
    written(path, "".join(json.dumps({**row, "r": "0.5" if n > 200 else 0.5}) + "\n" for n, row in enumerate(rows)))
    with pytest.raises(sl.LogsError, match=r"column 'r' (mixes types|holds numbers up to row)"):
        sl.evaluate(sl.Logs(path, reward="r", propensity="p"), {"same": "p"})
    twice = rows[:150] + [{**rows[0], "user.country": "x"}] * 50
    written(path, "".join(json.dumps(row) + "\n" for row in twice))
    with pytest.raises(sl.LogsError, match=r"several columns 'user\.country'|'user\.country' occurs twice"):
        sl.evaluate(sl.Logs(path, reward="r", propensity="p"), {"same": "p"}, by="user.country")
    messy = [{**row, "note": n if n % 2 else "x"} for n, row in enumerate(rows)]
    written(path, "".join(json.dumps(row) + "\n" for row in messy))
    assert sl.evaluate(sl.Logs(path, reward="r", propensity="p"), {"same": "p"})["same"].rounds == 250
    with pytest.raises(sl.LogsError, match="column 'note' mixes types"):
        sl.evaluate(sl.Logs(path, reward="r", propensity="p"), {"same": "p"}, by="note")


def test_json_beside_other_files_of_a_folder_holds_no_rounds(tmp_path: Path) -> None:
    row = {"r": 1, "p": 0.5, "new": 0.5}
    written(tmp_path / "part-0.json", json.dumps(row))
    assert sl.Logs(tmp_path, reward="r", propensity="p").count() == 1
    pq.write_table(pa.Table.from_pylist([row] * 3), tmp_path / "part-1.parquet")
    assert sl.Logs(tmp_path, reward="r", propensity="p").count() == 3


def test_lists_of_dicts_with_gaps_and_objects() -> None:
    rows: Rows = [{"r": 1, "p": 0.5, "user": {"country": "FR"}}, {"r": 0, "p": 0.5}]
    logs = sl.Logs(rows, reward="r", propensity="p")
    assert logs.column_names() == ["r", "p", "user.country"]
    assert set(sl.evaluate(logs, {"same": "p"}, by="user.country")) == {"FR", "(missing)"}
    with pytest.raises(sl.LogsError, match="reward 'r': 1 of 2 values are missing"):
        sl.evaluate(sl.Logs([{"p": 0.5}, {"p": 0.5, "r": 1}], reward="r", propensity="p"), {"same": "p"})
    masked: Any = np.ma.array(
        [(1.0, 0.5), (0.0, 0.5)], mask=[(True, False), (False, False)], dtype=[("r", "f8"), ("p", "f8")]
    )
    with pytest.raises(sl.LogsError, match="reward 'r': 1 of 2 values are missing"):
        sl.evaluate(sl.Logs(masked, reward="r", propensity="p"), {"same": "p"})


def test_words_are_no_numbers_for_a_function_of_the_batch(tmp_path: Path) -> None:
    seen = list[Any]()

    def policy(batch: Any) -> Any:
        seen.append(batch["member"].to_pylist())
        return np.full(batch.num_rows, 0.5)

    path = written(tmp_path / "log.csv", "r,p,member\ny,0.5,y\nn,0.5,n\n")
    sl.evaluate(sl.Logs(path, reward="r", propensity="p", contexts=["member"]), {"new": policy})
    assert seen[0] == ["y", "n"]


def test_text_labels_of_a_typed_table_are_no_positions() -> None:
    table = pa.table({"r": [1.0, 0.0], "p": [0.5, 0.5], "a": ["x", "1"], "v": [[0.5, 0.5]] * 2})
    logs = sl.Logs(table, reward="r", propensity="p", action="a", actions=["x", "y"])
    with pytest.raises(sl.LogsError, match="action 'a': 1 of 2 values are not among the declared actions; the first is '1'"):
        sl.evaluate(logs, "v")


def test_texts_of_positions_and_densities_give_what_numbers_give() -> None:
    """Also where a column is read a second time, as for the bins of an action."""
    drawn = np.random.default_rng(4).normal(0.5, 4.0, 400).tolist()
    rows = [
        {"r": float(i % 3 == 0), "p": 0.5, "new": 0.4, "s": i // 2, "k": i % 2, "x": drawn[i], "m": 0.5} for i in range(400)
    ]
    tables = [pa.Table.from_pylist(rows), pa.Table.from_pylist([{k: repr(v) for k, v in row.items()} for row in rows])]
    sessions, continuous = list[Any](), list[Any]()
    for table in tables:
        logs = sl.Logs(table, reward="r", propensity="p", cluster="s", cluster_max=2, position="k")
        sessions.append(sl.compare(logs, {"new": "new"}))
        logs = sl.Logs(table, reward="r", action="x", density=True, propensity=sl.densities.gaussian("m", 4.0))
        continuous.append(sl.evaluate(logs, {"new": sl.densities.binned(sl.densities.gaussian("m", 3.0), [0.0])})["new"])
    assert (sessions[0].lower, sessions[0].upper) == (sessions[1].lower, sessions[1].upper)
    assert (continuous[0].lower, continuous[0].upper) == (continuous[1].lower, continuous[1].upper)


NUMBERS = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.one_of(NUMBERS, st.text(max_size=4), st.lists(st.floats(-1, 1), max_size=3))


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries({}, optional={"a": NUMBERS, "b": VALUES, "c": st.text(max_size=4)}), max_size=8))
def test_arrow_and_python_read_the_same_from_json(rows: Rows) -> None:
    """Where Arrow reads lines, they hold what Python's own reader finds in them."""
    lines = [json.dumps(row).encode() for row in rows]
    reader = json_lines.JsonReader("the file")
    try:
        found = reader.table(lines, 1, 0, ["a", "c"])
    except sl.LogsError:
        return
    for name in ("a", "c"):
        expected = [row.get(name) for row in rows]
        read = found[name].to_pylist() if name in found.schema.names else [None] * len(rows)
        assert [v if v is None or isinstance(v, str) else float(v) for v in read] == [
            v if v is None or isinstance(v, str) else float(v) for v in expected
        ]


def test_a_frame_of_words_and_gaps_is_read() -> None:
    frame = pd.DataFrame({"r": ["Yes", "no", "YES"], "p": ["0.5", " .5", "5e-1"], "new": [0.5, 0.25, 1.0]})
    assert sl.evaluate(sl.Logs(frame, reward="r", propensity="p"), "new")["new"].estimate == pytest.approx(1.0)
    frame.loc[1, "r"] = None
    with pytest.raises(sl.LogsError, match="reward 'r': 1 of 3 values are missing"):
        sl.evaluate(sl.Logs(frame, reward="r", propensity="p"), "new")


def test_a_list_with_an_entry_that_is_no_dict() -> None:
    with pytest.raises(sl.UsageError, match="entry 1 of the list is a NoneType, counting from 0"):
        sl.Logs([{"r": 1, "p": 0.5}, None], reward="r", propensity="p")
