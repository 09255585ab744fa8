"""CSV and Arrow files."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.errors import LogsError
from surelift.logs.batch import repeated_in
from surelift.logs.sources.places import raw
from surelift.logs.sources.text_files import TextStyle, layout_of, opened_text

_BLOCK = 1 << 20
_AGAIN = "\0"  # marks the columns of a file whose name occurs more than once


class CsvFile:
    """Numbers are read as text: Arrow infers types from the first block of a file, and a late 0.5 would not fit zeros."""

    def __init__(self, path: str, as_text: frozenset[str], style: TextStyle) -> None:
        self._path, self._as_text, self.layout = path, as_text, layout_of(path, style)
        self._names: list[str] | None = None
        with self._reader((), as_text) as reader:
            schema = reader.schema
        self.repeated = repeated_in(schema.names)
        if self.repeated:
            names = enumerate(schema.names)
            self._names = [f"{name}{_AGAIN}{place}" if name in self.repeated else name for place, name in names]
        self.schema = pa.schema([field for field in schema if field.name not in self.repeated])

    def count(self) -> int:
        first = self.schema.names[:1]
        with self._reader(first, frozenset(first)) as reader:
            return sum(batch.num_rows for batch in reader)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        with self._reader(columns, self._as_text) as reader:
            for batch in reader:
                yield from (batch.slice(first, size) for first in range(0, batch.num_rows, size))

    def check_lines(self, rows: int) -> None:
        """Detect an unclosed quote, which silently swallows the rows after it, by counting lines."""
        lines, at_start = 0, True
        with self._from_header() as file:
            while block := file.read(_BLOCK):
                read = np.frombuffer(block, np.uint8)
                ends = (read == ord("\n")) | (read == ord("\r"))
                lines += int(np.count_nonzero(~ends[1:] & ends[:-1])) + (at_start and not ends[0])
                at_start = bool(ends[-1])
        if lines != rows + 1:
            raise LogsError(
                f"{self._path} has {lines - 1:,} lines below its header, but {rows:,} rows: an unclosed quote, or a line "
                "break inside a cell, joins lines.\nFix the file, or save it as Parquet; nothing was computed."
            )

    def _from_header(self) -> Any:
        stream = opened_text(self._path, self.layout.encoding)
        stream.read(self.layout.above)
        return stream

    def _reader(self, columns: Sequence[str], as_text: frozenset[str]) -> Any:
        from pyarrow import csv

        apart = {} if self._names is None else {"column_names": self._names, "skip_rows": 1}
        types = {name: pa.string() for name in as_text}
        return csv.open_csv(
            self._from_header(), read_options=csv.ReadOptions(**apart),
            parse_options=csv.ParseOptions(delimiter=self.layout.separator),
            convert_options=csv.ConvertOptions(column_types=types, include_columns=list(columns)),
        )  # fmt: skip


class ArrowFile:
    def __init__(self, path: str) -> None:
        import pyarrow.dataset as ds

        self._path, self._format = path, ds.IpcFileFormat()
        schema = self._format.make_fragment(raw(path)).physical_schema
        self.repeated = repeated_in(schema.names)
        self.schema = pa.schema([field for field in schema if field.name not in self.repeated])

    def count(self) -> int:
        return int(self._scanner([]).count_rows())

    def batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        return iter(self._scanner(list(columns), batch_size=size, batch_readahead=4).to_batches())

    def _scanner(self, columns: list[str], **options: Any) -> Any:
        # A scan closes its stream.
        return self._format.make_fragment(raw(self._path)).scanner(self.schema, columns=columns, **options)
