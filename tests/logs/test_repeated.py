"""A name that two columns share is refused only where it is used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl

NAMES = ["r", "q", "p", "z", "z"]
COLUMNS = [[1.0, 0.0], [0.5, 0.25], [0.5, 0.5], [1, 2], [3, 4]]


def written(table: Any, path: Path, write: Callable[[Any, Any], None]) -> str:
    with pa.OSFile(str(path), "wb") as sink:
        write(table, sink)
    return str(path)


def ipc(table: Any, sink: Any) -> None:
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def csv(table: Any, sink: Any) -> None:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    sink.write("\n".join(",".join(map(str, row)) for row in [table.schema.names, *rows]).encode())


def relation(table: Any, folder: Path) -> Any:
    chosen = ", ".join(f'c{place} AS "{name}"' for place, name in enumerate(table.schema.names))
    return duckdb.from_arrow(table.rename_columns([f"c{place}" for place in range(table.num_columns)])).project(chosen)


SOURCES: dict[str, Callable[[Any, Path], Any]] = {
    "pyarrow": lambda table, folder: table,
    "pandas": lambda table, folder: table.rename_columns(list("abcde")).to_pandas().set_axis(table.schema.names, axis=1),
    "parquet": lambda table, folder: written(table, folder / "a.parquet", pq.write_table),
    "arrow file": lambda table, folder: written(table, folder / "a.arrow", ipc),
    "csv": lambda table, folder: written(table, folder / "a.csv", csv),
    "tsv": lambda table, folder: written(table, folder / "a.tsv", lambda of, sink: sink.write(_tabs(of, folder / "b.csv"))),
    "duckdb": relation,
}


def _tabs(table: Any, path: Path) -> bytes:
    return Path(written(table, path, csv)).read_bytes().replace(b",", b"\t")


@pytest.mark.parametrize("kind", SOURCES)
def test_a_repeated_column_matters_only_where_it_is_used(kind: str, tmp_path: Path) -> None:
    table = pa.table([pa.array(column) for column in COLUMNS], names=NAMES)
    source = SOURCES[kind](table, tmp_path)
    logs = sl.Logs(source, reward="r", propensity="q")
    assert logs.column_names() == ["r", "q", "p"]
    plain = sl.Logs(table.select([0, 1, 2]), reward="r", propensity="q")
    assert sl.evaluate(logs, "p")["p"].estimate == sl.evaluate(plain, "p")["p"].estimate
    with pytest.raises(sl.UsageError, match="several columns 'z', so a policy cannot name one of them"):
        sl.evaluate(logs, "z")
    with pytest.raises(sl.UsageError, match="several columns 'z', so propensity cannot name one"):
        sl.Logs(source, reward="r", propensity="z")


def test_a_later_file_with_a_repeated_column(tmp_path: Path) -> None:
    first = pa.table([pa.array(column) for column in COLUMNS[:3]], names=NAMES[:3])
    pq.write_table(first, tmp_path / "a.parquet")
    pq.write_table(pa.table([*first.columns, first["p"]], names=[*NAMES[:3], "p"]), tmp_path / "b.parquet")
    logs = sl.Logs(str(tmp_path / "*.parquet"), reward="r", propensity="q")
    with pytest.raises(sl.LogsError, match=r"b\.parquet has several columns 'p'; rename all but one"):
        sl.evaluate(logs, "p")
