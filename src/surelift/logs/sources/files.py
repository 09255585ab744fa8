"""Rounds from Parquet, CSV and Arrow files, one batch at a time, in the order of the file names."""

import glob
import gzip
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs.batch import ROWS_PER_BATCH, Batch, Needs

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc",
    ".csv": "csv", ".tsv": "csv", ".csv.gz": "csv", ".tsv.gz": "csv",
}  # fmt: skip


class Files:
    ordered = True

    def __init__(self, paths: Sequence[str | Path]) -> None:
        # By what they are on disk: a file named twice, by a link or another path, would count its rounds twice.
        found = {_identity(file): file for path in paths for file in expand(str(path))}
        self._paths = sorted(found.values())
        self.resolved = frozenset(found)
        if not self._paths:
            raise UsageError("no file was named; give a path, a glob such as 'logs/*.parquet', or a list of paths.")
        kinds = {_format(path) for path in self._paths}
        if len(kinds) > 1:
            raise UsageError(f"the files mix formats ({', '.join(sorted(kinds))}); give files of one format.")

    @property
    def called(self) -> str:
        """The name of the file, or of the first of several."""
        more = len(self._paths) - 1
        return Path(self._paths[0]).name + (f" and {more:,} more" if more else "")

    def column_names(self) -> list[str]:
        names = list(_open(self._paths[0]).schema.names)
        return names + [key for key in _partitions(self._paths[0]) if key not in names]

    def quick_count(self) -> int | None:
        """The number of rows, where the files tell it without being read."""
        return self.count() if all(_format(path) != "csv" for path in self._paths) else None

    def count(self) -> int:
        return sum(_count(path) for path in self._paths)

    def batches(self, needs: Needs) -> Iterator[Batch]:
        columns, start = needs.columns(), 0
        for path in self._paths:
            place, place_start = (path if len(self._paths) > 1 else ""), start
            as_text = frozenset(needs.read) if _format(path) == "csv" else frozenset()
            data = _open(path, as_text=as_text)
            # Folders called key=value hold the column key, as Spark and Hive write it.
            folders = {key: value for key, value in _partitions(path).items() if key not in data.schema.names}
            absent = [name for name in columns if name not in data.schema.names and name not in folders]
            if absent:
                raise LogsError(
                    f"{path} has no column {absent[0]!r}, which {self._paths[0]} has; its columns are "
                    f"{', '.join(data.schema.names)}.\nGive files of one layout; nothing was computed from the others."
                )
            for table in _scan(path, data, [name for name in columns if name not in folders]):
                for key in folders.keys() & set(columns):
                    table = table.append_column(key, pa.array([folders[key]] * table.num_rows, pa.string()))
                yield Batch(table, start, place, place_start, as_text | (folders.keys() & set(columns)))
                start += table.num_rows
            if _format(path) == "csv":
                _check_lines(path, start - place_start)


def _open(path: str, *, as_text: frozenset[str] = frozenset()) -> Any:
    import pyarrow.dataset as ds

    kind: Any = _format(path)
    if kind == "csv":
        from pyarrow import csv

        # Numbers are read as text and converted by us: Arrow guesses a type from the first block of a file, and
        # a 0.5 that comes after a million zeros would break the guess.
        kind = ds.CsvFileFormat(
            parse_options=csv.ParseOptions(delimiter="\t" if _ending(path).startswith(".tsv") else ","),
            convert_options=csv.ConvertOptions(column_types={name: pa.string() for name in as_text}),
        )
    try:
        return ds.dataset(path, format=kind)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _scan(path: str, data: Any, columns: Sequence[str]) -> Iterator[Any]:
    import pyarrow.dataset as ds

    # Without pre_buffer=False Arrow holds whole row groups of all columns: ten times the memory.
    options = ds.ParquetFragmentScanOptions(pre_buffer=False) if _format(path) == "parquet" else None
    try:
        scanner = data.scanner(
            columns=list(columns),
            batch_size=_batch_size(data, columns),
            batch_readahead=4,
            fragment_scan_options=options,
        )
        for batch in scanner.to_batches():
            if batch.num_rows:
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _partitions(path: str) -> dict[str, str]:
    """The columns that folders on the way to a file stand for.

    >>> _partitions("logs/day=2024-03-01/country=FR/part-0.parquet")
    {'day': '2024-03-01', 'country': 'FR'}
    """
    pairs = (part.split("=", 1) for part in Path(path).parent.parts if "=" in part)
    return {key: unquote(value) for key, value in pairs if key}


def _batch_size(data: Any, columns: Sequence[str]) -> int:
    """Long batches for a few plain columns, shorter ones for vectors and for many columns: about the same memory."""
    nested = any(pa.types.is_nested(data.schema.field(name).type) for name in columns)
    return ROWS_PER_BATCH if nested else min(2 * ROWS_PER_BATCH, max(ROWS_PER_BATCH, (1 << 22) // max(len(columns), 1)))


def _count(path: str) -> int:
    try:
        return int(_open(path).count_rows())
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _check_lines(path: str, rows: int) -> None:
    """A quote that is never closed swallows the rows after it without an error; their number gives it away."""
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        lines = sum(1 for line in file if line.strip(b"\r\n"))
    if lines != rows + 1:
        raise LogsError(
            f"{path} has {lines - 1:,} lines below its header, but {rows:,} rows: a quote that is never closed, or a cell "
            "with a line break, joins lines.\nMend the file, or save it as Parquet; nothing was computed."
        )


def expand(path: str) -> list[str]:
    """The files that a path, a folder or a glob stands for; a folder may bear the name of a file, as Spark's do."""
    if Path(path).is_dir():
        found = _inside(path)
    elif Path(path).exists():
        found = [path]
    else:
        matched = glob.glob(path, recursive=True)
        found = [file for one in matched for file in (_inside(one) if Path(one).is_dir() else [one])]
    if not found:
        raise UsageError(
            f"no file matches {path!r}; check the path, seen from {str(Path.cwd())!r}, the working folder."
        )
    return found


def _inside(folder: str) -> list[str]:
    files = []
    for file in Path(folder).rglob("*"):
        # Folders such as _temporary and .ipynb_checkpoints hold copies; _day=1 is one that holds a column.
        aside = any(
            part.startswith(".") or (part[0] == "_" and "=" not in part) for part in file.relative_to(folder).parts
        )
        if not aside and not file.is_dir() and _ending(str(file)):
            files.append(str(file))
    return files


def _identity(file: str) -> tuple[int, int]:
    try:
        found = os.stat(file)
    except OSError as error:
        raise LogsError(f"{file} cannot be read: {error.strerror}. Nothing was computed.") from error
    return found.st_dev, found.st_ino


def _ending(path: str) -> str:
    """The longest known ending of a file name, or nothing."""
    name = Path(path).name.lower()
    return max((ending for ending in FORMATS if name.endswith(ending)), key=len, default="")


def _format(path: str) -> str:
    ending = _ending(path)
    if not ending:
        raise UsageError(f"{path} ends in none of {', '.join(FORMATS)}; save it as one of those.")
    if ending.endswith(".gz") and not path.endswith(".gz"):
        raise UsageError(f"{path}: a gzipped file must end in '.gz', in small letters; rename it.")
    return FORMATS[ending]


def _unreadable(path: str, error: Exception) -> LogsError:
    reason = str(error).splitlines()[0]
    if "newlines_in_values" in str(error):
        reason = "a cell holds a line break, or a quote is never closed"
    elif _format(path) == "csv" and "Expected 1 columns" in str(error):
        return LogsError(
            f"{path} cannot be read as csv: its first line holds one column and others hold more. If its separator is a "
            "semicolon and its decimals have commas, save it with commas and points, or as Parquet; nothing was computed."
        )
    return LogsError(
        f"{path} cannot be read as {_format(path)}: {reason}\n"
        "The file may be truncated, still being written, or of another format. Nothing was computed."
    )
