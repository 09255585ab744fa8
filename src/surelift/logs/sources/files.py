"""Rounds from Parquet, CSV and Arrow files, in batches, ordered by file name."""

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs.batch import ROWS_PER_BATCH, Batch, Needs, rows_per_batch
from surelift.logs.sources.delimited import ArrowDataset, check_lines
from surelift.logs.sources.formats import format_of
from surelift.logs.sources.parquet import ParquetFile
from surelift.logs.sources.places import (
    FileState,
    expand,
    name_of_files,
    partitions_of,
    raw,
    require_unchanged,
    state_of,
)  # fmt: skip
from surelift.logs.sources.stores import StoredFile, ahead, why

# Bytes from which a file does not hold the same rounds as another by chance.
_TELLING = 1 << 12
_ENDS, _BLOCK = 1 << 12, 1 << 20
# Files whose rows are counted before they are read, for progress.
_FEW = 100


class Files:
    ordered = True

    def __init__(self, paths: Sequence[str | Path]) -> None:
        # Identify files by inode: a file given twice, through a link or another path, would count its rounds twice.
        # Their set is fixed here, for every pass: one that arrives later is not read, one that changes is refused.
        states = {file: state_of(file) for path in paths for file in expand(str(path))}
        files = {state.identity: file for file, state in states.items()}
        self._paths, self._states = sorted(files.values()), states
        self.resolved, self.reading = frozenset(files), 0
        """The number of the file that is being read."""
        if not self._paths:
            raise UsageError("no file was given; give a path, a glob such as 'logs/*.parquet', or a list of paths.")
        kinds = {format_of(path) for path in self._paths}
        if len(kinds) > 1:
            raise UsageError(f"the files mix formats ({', '.join(sorted(kinds))}); give files of one format.")
        _refuse_copies(self._paths, states)

    @property
    def called(self) -> str:
        return name_of_files(self._paths)

    @property
    def repeated(self) -> frozenset[str]:
        return _open(self._paths[0]).repeated

    def column_names(self) -> list[str]:
        names = list(_open(self._paths[0]).schema.names)
        return names + [key for key in partitions_of(self._paths[0]) if key not in names]

    def __len__(self) -> int:
        return len(self._paths)

    def quick_count(self) -> int | None:
        """The number of rows, if the files store it and are few enough to look."""
        few = len(self) <= _FEW and not isinstance(self._paths[0], StoredFile)
        return self.count() if few and all(format_of(path) != "csv" for path in self._paths) else None

    def count(self) -> int:
        return sum(_count(path) for path in self._paths)

    def batches(self, needs: Needs) -> Iterator[Batch]:
        return self.batches_between(needs, 0, sys.maxsize)

    def batches_between(self, needs: Needs, first: int, last: int) -> Iterator[Batch]:
        """Batches that hold the rows from ``first`` to ``last``: row groups of Parquet files without them are not read."""
        columns, start, text = needs.columns(), 0, format_of(self._paths[0]) == "csv"
        as_text, coded = frozenset(needs.read) if text else frozenset(), frozenset(needs.coded)
        opened = ahead(partial(_open, as_text=as_text, coded=coded), self._paths)
        for number, (path, data) in enumerate(zip(self._paths, opened, strict=True)):
            if start >= last:
                break
            self.reading = number + 1
            place, place_start = (path if len(self._paths) > 1 else ""), start
            # Spark and Hive store the column ``key`` in folders named key=value.
            present = dict.fromkeys(data.schema.names)
            folders = {key: value for key, value in partitions_of(path).items() if key not in present}
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
            for table in _scan(path, data, [name for name in columns if name not in folders], groups):
                for key in folders.keys() & set(columns):
                    table = table.append_column(key, _constant(folders[key], table.num_rows))
                yield Batch(table, start, place, place_start, as_text | (folders.keys() & set(columns)))
                start += table.num_rows
            if isinstance(data, ParquetFile):
                start = place_start + data.count()
            if text:
                check_lines(path, start - place_start)
        for _ in ahead(lambda path: require_unchanged(path, self._states[path]), self._paths[: self.reading]):
            pass


def _refuse_copies(paths: Sequence[str], states: Mapping[str, FileState]) -> None:
    """Refuse files with the same bytes, whose rounds would count twice; small ones may well be the same."""
    alike = dict[Any, list[str]]()
    for path in paths if len(paths) > 1 else ():
        if (size := states[path].size or 0) >= _TELLING:
            alike.setdefault(size, []).append(path)
    # Whole files are compared only where their ends do not tell them apart.
    for digest in (_digest_of_ends, _digest):
        suspects = [path for group in alike.values() if len(group) > 1 for path in group]
        alike = {}
        for path, told in zip(suspects, ahead(digest, suspects), strict=True):
            alike.setdefault((states[path].size, told), []).append(path)
    for first, *others in alike.values():
        if others and (format_of(first) == "csv" or _count(first)):
            raise LogsError(f"{others[0]} is a copy of {first}: its rounds would count twice. Leave one of them out.")


def _digest_of_ends(path: str) -> bytes:
    with raw(path) as file:
        ends = file.read(_ENDS)
        file.seek(max(file.size() - _ENDS, 0))
        return hashlib.sha256(ends + file.read(_ENDS)).digest()


def _digest(path: str) -> bytes:
    digest = hashlib.sha256()
    with raw(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.digest()


def _open(
    path: str, *, as_text: frozenset[str] = frozenset(), coded: frozenset[str] = frozenset()
) -> ParquetFile | ArrowDataset:
    try:
        data = ParquetFile(path, coded) if format_of(path) == "parquet" else ArrowDataset(path, as_text)
        _ = data.schema.names
        return data
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _read_error(path, error) from error


def _scan(path: str, data: ParquetFile | ArrowDataset, columns: Sequence[str], groups: range | None) -> Iterator[Any]:
    size = _batch_size(data, columns)
    try:
        for batch in (
            data.batches(columns, size, groups) if isinstance(data, ParquetFile) else data.batches(columns, size)
        ):
            if batch.num_rows:
                if format_of(path) == "ipc":
                    batch.validate(full=True)  # it is mapped as it is, and may point beyond itself
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise _read_error(path, error) from error


def _constant(text: str, rows: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array([text], pa.string()))


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


def _read_error(path: str, error: Exception) -> LogsError:
    if isinstance(path, StoredFile) and isinstance(error, OSError):
        return LogsError(f"{path} cannot be read: {why(path, error)}. Nothing was computed.")
    reason = str(error).splitlines()[0].rpartition("': Invalid: ")[2]
    if isinstance(error, UnicodeDecodeError):
        reason = f"a column name is not UTF-8 text: {error.object!r}; save the file as UTF-8."
    elif "newlines_in_values" in str(error):
        reason = "a cell contains a line break, or a quote is not closed"
    elif format_of(path) == "csv" and "Expected 1 columns" in str(error):
        return LogsError(
            f"{path} cannot be read as csv: its first line has one column and other lines have more. If it uses semicolons "
            "as separators and decimal commas, save it with commas and decimal points, or as Parquet; nothing was computed."
        )
    return LogsError(
        f"{path} cannot be read as {format_of(path)}: {reason}\n"
        "The file may be truncated, still being written, or in another format. Nothing was computed."
    )
