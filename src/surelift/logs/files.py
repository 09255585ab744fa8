"""Rounds from Parquet, CSV and Arrow files, one batch at a time, in the order of the file names."""

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs.batch import ROWS_PER_BATCH, Batch

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc",
    ".csv": "csv", ".tsv": "csv", ".csv.gz": "csv", ".tsv.gz": "csv",
}  # fmt: skip


class Files:
    ordered = True

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._paths = sorted({file for path in paths for file in _expand(str(path))})
        if not self._paths:
            raise UsageError("no file was named; give a path, a glob such as 'logs/*.parquet', or a list of paths.")
        kinds = {_format(path) for path in self._paths}
        if len(kinds) > 1:
            raise UsageError(f"the files mix formats ({', '.join(sorted(kinds))}); give files of one format.")

    def column_names(self) -> list[str]:
        return list(self._open(self._paths[0]).schema.names)

    def count(self) -> int:
        return sum(self._guard(path, lambda data: data.count_rows()) for path in self._paths)

    def batches(self, columns: Sequence[str], *, numeric: Sequence[str]) -> Iterator[Batch]:
        start = 0
        for path in self._paths:
            place, place_start = (path if len(self._paths) > 1 else ""), start
            untyped = _format(path) == "csv"
            data = self._open(path, as_text=numeric if untyped else ())
            absent = [name for name in columns if name not in data.schema.names]
            if absent:
                raise LogsError(
                    f"{path} has no column {absent[0]!r}, which {self._paths[0]} has; its columns are "
                    f"{', '.join(data.schema.names)}.\nGive files of one layout; nothing was computed from the others."
                )
            for table in self._scan(path, data, columns):
                yield Batch(table, start, place, place_start, untyped)
                start += table.num_rows

    def _scan(self, path: str, data: Any, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow.dataset as ds

        # Without pre_buffer=False Arrow holds whole row groups of all columns: ten times the memory.
        options = ds.ParquetFragmentScanOptions(pre_buffer=False) if _format(path) == "parquet" else None
        try:
            scanner = data.scanner(
                columns=list(columns), batch_size=ROWS_PER_BATCH, batch_readahead=4, fragment_scan_options=options
            )
            for batch in scanner.to_batches():
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error

    def _guard(self, path: str, ask: Any) -> Any:
        try:
            return ask(self._open(path))
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error

    def _open(self, path: str, *, as_text: Sequence[str] = ()) -> Any:
        import pyarrow.dataset as ds

        kind: Any = _format(path)
        if kind == "csv":
            from pyarrow import csv

            # Numbers are read as text and converted by us: Arrow guesses a type from the first block of a file, and
            # a 0.5 that comes after a million zeros would break the guess.
            kind = ds.CsvFileFormat(
                parse_options=csv.ParseOptions(delimiter="\t" if ".tsv" in path.lower() else ","),
                convert_options=csv.ConvertOptions(
                    column_types={name: pa.string() for name in as_text}, strings_can_be_null=True
                ),
            )
        try:
            return ds.dataset(path, format=kind)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error


def _expand(path: str) -> list[str]:
    if Path(path).is_dir():
        inside = [str(file) for file in Path(path).rglob("*") if file.is_file() and _known(str(file))]
        found = [file for file in inside if not Path(file).name.startswith((".", "_"))]
    elif Path(path).exists():
        found = [path]
    else:
        found = glob.glob(path, recursive=True)
    if not found:
        raise UsageError(
            f"no file matches {path!r}; check the path, seen from {Path.cwd().name!r}, the working folder."
        )
    return found


def _known(path: str) -> bool:
    return any(path.lower().endswith(ending) for ending in FORMATS)


def _format(path: str) -> str:
    for ending, kind in FORMATS.items():
        if path.lower().endswith(ending):
            return kind
    raise UsageError(f"{path} ends in none of {', '.join(FORMATS)}; save it as one of those.")


def _unreadable(path: str, error: Exception) -> LogsError:
    reason = str(error).splitlines()[0]
    return LogsError(
        f"{path} cannot be read as {_format(path)}: {reason}\n"
        "The file may be truncated, still being written, or of another format. Nothing was computed."
    )
