"""CSV and Arrow files."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.errors import LogsError
from surelift.logs.sources.formats import extension_of, format_of
from surelift.logs.sources.places import raw
from surelift.logs.sources.repeated import header_of, repeated_in, without_repeated
from surelift.logs.sources.stores import StoredFile

_BLOCK = 1 << 20
# Marks the columns of a file whose name occurs more than once.
_AGAIN = "\0"


class ArrowDataset:
    """A CSV or Arrow file."""

    def __init__(self, path: str, as_text: frozenset[str]) -> None:
        import pyarrow.dataset as ds

        kind, self.repeated = format_of(path), frozenset[str]()
        read: Any = _csv_format(path, as_text) if kind == "csv" else kind
        try:
            self._data = _data_set(path, read)
        except pa.ArrowInvalid as error:
            if "multiple columns named" not in str(error) and "duplicate field names" not in str(error):
                raise
            if kind == "csv":
                names = header_of(path, _separator(path))
                self.repeated = repeated_in(names)
                apart = [
                    f"{name}{_AGAIN}{place}" if name in self.repeated else name for place, name in enumerate(names)
                ]
                self._data = _data_set(path, _csv_format(path, as_text, column_names=apart, skip_rows=1))
            else:
                table, self.repeated = without_repeated(pa.ipc.open_file(raw(path)).read_all())
                self._data = ds.dataset(table)
        self.schema = pa.schema([field for field in self._data.schema if _AGAIN not in field.name])

    def count(self) -> int:
        return int(self._data.count_rows())

    def batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        return iter(self._data.scanner(list(columns), batch_size=size, batch_readahead=4).to_batches())


def _data_set(path: str, read: Any) -> Any:
    import pyarrow.dataset as ds

    if not isinstance(path, StoredFile):
        return ds.dataset(path, format=read)
    format = ds.IpcFileFormat() if read == "ipc" else read
    return _Stored(path, format, format.make_fragment(raw(path)).physical_schema)


class _Stored:
    """A file in a store, as much of a data set as is needed; a scan closes its stream."""

    def __init__(self, path: str, format: Any, schema: Any) -> None:
        self._path, self._format, self.schema = path, format, schema

    def scanner(self, columns: Sequence[str] | None = None, **options: Any) -> Any:
        return self._format.make_fragment(raw(self._path)).scanner(self.schema, columns=columns, **options)

    def count_rows(self) -> int:
        return int(self.scanner().count_rows())


def _separator(path: str) -> str:
    return "\t" if extension_of(path).startswith(".tsv") else ","


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


def check_lines(path: str, rows: int) -> None:
    """Detect an unclosed quote, which silently swallows the rows after it, by counting lines."""
    import gzip

    lines, at_start = 0, True
    with gzip.open(raw(path)) if path.endswith(".gz") else raw(path) as file:
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
