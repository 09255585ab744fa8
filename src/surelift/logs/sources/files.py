"""Rounds from files: Parquet, Arrow, CSV and JSON lines, in batches, ordered by file name."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs.batch import ROWS_PER_BATCH, Needs, TableBatch, of_one_kind, rows_per_batch
from surelift.logs.sources.copies import each_once, refuse_copies
from surelift.logs.sources.delimited import ArrowDataset, CsvFile
from surelift.logs.sources.formats import format_of
from surelift.logs.sources.json_lines import JsonLines
from surelift.logs.sources.layout import TextStyle
from surelift.logs.sources.opened import refuse_encoding
from surelift.logs.sources.parquet import ParquetFile
from surelift.logs.sources.places import expand, name_of_files, partitions_of, require_unchanged
from surelift.logs.sources.stores import StoredFile, ahead, why
from surelift.logs.where import Condition

# Files whose rows are counted before they are read, for progress.
_FEW = 100
_TEXT = ("csv", "json")
_COUNTED = ("parquet", "ipc")
COMMENTS = "comment lines, which begin with '#', above the headers"
_UNREADABLE = (pa.ArrowException, OSError, UnicodeError)
_Data = ParquetFile | ArrowDataset | CsvFile | JsonLines


class Files:
    ordered = True

    def __init__(self, paths: Sequence[str | Path], style: TextStyle = TextStyle()) -> None:
        # Their set is fixed here, for every pass: one that arrives later is not read, one that changes is refused.
        self._states, self._style = each_once(file for path in paths for file in expand(str(path))), style
        self._paths = sorted(self._states)
        self.resolved, self.reading = frozenset(state.identity for state in self._states.values()), 0
        """The number of the file that is being read."""
        self.left_out = dict[str, int]()
        """Lines that are no rounds, by reason, from the last complete pass."""
        if not self._paths:
            raise UsageError("no file was given; give a path, a glob such as 'logs/*.parquet', or a list of paths.")
        kinds = {format_of(path) for path in self._paths}
        if len(kinds) > 1:
            raise UsageError(f"the files mix formats ({', '.join(sorted(kinds))}); give files of one format.")
        if style != TextStyle() and kinds.isdisjoint(_TEXT):
            raise UsageError(f"separator and encoding are about CSV and JSON lines, but {self._paths[0]} is {kinds.pop()}.")
        refuse_copies(self._states, lambda path: format_of(path) in _TEXT or bool(_count(path)))
        self._late = list[str]()

    @property
    def called(self) -> str:
        return name_of_files(self._paths)

    @property
    def repeated(self) -> frozenset[str]:
        return _open(self._paths[0], self._style).repeated

    def column_names(self) -> list[str]:
        names = list(_open(self._paths[0], self._style).schema.names)
        return list(dict.fromkeys([*names, *partitions_of(self._paths[0]), *self._late]))

    def find_late_columns(self) -> None:
        """Read JSON lines whole for keys that first occur far below; other formats name their columns at the top."""
        for path in self._paths if format_of(self._paths[0]) == "json" else ():
            try:
                self._late += JsonLines(path, self._style).all_names()
            except _UNREADABLE as error:
                raise _read_error(path, self._style, error) from error

    def __len__(self) -> int:
        return len(self._paths)

    def quick_count(self) -> int | None:
        """The number of rows, if the files store it and are few enough to look."""
        few = len(self) <= _FEW and not isinstance(self._paths[0], StoredFile)
        return self.count() if few and all(format_of(path) in _COUNTED for path in self._paths) else None

    def count(self) -> int:
        return sum(_count(path, self._style) for path in self._paths)

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        return self.batches_between(needs, 0, sys.maxsize)

    def batches_between(self, needs: Needs, first: int, last: int) -> Iterator[TableBatch]:
        """Batches that hold the rows from ``first`` to ``last``: row groups of Parquet files without them are not read."""
        batches = self._read(needs, first, last)
        return of_one_kind(batches, set(needs.columns())) if format_of(self._paths[0]) == "json" else batches

    def _read(self, needs: Needs, first: int, last: int) -> Iterator[TableBatch]:
        columns, start = needs.columns(), 0
        as_text = frozenset(needs.read) if format_of(self._paths[0]) == "csv" else frozenset()
        self.left_out.pop(COMMENTS, None)
        opened = ahead(partial(_open, style=self._style, as_text=as_text, coded=frozenset(needs.coded)), self._paths)
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
            if absent and not isinstance(data, JsonLines):
                raise LogsError(
                    f"{path} has no column {absent[0]!r}, which {self._paths[0]} has; its columns are "
                    f"{', '.join(present)}.\nAll files must have the same columns; nothing was computed."
                )
            groups, before = None, 0
            if isinstance(data, ParquetFile) and (first > start or start + data.count() > last):
                groups, before = data.row_groups(first - start, last - start)
            start += before
            own = [name for name in columns if name not in folders]
            for table, skipped in self._tables(path, data, own, groups, needs.where, folders):
                start += skipped
                for key in folders.keys() & set(columns):
                    table = table.append_column(key, _constant(folders[key], table.num_rows))
                texts = as_text | (folders.keys() & set(columns))
                yield TableBatch(table, start, place, place_start, texts, excluded=skipped)
                start += table.num_rows
            if isinstance(data, ParquetFile):
                start = place_start + data.count()
            if isinstance(data, CsvFile):
                data.check_lines(start - place_start)
                if data.layout.comments:
                    self.left_out[COMMENTS] = self.left_out.get(COMMENTS, 0) + data.layout.comments
        for _ in ahead(lambda path: require_unchanged(path, self._states[path]), self._paths[: self.reading]):
            pass

    def _tables(
        self, path: str, data: _Data, columns: Sequence[str], groups: range | None, where: Condition | None,
        folders: dict[str, str | None],
    ) -> Iterator[tuple[Any, int]]:  # fmt: skip
        """The tables of a file, or one without rows in place of rows that cannot meet a condition, with their number."""
        if where is None or not isinstance(data, ParquetFile):
            yield from ((table, 0) for table in _scan(path, data, columns, groups, self._style))
            return
        nothing = pa.schema([data.schema.field(name) for name in columns]).empty_table()
        for run, rows, wanted in data.runs(where, folders):
            tables = _scan(path, data, columns, run, self._style)
            yield from ((table, 0) for table in tables) if wanted else [(nothing, rows)]


def _open(
    path: str, style: TextStyle, *, as_text: frozenset[str] = frozenset(), coded: frozenset[str] = frozenset()
) -> _Data:
    kind = format_of(path)
    try:
        if kind == "parquet":
            data: _Data = ParquetFile(path, coded)
        elif kind == "csv":
            data = CsvFile(path, as_text, style)
        else:
            data = JsonLines(path, style) if kind == "json" else ArrowDataset(path)
        _ = data.schema.names
        return data
    except _UNREADABLE as error:
        raise _read_error(path, style, error) from error


def _scan(path: str, data: _Data, columns: Sequence[str], groups: range | None, style: TextStyle) -> Iterator[Any]:
    size = _batch_size(data, columns)
    try:
        for batch in data.batches(columns, size, groups) if isinstance(data, ParquetFile) else data.batches(columns, size):
            if batch.num_rows:
                if isinstance(data, ArrowDataset):
                    batch.validate(full=True)  # it is mapped as it is, and may point beyond itself
                yield pa.Table.from_batches([batch])
    except _UNREADABLE as error:
        raise _read_error(path, style, error) from error


def _constant(text: str | None, rows: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array([text], pa.string()))


def _batch_size(data: Any, columns: Sequence[str]) -> int:
    """Long batches for a few plain columns, shorter ones for vectors or many columns."""
    schema = data.schema
    nested = (name in schema.names and pa.types.is_nested(schema.field(name).type) for name in columns)
    few = len(columns) <= 32 and not any(nested)
    return rows_per_batch(len(columns), most=4 * ROWS_PER_BATCH if few else ROWS_PER_BATCH)


def _count(path: str, style: TextStyle = TextStyle()) -> int:
    try:
        return _open(path, style).count()
    except _UNREADABLE as error:
        raise _read_error(path, style, error) from error


def _read_error(path: str, style: TextStyle, error: Exception) -> LogsError:
    if isinstance(path, StoredFile) and isinstance(error, OSError):
        return LogsError(f"{path} cannot be read: {why(path, error)}. Nothing was computed.")
    kind, reason = format_of(path), str(error).splitlines()[0].rpartition("': Invalid: ")[2]
    if isinstance(error, UnicodeError) or "invalid UTF8" in str(error):
        refuse_encoding(path, style.encoding)
    elif "newlines_in_values" in str(error):
        reason = "a cell contains a line break, or a quote is not closed"
    elif kind == "csv" and "Expected 1 columns" in str(error):
        return LogsError(
            f"{path} cannot be read as csv: its first line has one column and other lines have more. Name the columns in "
            "the first line; if it uses another separator, say separator=';'. Nothing was computed."
        )
    return LogsError(
        f"{path} cannot be read as {kind}: {reason}\n"
        "The file may be truncated, still being written, or in another format. Nothing was computed."
    )
