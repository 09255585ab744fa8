"""Tables that other systems keep: a database's through Ibis, Spark's, and one version of a Delta Lake or Iceberg table.

A database and Spark add up where the rounds are, and their rows come here only by ``Logs.here()``. A lake is read here, but
never file by file, since its folder also holds files that were removed from it.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from surelift.errors import LogsError, UsageError, install_extra
from surelift.logs.batch import ROWS_PER_BATCH, Needs, TableBatch, engine_errors, number_rows, repeated_in, rows_per_batch
from surelift.logs.sources.formats import DELTA, METADATA
from surelift.logs.sources.stores import is_remote, open_store, s3_endpoint, store_errors, without_secrets

_UNREADABLE = "the table could not be read"


class UnorderedTable:
    """Rows of another system, which have no guaranteed order."""

    ordered = False
    unreadable = "the rounds could not be read where they are"
    rows: Callable[[], int]
    read: Callable[[list[str]], Iterable[Any]]  # record batches of some columns

    def __init__(self, names: Sequence[str]) -> None:
        self.repeated = repeated_in(names)
        self._names = [name for name in names if name not in self.repeated]

    def column_names(self) -> list[str]:
        return list(self._names)

    def count(self) -> int:
        with engine_errors(self.unreadable):
            return int(self.rows())

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        with engine_errors(self.unreadable):
            yield from number_rows(pa.Table.from_batches([batch]) for batch in self.read(needs.columns()))


class SqlTable(UnorderedTable):
    """An Ibis table or query."""

    def __init__(self, table: Any) -> None:
        super().__init__(table.columns)
        self.table = table

    def rows(self) -> int:
        return int(self.table.count().to_pyarrow().as_py())

    def read(self, columns: list[str]) -> Any:
        query = self.table.select(columns)
        backend = query.get_backend()
        if backend.name == "duckdb":
            # Ibis 12 calls a method that DuckDB 2 removed, so DuckDB is called directly.
            return backend.con.sql(backend.compile(query)).to_arrow_reader(ROWS_PER_BATCH)
        return query.to_pyarrow_batches(chunk_size=ROWS_PER_BATCH)


class SparkFrame(UnorderedTable):
    """A Spark data frame, streamed one partition at a time."""

    def __init__(self, frame: Any) -> None:
        super().__init__(frame.columns)
        self.frame = frame

    def rows(self) -> int:
        return int(self.frame.count())

    def read(self, columns: list[str]) -> Iterable[Any]:
        for row in self.frame.select(*columns).mapInArrow(_serialise, "batch binary").toLocalIterator():
            yield from pa.ipc.open_stream(row["batch"])


def _serialise(batches: Iterator[Any]) -> Iterator[Any]:
    """Runs in Spark's workers: each batch becomes one binary value."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"batch": pa.array([bytes(sink.getvalue())], pa.binary())})


REMOTE = (SqlTable, SparkFrame)


class LakeTable(UnorderedTable):
    """One version of a table, which answers and certificates state."""

    unreadable = _UNREADABLE

    def __init__(self, names: Sequence[str], rows: Any, read: Callable[[list[str]], Iterable[Any]], version: str) -> None:
        super().__init__(names)
        self.rows, self.read, self.version = rows, read, f"the rounds are {version}"


@engine_errors(_UNREADABLE)
def delta_table(table: Any, filesystem: Any = None) -> LakeTable:
    """The version that a ``deltalake.DeltaTable`` is at now."""
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        raise LogsError(
            "the columns of the Delta table have other names in its files (column mapping), which is not read; write the "
            "rounds to a table without it. Nothing was computed."
        )
    data = table.to_pyarrow_dataset(filesystem=filesystem)

    def read(columns: list[str]) -> Iterator[Any]:
        return iter(data.scanner(columns, batch_size=rows_per_batch(len(columns)), batch_readahead=4).to_batches())

    place = without_secrets(table.table_uri).removeprefix("file://").rstrip("/")
    return LakeTable(data.schema.names, data.count_rows, read, f"version {table.version()} of Delta table {place}")


@engine_errors(_UNREADABLE)
def iceberg_table(table: Any) -> LakeTable:
    """The snapshot that a ``pyiceberg`` table is at now."""
    snapshot = table.current_snapshot()
    if snapshot is None:
        raise UsageError("the Iceberg table has no snapshot: nothing was written to it yet.")
    number = snapshot.snapshot_id

    def read(columns: list[str]) -> Any:
        return table.scan(selected_fields=tuple(columns), snapshot_id=number).to_arrow_batch_reader()

    scan, place = table.scan(snapshot_id=number), without_secrets(table.location()).removeprefix("file://")
    names = [field.name for field in scan.projection().fields]
    return LakeTable(names, scan.count, read, f"snapshot {number} of Iceberg table {place}")


def lake_at(path: str) -> LakeTable | None:
    """The table that a path is: a folder with the log of Delta Lake, or a metadata file of Iceberg."""
    path = path.rstrip("/") or path
    package = "pyiceberg" if path.endswith(METADATA) else "deltalake"
    if package == "deltalake" and not _has_log(path):
        return None
    if find_spec(package) is None:
        raise UsageError(
            f"{without_secrets(path)} is a table that {package} reads, which is not installed. {install_extra('lake')}\n"
            "Its folder also keeps files that were removed from the table, so it is not read file by file."
        )
    endpoint = s3_endpoint()
    with engine_errors(f"{without_secrets(path)} cannot be read"):
        if package == "pyiceberg":
            from pyiceberg.table import StaticTable

            return iceberg_table(StaticTable.from_metadata(path, {"s3.endpoint": endpoint} if endpoint else {}))
        from deltalake import DeltaTable
        from pyarrow import fs

        if not is_remote(path):
            return delta_table(DeltaTable(path))
        filesystem, key, _ = open_store(path)
        local = (endpoint or "").startswith("http://")
        table = DeltaTable(path, storage_options={"AWS_ALLOW_HTTP": "true"} if local else None)
        return delta_table(table, fs.SubTreeFileSystem(key, filesystem))


def _has_log(path: str) -> bool:
    if not is_remote(path):
        return os.path.isdir(os.path.join(path, DELTA))
    if set(path) & set("*?[") or path.lower().startswith("http"):
        return False
    filesystem, key, _ = open_store(path)
    with store_errors(path):
        return bool(filesystem.get_file_info(f"{key}/{DELTA}").type.name == "Directory")
