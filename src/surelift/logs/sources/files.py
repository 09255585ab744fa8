"""Rounds from files: Parquet, Arrow, CSV and JSON lines, in batches, ordered by file name."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.errors import LogsError, UsageError, first_line
from surelift.logs.batch import ROWS_PER_BATCH, Needs, TableBatch, of_one_kind, rows_per_batch
from surelift.logs.sources.delimited import ArrowFile, CsvFile
from surelift.logs.sources.formats import format_of
from surelift.logs.sources.json_lines import JsonLines
from surelift.logs.sources.parquet import ParquetFile
from surelift.logs.sources.places import each_once, expand, name_of_files, partitions_of, refuse_copies, require_unchanged
from surelift.logs.sources.stores import StoredFile, ahead, why
from surelift.logs.sources.text_files import PLAIN, TextStyle, refuse_encoding

# Files whose rows are counted before they are read, for progress.
_FEW = 100
_TEXT = ("csv", "json")
COMMENTS = "comment lines, which begin with '#', above the headers"
_Data = ParquetFile | ArrowFile | CsvFile | JsonLines


class Files:
    ordered = skips_rows = True

    def __init__(self, paths: Sequence[str | Path], style: TextStyle = PLAIN) -> None:
        # Their set is fixed here, for every pass: one that arrives later is not read, one that changes is refused.
        self._states, self._style = each_once(file for path in paths for file in expand(str(path))), style
        self._paths = sorted(self._states)
        self.resolved, self.reading = frozenset(state.identity for state in self._states.values()), 0
        """The number of the file that is being read."""
        self.left_out = dict[str, int]()  # lines that are no rounds, by reason, from the last complete pass
        self._late = list[str]()
        kinds = {format_of(path) for path in self._paths}
        if not self._paths:
            problem = "no file was given; give a path, a glob such as 'logs/*.parquet', or a list of paths."
        elif len(kinds) > 1:
            problem = f"the files mix formats ({', '.join(sorted(kinds))}); give files of one format."
        elif style != PLAIN and kinds.isdisjoint(_TEXT):
            problem = f"separator and encoding are about CSV and JSON lines, but {self._paths[0]} is {min(kinds)}."
        else:
            problem = ""
        if problem:
            raise UsageError(problem)
        (self._kind,) = kinds
        refuse_copies(self._states, lambda path: self._kind in _TEXT or bool(self._count([path])))

    @property
    def called(self) -> str:
        return name_of_files(self._paths)

    @property
    def repeated(self) -> frozenset[str]:
        return self._open(self._paths[0]).repeated

    def column_names(self) -> list[str]:
        names = self._open(self._paths[0]).schema.names
        return list(dict.fromkeys([*names, *partitions_of(self._paths[0]), *self._late]))

    def find_late_columns(self) -> None:
        """Read JSON lines whole for keys that first occur far below; other formats name their columns at the top."""
        for path in self._paths if self._kind == "json" else ():
            with self._reading(path):
                self._late += JsonLines(path, self._style).all_names()

    def __len__(self) -> int:
        return len(self._paths)

    def quick_count(self) -> int | None:
        """The number of rows, if the files store it and are few enough to look."""
        few = len(self) <= _FEW and not isinstance(self._paths[0], StoredFile)
        return self.count() if few and self._kind not in _TEXT else None

    def count(self) -> int:
        return self._count(self._paths)

    def batches(self, needs: Needs, first: int = 0, last: int = sys.maxsize) -> Iterator[TableBatch]:
        """Batches that hold the rows from ``first`` to ``last``: row groups of Parquet files without them are not read."""
        batches = self._read(needs, first, last)
        return of_one_kind(batches, needs.columns()) if self._kind == "json" else batches

    def _read(self, needs: Needs, first: int, last: int) -> Iterator[TableBatch]:
        columns, start = needs.columns(), 0
        as_text = frozenset(needs.read) if self._kind == "csv" else frozenset()
        self.left_out.pop(COMMENTS, None)
        opened = ahead(partial(self._open, as_text=as_text, coded=frozenset(needs.coded)), self._paths)
        for number, (path, data) in enumerate(zip(self._paths, opened, strict=True)):
            if start >= last:
                break
            self.reading = number + 1
            place, place_start = (path if len(self._paths) > 1 else ""), start
            # Spark and Hive store the column ``key`` in folders named key=value.
            present = dict.fromkeys(data.schema.names)
            folders = {key: value for key, value in partitions_of(path).items() if key not in present}
            absent = [name for name in columns if name not in present and name not in folders]
            if absent and (absent[0] in data.repeated or not isinstance(data, JsonLines)):
                problem = f"{path} has several columns {absent[0]!r}; rename all but one."
                if absent[0] not in data.repeated:
                    problem = (
                        f"{path} has no column {absent[0]!r}, which {self._paths[0]} has; its columns are "
                        f"{', '.join(present)}.\nAll files must have the same columns."
                    )
                raise LogsError(f"{problem} Nothing was computed.")
            groups = None
            if isinstance(data, ParquetFile) and (first > start or start + data.count() > last):
                groups, before = data.row_groups(first - start, last - start)
                start += before
            own = [name for name in columns if name not in folders]
            added = folders.keys() & set(columns)
            for table, skipped in self._tables(path, data, own, groups, needs, folders):
                start += skipped
                for key in added:
                    codes = pa.array(np.zeros(table.num_rows, dtype=np.int32))
                    constant = pa.DictionaryArray.from_arrays(codes, pa.array([folders[key]], pa.string()))
                    table = table.append_column(key, constant)
                yield TableBatch(table, start, place, place_start, as_text | added, excluded=skipped)
                start += table.num_rows
            if isinstance(data, ParquetFile):
                start = place_start + data.count()
            elif isinstance(data, CsvFile):
                data.check_lines(start - place_start)
                if data.layout.comments:
                    self.left_out[COMMENTS] = self.left_out.get(COMMENTS, 0) + data.layout.comments
        for _ in ahead(lambda path: require_unchanged(path, self._states[path]), self._paths[: self.reading]):
            pass

    def _tables(
        self, path: str, data: _Data, columns: Sequence[str], groups: range | None, needs: Needs,
        folders: Mapping[str, str | None],
    ) -> Iterator[tuple[Any, int]]:  # fmt: skip
        """The tables of a file, or one without rows in place of rows that cannot meet the condition, with their number."""
        runs: Iterator[tuple[range | None, int, bool]] = iter([(groups, 0, True)])
        if needs.where is not None and isinstance(data, ParquetFile):
            runs = data.runs(needs.where, folders)
        schema = data.schema
        nested = (name in schema.names and pa.types.is_nested(schema.field(name).type) for name in columns)
        # Long batches for a few plain columns, shorter ones for vectors or many columns.
        few = len(columns) <= 32 and not any(nested)
        size = rows_per_batch(len(columns), most=4 * ROWS_PER_BATCH if few else ROWS_PER_BATCH)
        for run, rows, wanted in runs:
            if not wanted:
                yield pa.schema([schema.field(name) for name in columns]).empty_table(), rows
                continue
            of_groups = (run,) if isinstance(data, ParquetFile) else ()
            with self._reading(path):
                for batch in data.batches(columns, size, *of_groups):
                    if batch.num_rows:
                        if isinstance(data, ArrowFile):
                            batch.validate(full=True)  # it is mapped as it is, and may point beyond itself
                        yield pa.Table.from_batches([batch]), 0

    def _open(self, path: str, as_text: frozenset[str] = frozenset(), coded: frozenset[str] = frozenset()) -> _Data:
        data: _Data
        with self._reading(path):
            if self._kind == "parquet":
                data = ParquetFile(path, coded)
            elif self._kind == "csv":
                data = CsvFile(path, as_text, self._style)
            else:
                data = JsonLines(path, self._style) if self._kind == "json" else ArrowFile(path)
        return data

    def _count(self, paths: Sequence[str]) -> int:
        rows = 0
        for path in paths:
            with self._reading(path):
                rows += self._open(path).count()
        return rows

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        """Report in a sentence why a file cannot be read."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeError) as error:
            found = first_line(error).rpartition("': Invalid: ")[2]
            reason = f" as {self._kind}: {found}"
            remedy = "\nThe file may be truncated, still being written, or in another format."
            if isinstance(path, StoredFile) and isinstance(error, OSError):
                reason, remedy = f": {why(path, error)}", "."
            elif isinstance(error, UnicodeError) or "invalid UTF8" in str(error):
                refuse_encoding(path, self._style.encoding)
            elif "newlines_in_values" in str(error):
                reason = f" as {self._kind}: a cell contains a line break, or a quote is not closed"
            elif self._kind == "csv" and "Expected 1 columns" in str(error):
                reason = " as csv: its first line has one column and other lines have more."
                remedy = " Name the columns in the first line; if it uses another separator, say separator=';'."
            raise LogsError(f"{path} cannot be read{reason}{remedy} Nothing was computed.") from error
