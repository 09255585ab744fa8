"""Tables of Delta Lake and Iceberg: of one version, since their folders also hold files that were removed from them."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from surelift.errors import LogsError, UsageError, install_extra
from surelift.logs.batch import Needs, TableBatch, engine_errors, number_rows, rows_per_batch
from surelift.logs.sources.repeated import repeated_in, told_apart
from surelift.logs.sources.stores import is_remote, open_store, s3_endpoint, store_errors, without_secrets
from surelift.logs.sources.table_folders import DELTA, METADATA

_UNREADABLE = "the table could not be read"


class LakeTable:
    """One version of a table. Its rows have no guaranteed order."""

    ordered = False

    def __init__(
        self, names: Sequence[str], count: Callable[[], int], read: Callable[[list[str]], Iterable[Any]], version: str
    ) -> None:
        self.repeated, self._names = repeated_in(names), told_apart(names)
        self._count, self._read, self.version = count, read, version
        """Which version of which table, as answers and certificates state it."""

    def column_names(self) -> list[str]:
        return list(self._names)

    @engine_errors(_UNREADABLE)
    def count(self) -> int:
        return int(self._count())

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        with engine_errors(_UNREADABLE):
            yield from number_rows(pa.Table.from_batches([batch]) for batch in self._read(needs.columns()))


@engine_errors(_UNREADABLE)
def delta_table(table: Any, filesystem: Any = None) -> LakeTable:
    """The version that a ``deltalake.DeltaTable`` is at now."""
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        raise LogsError(
            "the columns of the Delta table have other names in its files (column mapping), which is not read; write the "
            "rounds to a table without it. Nothing was computed."
        )
    data, version = table.to_pyarrow_dataset(filesystem=filesystem), table.version()

    def read(columns: list[str]) -> Iterator[Any]:
        return iter(data.scanner(columns, batch_size=rows_per_batch(len(columns)), batch_readahead=4).to_batches())

    place = without_secrets(table.table_uri).removeprefix("file://").rstrip("/")
    return LakeTable(data.schema.names, data.count_rows, read, f"the rounds are version {version} of Delta table {place}")


@engine_errors(_UNREADABLE)
def iceberg_table(table: Any) -> LakeTable:
    """The snapshot that a ``pyiceberg`` table is at now."""
    snapshot = table.current_snapshot()
    if snapshot is None:
        raise UsageError("the Iceberg table has no snapshot: nothing was written to it yet.")
    number = snapshot.snapshot_id

    def read(columns: list[str]) -> Any:
        return table.scan(selected_fields=tuple(columns), snapshot_id=number).to_arrow_batch_reader()

    names = [field.name for field in table.scan(snapshot_id=number).projection().fields]
    place = without_secrets(table.location()).removeprefix("file://")
    return LakeTable(
        names, table.scan(snapshot_id=number).count, read, f"the rounds are snapshot {number} of Iceberg table {place}"
    )


def lake_at(path: str) -> LakeTable | None:
    """The table that a path is: a folder with the log of Delta Lake, or a metadata file of Iceberg."""
    path = path.rstrip("/") if len(path) > 1 else path
    if path.endswith(METADATA):
        _require("pyiceberg", path)
        from pyiceberg.table import StaticTable

        endpoint = s3_endpoint()
        with engine_errors(f"{without_secrets(path)} cannot be read"):
            return iceberg_table(StaticTable.from_metadata(path, {"s3.endpoint": endpoint} if endpoint else {}))
    if not _has_log(path):
        return None
    _require("deltalake", path)
    from deltalake import DeltaTable

    with engine_errors(f"{without_secrets(path)} cannot be read"):
        if not is_remote(path):
            return delta_table(DeltaTable(path))
        from pyarrow import fs

        filesystem, key, _ = open_store(path)
        local = (s3_endpoint() or "").startswith("http://")
        table = DeltaTable(path, storage_options={"AWS_ALLOW_HTTP": "true"} if local else None)
        return delta_table(table, fs.SubTreeFileSystem(key, filesystem))


def _has_log(path: str) -> bool:
    if not is_remote(path):
        return os.path.isdir(os.path.join(path, DELTA))
    if any(mark in path for mark in "*?[") or path.lower().startswith("http"):
        return False
    from pyarrow.fs import FileType

    filesystem, key, _ = open_store(path)
    with store_errors(path):
        return bool(filesystem.get_file_info(f"{key}/{DELTA}").type == FileType.Directory)


def _require(package: str, path: str) -> None:
    if find_spec(package) is None:
        raise UsageError(
            f"{without_secrets(path)} is a table that {package} reads, which is not installed. {install_extra('lake')}\n"
            "Its folder also keeps files that were removed from the table, so it is not read file by file."
        )
