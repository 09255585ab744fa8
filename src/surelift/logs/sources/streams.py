"""Rounds from a stream that can be read only once (CSV, JSON lines or Arrow), in chunks that are sources themselves."""

from collections.abc import Iterator
from typing import IO, Any, Literal

import pyarrow as pa

from surelift.errors import LogsError, UsageError, first_line
from surelift.logs.batch import ROWS_PER_BATCH, Needs, TableBatch, repeated_in
from surelift.logs.ids import whole_clusters
from surelift.logs.sources import text_files
from surelift.logs.sources.json_lines import JsonReader, in_arrow

CHUNK = 1 << 26  # bytes of the lines that are read at once
StreamKind = Literal["csv", "jsonl", "arrow"]


class Chunk:
    ordered = True

    def __init__(self, table: Any, *, start: int, as_text: bool, skipped: bool = False) -> None:
        self.table, self._start, self._as_text, self.skipped = table, start, as_text, skipped

    def column_names(self) -> list[str]:
        return list(self.table.column_names)

    def count(self) -> int:
        return int(self.table.num_rows)

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        as_text = frozenset(needs.read) if self._as_text else frozenset()
        yield TableBatch(self.table.select(needs.columns()), self._start, as_text=as_text)


def read_stream(
    file: IO[bytes], kind: StreamKind, *, skip: int = 0, cluster: str | None = None, rows: int = ROWS_PER_BATCH
) -> Iterator[Chunk]:
    """Read a stream in chunks that split no cluster; those of the first ``skip`` rows are marked."""
    readers, start = {"csv": _csv, "jsonl": _json_lines, "arrow": _arrow}, 0
    try:
        for table in _tables(readers[kind](file, rows), cluster):
            dropped = min(max(skip - start, 0), table.num_rows)
            for first, last in ((0, dropped), (dropped, table.num_rows)):
                if first < last:
                    part = table.slice(first, last - first)
                    yield Chunk(part, start=start + first, as_text=kind == "csv", skipped=last == dropped)
            start += table.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise LogsError(f"the stream cannot be read as {kind} after row {start:,}: {first_line(error)}") from error
    if start < skip:
        raise LogsError(f"the stream has {start:,} rows, but {skip:,} were counted before: it is not the same stream.")


def _tables(tables: Iterator[Any], cluster: str | None) -> Iterator[Any]:
    def batches() -> Iterator[TableBatch]:
        for table in tables:
            if repeated := repeated_in(table.column_names):
                raise LogsError(f"the stream has two columns {min(repeated)!r}.")
            if cluster is not None and cluster not in table.column_names:
                raise UsageError(f"the stream has no column {cluster!r} for cluster.")
            yield TableBatch(table, start=0)

    return (batch.table for batch in (batches() if cluster is None else whole_clusters(batches(), cluster)))


def _lines(file: IO[bytes], rows: int, *, number: int = 1) -> Iterator[bytes]:
    """Chunks of whole lines, which are numbered from ``number`` on."""
    while True:
        lines, size = list[bytes](), 0
        while len(lines) < rows and size < CHUNK and (line := read_line(file, f"line {number:,} of the stream")):
            lines.append(line)
            size, number = size + len(line), number + 1
        if not lines:
            return
        yield b"".join(lines)


def read_line(file: Any, called: str) -> bytes:
    """The next line, empty at the end: one that does not end is refused, not kept in memory."""
    line: bytes = file.readline(text_files.LONGEST_LINE + 1)
    if len(line) > text_files.LONGEST_LINE:
        raise LogsError(
            f"{called} is longer than {text_files.LONGEST_LINE >> 20} MiB: it begins {line[:40]!r}. A round is one line, "
            "ended by a line feed; nothing of it was counted."
        )
    return line


def _csv(file: IO[bytes], rows: int) -> Iterator[Any]:
    from pyarrow import csv

    header = read_line(file, "line 1 of the stream")
    if b"\r" in header.rstrip(b"\r\n"):
        raise LogsError(
            "the lines of the stream end in a carriage return (CR) alone; convert them first, such as by tr '\\r' '\\n'."
        )
    try:
        names = csv.read_csv(in_arrow(header)).column_names
    except UnicodeDecodeError as error:
        raise LogsError(f"a column name of the stream is not UTF-8 text: {error.object!r}.") from error
    text = csv.ConvertOptions(column_types={name: pa.string() for name in names})
    for chunk in _lines(file, rows, number=2):
        table = csv.read_csv(in_arrow(header.rstrip(b"\r\n") + b"\n" + chunk), convert_options=text)
        lines = sum(1 for line in chunk.splitlines() if line.strip())
        if table.num_rows != lines:
            raise LogsError(
                f"{lines:,} lines of the stream make {table.num_rows:,} rows: an unclosed quote, or a line break inside "
                "a cell, joins lines. None of them were counted."
            )
        yield table


def _json_lines(file: IO[bytes], rows: int) -> Iterator[Any]:
    reader, number, start = JsonReader("the stream"), 1, 0
    for chunk in _lines(file, rows):
        table = reader.table(chunk.split(b"\n"), number, start)
        if table.num_rows:
            yield table
        number, start = number + chunk.count(b"\n"), start + table.num_rows


def _arrow(file: IO[bytes], rows: int) -> Iterator[Any]:
    with pa.ipc.open_stream(file) as reader:
        for batch in reader:
            batch.validate(full=True)  # it is taken as it is, and may point beyond itself
            for start in range(0, batch.num_rows, rows):
                yield pa.Table.from_batches([batch.slice(start, rows)])
