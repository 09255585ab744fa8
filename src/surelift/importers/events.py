"""Rounds from files of one event per line (or several lines), read in pieces, and the result of an import."""

import gzip
import io
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from surelift.arrays import ArrowTable
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import ROWS_PER_BATCH, Needs, TableBatch
from surelift.logs.sources.places import each_once, expand, name_of_files, raw, refuse_copies, require_unchanged, state_of
from surelift.logs.sources.streams import read_line
from surelift.policies.policy import Policy
from surelift.saving import write_beside
from surelift.traits.logs import Logs

BYTES_PER_PIECE = 1 << 24
NO_COLUMNS = pa.schema([])
Paths = str | Path | Sequence[str | Path]
Names = Sequence[str]
Range = tuple[float, float]
Line = tuple[int, bytes]
Row = tuple[Any, ...]


@dataclass(slots=True)
class Found:
    """Lines that were not read: invalid ones by reason, with the first of each, and those that are not decisions."""

    broken: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def breaks(self, reason: str, path: str, line: int, content: bytes | str) -> None:
        self.broken[reason] += 1
        text = content if isinstance(content, str) else content.strip().decode(errors="replace")
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        self.first.setdefault(reason, f"the first is line {line:,} of {path}: {shown!r}")

    def refuse(self, what: str) -> None:
        if self.broken:
            lines = [f"- {count:,} {reason}; {self.first[reason]}\n" for reason, count in self.broken.most_common()]
            remedy = "Fix them, or drop such events by a rule that does not depend on their rewards; nothing was computed."
            raise LogsError(f"{self.broken.total():,} events cannot be read as {what}:\n{''.join(lines)}{remedy}")


@dataclass(eq=False)
class Events:
    """A source of rounds for ``Logs``; invalid lines are counted and rejected."""

    ordered: ClassVar[bool] = True
    paths: list[str]
    what: str
    schema: pa.Schema
    parse: Callable[..., ArrowTable]
    """Turns numbered lines of a path into a table, with the contexts that are ``wanted``, and reports what is ``Found``."""
    ends: Callable[[bytes], bool] | None = None  # after which lines a piece may end, if an event has several
    contexts: pa.Schema = NO_COLUMNS
    unread: Mapping[str, str] = field(default_factory=dict)  # why other features are not columns
    left_out: Counter[str] = field(default_factory=Counter, init=False)
    """Lines that are not decisions, by reason, from the last complete pass."""

    def __post_init__(self) -> None:
        self._states = {path: state_of(path) for path in self.paths}
        self._count: int | None = None

    @property
    def called(self) -> str:
        return name_of_files(self.paths)

    def column_names(self) -> list[str]:
        return [*self.schema.names, *self.contexts.names]

    def count(self) -> int:
        if self._count is None:
            self._count = sum(batch.table.num_rows for batch in self.batches(Needs(read=(self.schema.names[0],))))
        return self._count

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        report, start, names = Found(), 0, needs.columns()
        wanted = pa.schema([each for each in self.contexts if each.name in names])
        parse = partial(self.parse, wanted=wanted) if len(wanted) else self.parse
        schema = pa.schema([*self.schema, *wanted])
        for path in self.paths:
            place_start = start
            for lines in self._pieces(path):
                table = parse(lines, path, report).cast(schema).select(names)
                # After an invalid line there will be no result: only count the rest.
                for first in range(0, 0 if report.broken else table.num_rows, ROWS_PER_BATCH):
                    part = table.slice(first, ROWS_PER_BATCH)
                    yield TableBatch(part, start, path if len(self.paths) > 1 else "", place_start)
                    start += part.num_rows
        report.refuse(self.what)
        for path, state in self._states.items():
            require_unchanged(path, state)
        self.left_out = report.left_out

    def _pieces(self, path: str) -> Iterator[list[Line]]:
        lines, size = list[Line](), 0
        for number, line in numbered(path):
            lines.append((number, line))
            size += len(line)
            if size >= BYTES_PER_PIECE and (self.ends is None or self.ends(line)):
                yield lines
                lines, size = [], 0
        yield lines


def to_table(rows: list[Row], schema: pa.Schema) -> ArrowTable:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    try:
        return pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        # The types of features come from a pass before.
        raise LogsError(f"the file changed while it was read: {error}. Nothing was computed.") from error


def files_of(paths: Any) -> list[str]:
    """The files that paths, folders and globs expand to."""
    listed = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(path, str | Path) for path in listed):
        raise UsageError("no file was given; give a path, a glob or a list of paths.")
    files = each_once(file for path in listed for file in ([str(path)] if os.path.isfile(path) else expand(str(path))))
    refuse_copies(files, lambda _: True)
    return sorted(files)


def numbered(path: str) -> Iterator[Line]:
    """The lines of a file, gzipped or not, numbered from 1."""
    try:
        with gzip.open(raw(path)) if path.endswith(".gz") else io.BufferedReader(raw(path)) as file:
            for number in count(1):
                line = read_line(file, f"line {number:,} of {path}")
                if not line:
                    return
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise LogsError(f"{path} cannot be read: {error}. It may be truncated. Nothing was computed.") from error


@dataclass(frozen=True, slots=True)
class Imported:
    """The logs, and the policies that come with the format."""

    logs: Logs
    policies: Mapping[str, Policy] = field(default_factory=dict)
    merged: Mapping[str, int] = field(default_factory=dict)
    """Lines that were put together with others into a round, by reason."""

    @property
    def left_out(self) -> dict[str, int]:
        """Lines that are not decisions, by reason, from the last complete pass."""
        return dict(self.logs.source.left_out if isinstance(self.logs.source, Events) else self.merged)

    def to_parquet(self, path: str | Path) -> None:
        """Write the rounds as a Parquet table, which is faster to read again."""
        import pyarrow.parquet as pq

        names = tuple(self.logs.column_names())
        tables = [batch.table for batch in self.logs.source.batches(Needs(read=names))]
        buffer = io.BytesIO()
        pq.write_table(pa.concat_tables(tables), buffer)
        write_beside(path, buffer.getvalue(), what="the table")
