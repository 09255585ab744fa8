"""Rounds from Parquet, CSV and Arrow files, in batches, ordered by file name."""

import hashlib
import os
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs.batch import ROWS_PER_BATCH, Batch, Needs, rows_per_batch
from surelift.logs.sources.parquet import ParquetFile
from surelift.logs.sources.repeated import header_of, repeated_in, without_repeated
from surelift.logs.where import Condition
from surelift.saving import exists

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc",
    ".csv": "csv", ".tsv": "csv", ".csv.gz": "csv", ".tsv.gz": "csv",
}  # fmt: skip
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".br", ".snappy", ".zip")
_BLOCK = 1 << 20
# Marks the columns of a file whose name occurs more than once.
_AGAIN = "\0"
# Bytes from which a file does not hold the same rounds as another by chance.
_TELLING = 1 << 12


class Files:
    ordered = True

    def __init__(self, paths: Sequence[str | Path]) -> None:
        # Identify files by inode: a file given twice, through a link or another path, would count its rounds twice.
        files = {_identity(file): file for path in paths for file in expand(str(path))}
        self._paths = sorted(files.values())
        self.resolved = frozenset(files)
        if not self._paths:
            raise UsageError("no file was given; give a path, a glob such as 'logs/*.parquet', or a list of paths.")
        kinds = {_format(path) for path in self._paths}
        if len(kinds) > 1:
            raise UsageError(f"the files mix formats ({', '.join(sorted(kinds))}); give files of one format.")
        _refuse_copies(self._paths)

    @property
    def called(self) -> str:
        return name_of_files(self._paths)

    @property
    def repeated(self) -> frozenset[str]:
        return _open(self._paths[0]).repeated

    def column_names(self) -> list[str]:
        names = list(_open(self._paths[0]).schema.names)
        return names + [key for key in _partitions(self._paths[0]) if key not in names]

    def quick_count(self) -> int | None:
        """The number of rows, if the files store it."""
        return self.count() if all(_format(path) != "csv" for path in self._paths) else None

    def count(self) -> int:
        return sum(_count(path) for path in self._paths)

    def batches(self, needs: Needs) -> Iterator[Batch]:
        return self.batches_between(needs, 0, sys.maxsize)

    def batches_between(self, needs: Needs, first: int, last: int) -> Iterator[Batch]:
        """Batches that hold the rows from ``first`` to ``last``: row groups of Parquet files without them are not read."""
        columns, start = needs.columns(), 0
        for path in self._paths:
            if start >= last:
                return
            place, place_start = (path if len(self._paths) > 1 else ""), start
            as_text = frozenset(needs.read) if _format(path) == "csv" else frozenset()
            data = _open(path, as_text=as_text, coded=frozenset(needs.coded))
            # Spark and Hive store the column ``key`` in folders named key=value.
            present = dict.fromkeys(data.schema.names)
            folders = {key: value for key, value in _partitions(path).items() if key not in present}
            absent = [name for name in columns if name not in present and name not in folders]
            if absent and absent[0] in data.repeated:
                raise LogsError(f"{path} has several columns {absent[0]!r}; rename all but one. Nothing was computed.")
            if absent:
                raise LogsError(
                    f"{path} has no column {absent[0]!r}, which {self._paths[0]} has; its columns are "
                    f"{', '.join(present)}.\nAll files must have the same columns; nothing was computed."
                )
            groups, before = None, 0
            if isinstance(data, ParquetFile) and (first > start or start + data.count() > last):
                groups, before = data.row_groups(first - start, last - start)
            start += before
            own = [name for name in columns if name not in folders]
            for table, skipped in _tables(path, data, own, groups, needs.where, folders):
                start += skipped
                for key in folders.keys() & set(columns):
                    table = table.append_column(key, _constant(folders[key], table.num_rows))
                texts = as_text | (folders.keys() & set(columns))
                yield Batch(table, start, place, place_start, texts, excluded=skipped)
                start += table.num_rows
            if isinstance(data, ParquetFile):
                start = place_start + data.count()
            if _format(path) == "csv":
                _check_lines(path, start - place_start)


def _refuse_copies(paths: Sequence[str]) -> None:
    """Refuse files with the same bytes, whose rounds would count twice; small ones may well be the same."""
    sizes = Counter(size for path in paths if (size := os.stat(path).st_size) >= _TELLING) if len(paths) > 1 else {}
    known = dict[bytes, str]()
    for path in paths:
        if sizes.get(os.stat(path).st_size, 0) > 1 and (_format(path) == "csv" or _count(path)):
            with open(path, "rb") as file:
                twin = known.setdefault(hashlib.file_digest(file, "sha256").digest(), path)
            if twin != path:
                raise LogsError(f"{path} is a copy of {twin}: its rounds would count twice. Leave one of them out.")


class _Dataset:
    """A CSV or Arrow file."""

    def __init__(self, path: str, as_text: frozenset[str]) -> None:
        import pyarrow.dataset as ds

        kind, self.repeated = _format(path), frozenset[str]()
        read: Any = _csv_format(path, as_text) if kind == "csv" else kind
        try:
            self._data = ds.dataset(path, format=read)
        except pa.ArrowInvalid as error:
            if "multiple columns named" not in str(error) and "duplicate field names" not in str(error):
                raise
            if kind == "csv":
                names = header_of(path, _separator(path))
                self.repeated = repeated_in(names)
                apart = [
                    f"{name}{_AGAIN}{place}" if name in self.repeated else name for place, name in enumerate(names)
                ]
                self._data = ds.dataset(path, format=_csv_format(path, as_text, column_names=apart, skip_rows=1))
            else:
                table, self.repeated = without_repeated(pa.ipc.open_file(pa.memory_map(path)).read_all())
                self._data = ds.dataset(table)
        self.schema = pa.schema([field for field in self._data.schema if _AGAIN not in field.name])

    def count(self) -> int:
        return int(self._data.count_rows())

    def batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        return iter(self._data.scanner(list(columns), batch_size=size, batch_readahead=4).to_batches())


def _separator(path: str) -> str:
    return "\t" if _extension(path).startswith(".tsv") else ","


def _csv_format(path: str, as_text: frozenset[str], **read: Any) -> Any:
    """Numbers are read as text and converted by us: Arrow infers types from the first block of a file, and a 0.5 after a
    million zeros would not fit the inferred type.
    """
    import pyarrow.dataset as ds
    from pyarrow import csv

    return ds.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter=_separator(path)), read_options=csv.ReadOptions(**read),
        convert_options=csv.ConvertOptions(column_types={name: pa.string() for name in as_text}),
    )  # fmt: skip


def _open(
    path: str, *, as_text: frozenset[str] = frozenset(), coded: frozenset[str] = frozenset()
) -> ParquetFile | _Dataset:
    try:
        data = ParquetFile(path, coded) if _format(path) == "parquet" else _Dataset(path, as_text)
        _ = data.schema.names
        return data
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _read_error(path, error) from error


def _scan(path: str, data: ParquetFile | _Dataset, columns: Sequence[str], groups: range | None) -> Iterator[Any]:
    size = _batch_size(data, columns)
    try:
        for batch in (
            data.batches(columns, size, groups) if isinstance(data, ParquetFile) else data.batches(columns, size)
        ):
            if batch.num_rows:
                if _format(path) == "ipc":
                    batch.validate(full=True)  # it is mapped as it is, and may point beyond itself
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise _read_error(path, error) from error


def _tables(
    path: str, data: ParquetFile | _Dataset, columns: Sequence[str], groups: range | None, where: Condition | None,
    folders: dict[str, str],
) -> Iterator[tuple[Any, int]]:  # fmt: skip
    """The tables of a file, or one without rows in place of rows that cannot meet a condition, with their number."""
    if where is None or not isinstance(data, ParquetFile):
        yield from ((table, 0) for table in _scan(path, data, columns, groups))
        return
    nothing = pa.schema([data.schema.field(name) for name in columns]).empty_table()
    for run, rows, wanted in data.runs(where, folders):
        yield from ((table, 0) for table in _scan(path, data, columns, run)) if wanted else [(nothing, rows)]


def _constant(text: str, rows: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array([text], pa.string()))


def _partitions(path: str) -> dict[str, str]:
    """The columns encoded in the folder names of a path.

    >>> _partitions("logs/day=2024-03-01/country=FR/part-0.parquet")
    {'day': '2024-03-01', 'country': 'FR'}
    """
    pairs = (part.split("=", 1) for part in Path(path).parent.parts if "=" in part)
    return {key: unquote(value) for key, value in pairs if key}


def _batch_size(data: Any, columns: Sequence[str]) -> int:
    """Long batches for a few plain columns, shorter ones for vectors or many columns."""
    schema = data.schema
    few = len(columns) <= 32 and not any(pa.types.is_nested(schema.field(name).type) for name in columns)
    return rows_per_batch(len(columns), most=4 * ROWS_PER_BATCH if few else ROWS_PER_BATCH)


def _count(path: str) -> int:
    try:
        return _open(path).count()
    except (pa.ArrowException, OSError) as error:
        raise _read_error(path, error) from error


def _check_lines(path: str, rows: int) -> None:
    """Detect an unclosed quote, which silently swallows the rows after it, by counting lines."""
    import gzip

    lines, at_start = 0, True
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        while block := file.read(_BLOCK):
            read = np.frombuffer(block, np.uint8)
            ends = (read == ord("\n")) | (read == ord("\r"))
            lines += int(np.count_nonzero(~ends[1:] & ends[:-1])) + (at_start and not ends[0])
            at_start = bool(ends[-1])
    if lines != rows + 1:
        raise LogsError(
            f"{path} has {lines - 1:,} lines below its header, but {rows:,} rows: an unclosed quote, or a line break inside "
            "a cell, joins lines.\nFix the file, or save it as Parquet; nothing was computed."
        )


def expand(path: str) -> list[str]:
    """The files that a path, folder or glob stands for; a folder may have a file extension, as Spark's do."""
    if exists(path):
        files = _files_in(path) if os.path.isdir(path) else [path]
    else:
        from glob import glob

        matched = glob(path, recursive=True)
        files = [file for match in matched for file in (_files_in(match) if os.path.isdir(match) else [match])]
    if not files:
        raise UsageError(
            f"no file matches {path!r}; check the path, relative to the working folder {str(Path.cwd())!r}."
        )
    return files


def _files_in(folder: str) -> list[str]:
    files, entered = [], set[str]()
    for place, folders, names in os.walk(folder, onerror=_unreadable, followlinks=True):
        entered.add(os.path.realpath(place))
        # Folders such as _temporary and .ipynb_checkpoints hold copies; _day=1 holds a column. Links may lead back.
        folders[:] = [
            name for name in folders if not _hidden(name) and os.path.realpath(Path(place, name)) not in entered
        ]
        files += [str(Path(place, name)) for name in names if not _hidden(name) and _holds_rounds(name)]
    return files


def _holds_rounds(name: str) -> bool:
    """Also in a compression that is not read: such files are refused, not left out."""
    inner, last = os.path.splitext(name)
    return bool(_extension(name) or (last.lower() in _COMPRESSED and _extension(inner)))


def _hidden(name: str) -> bool:
    return name[0] == "." or (name[0] == "_" and "=" not in name)


def _unreadable(error: OSError) -> None:
    """A folder that cannot be looked into would be left out."""
    raise LogsError(f"{error.filename} cannot be read: {error.strerror}. Nothing was computed.") from error


def name_of_files(paths: Sequence[str]) -> str:
    """The name of the file, or of the first of several."""
    return Path(paths[0]).name + (f" and {len(paths) - 1:,} more" if len(paths) > 1 else "")


def _identity(file: str) -> tuple[int, int]:
    try:
        status = os.stat(file)
    except OSError as error:
        raise LogsError(f"{file} cannot be read: {error.strerror}. Nothing was computed.") from error
    if not stat.S_ISREG(status.st_mode):
        raise LogsError(
            f"{file} is a pipe or a device, which is read only once; save it to a file. Nothing was computed."
        )
    return status.st_dev, status.st_ino


def _extension(path: str) -> str:
    """The longest known file extension of a path, or an empty string."""
    name = Path(path).name.lower()
    return max((ending for ending in FORMATS if name.endswith(ending)), key=len, default="")


def _format(path: str) -> str:
    ending = _extension(path)
    if not ending:
        raise UsageError(f"{path} has none of the extensions {', '.join(FORMATS)}; save it in one of those formats.")
    if ending.endswith(".gz") and not path.endswith(".gz"):
        raise UsageError(f"{path}: the extension of a gzipped file must be lowercase '.gz'; rename it.")
    return FORMATS[ending]


def _read_error(path: str, error: Exception) -> LogsError:
    reason = str(error).splitlines()[0].rpartition("': Invalid: ")[2]
    if isinstance(error, UnicodeDecodeError):
        reason = f"a column name is not UTF-8 text: {error.object!r}; save the file as UTF-8."
    elif "newlines_in_values" in str(error):
        reason = "a cell contains a line break, or a quote is not closed"
    elif _format(path) == "csv" and "Expected 1 columns" in str(error):
        return LogsError(
            f"{path} cannot be read as csv: its first line has one column and other lines have more. If it uses semicolons "
            "as separators and decimal commas, save it with commas and decimal points, or as Parquet; nothing was computed."
        )
    return LogsError(
        f"{path} cannot be read as {_format(path)}: {reason}\n"
        "The file may be truncated, still being written, or in another format. Nothing was computed."
    )
