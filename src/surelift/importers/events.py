"""Rounds from files of one event per line (or several lines), read in pieces; invalid lines are counted and rejected."""

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from surelift.arrays import ArrowTable
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import ROWS_PER_BATCH, Batch, Needs
from surelift.logs.sources.files import expand

BYTES_PER_PIECE = 1 << 24


@dataclass(slots=True)
class Found:
    """What was not read: invalid lines by reason, with the first of each, and lines that are not decisions."""

    broken: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    """By reason: the file, the line number from 1, and the line."""
    left_out: Counter[str] = field(default_factory=Counter)

    def breaks(self, reason: str, path: str, line: int, text: str) -> None:
        self.broken[reason] += 1
        if reason not in self.first:
            self.first[reason] = (path, line, text if len(text) <= 80 else f"{text[:77]}...")

    def refuse(self, what: str) -> None:
        if not self.broken:
            return
        lines = "\n".join(
            f"- {count:,} {reason}; the first is line {self.first[reason][1]:,} of {self.first[reason][0]}: "
            f"{self.first[reason][2]!r}"
            for reason, count in self.broken.most_common()
        )
        raise LogsError(
            f"{self.broken.total():,} events cannot be read as {what}:\n{lines}\nFix them, or drop such events by a rule "
            "that does not depend on their rewards; nothing was computed."
        )


Parse = Callable[[list[tuple[int, bytes]], str, Found], ArrowTable]


class Events:
    """A source of rounds for ``Logs``.

    ``parse`` turns numbered lines into a table and reports what it could not read; ``ends`` says after which lines a piece
    may end, if an event has several lines.
    """

    ordered = True

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        what: str,
        schema: pa.Schema,
        parse: Parse,
        ends: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.paths = files_of(paths)
        self.what = what
        self.left_out: Counter[str] = Counter()
        """Lines that are not decisions, by reason, from the last complete pass."""
        self._schema, self._parse, self._ends = schema, parse, ends
        self._count: int | None = None

    @property
    def called(self) -> str:
        """The name of the file, or of the first of several."""
        more = len(self.paths) - 1
        return Path(self.paths[0]).name + (f" and {more:,} more" if more else "")

    def column_names(self) -> list[str]:
        return list(self._schema.names)

    def count(self) -> int:
        if self._count is None:
            self._count = sum(batch.table.num_rows for batch in self.batches(Needs(read=(self._schema.names[0],))))
        return self._count

    def batches(self, needs: Needs) -> Iterator[Batch]:
        report, start = Found(), 0
        for path in self.paths:
            place_start = start
            for lines in self._pieces(path):
                table = self._parse(lines, path, report).cast(self._schema).select(needs.columns())
                # After an invalid line there will be no result: only count the rest.
                for first in range(0, 0 if report.broken else table.num_rows, ROWS_PER_BATCH):
                    part = table.slice(first, ROWS_PER_BATCH)
                    yield Batch(part, start, path if len(self.paths) > 1 else "", place_start)
                    start += part.num_rows
        report.refuse(self.what)
        self.left_out = report.left_out

    def _pieces(self, path: str) -> Iterator[list[tuple[int, bytes]]]:
        lines: list[tuple[int, bytes]] = []
        size = 0
        for number, line in numbered(path):
            lines.append((number, line))
            size += len(line)
            if size >= BYTES_PER_PIECE and (self._ends is None or self._ends(line)):
                yield lines
                lines, size = [], 0
        if lines:
            yield lines


def files_of(paths: Any) -> list[str]:
    """The files that paths, folders and globs expand to."""
    listed = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(path, str | Path) for path in listed):
        raise UsageError("no file was given; give a path, a glob or a list of paths.")
    return sorted({file for path in listed for file in ([str(path)] if Path(path).is_file() else expand(str(path)))})


def numbered(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, gzipped or not, numbered from 1."""
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            yield from enumerate(file, start=1)
    except (OSError, EOFError, zlib.error) as error:
        raise LogsError(f"{path} cannot be read: {error}. It may be truncated. Nothing was computed.") from error
