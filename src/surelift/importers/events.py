"""Rounds from files whose lines are events, read in pieces; lines that are none are counted and refused."""

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
    """What lines turned out to be: broken ones by reason with the first of each, and those that are no decisions."""

    broken: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    """By reason: the file, the number of the line from 1, and what is in it."""
    left_out: Counter[str] = field(default_factory=Counter)

    def breaks(self, reason: str, place: str, line: int, text: str) -> None:
        self.broken[reason] += 1
        if reason not in self.first:
            self.first[reason] = (place, line, text if len(text) <= 80 else f"{text[:77]}...")

    def refuse(self, what: str) -> None:
        if not self.broken:
            return
        told = [
            f"- {count:,} {reason}; the first is line {self.first[reason][1]:,} of {self.first[reason][0]}: "
            f"{self.first[reason][2]!r}"
            for reason, count in self.broken.most_common()
        ]
        lines = "\n".join(told)
        raise LogsError(
            f"{self.broken.total():,} events cannot be read as {what}:\n{lines}\nMend them, or leave such events out by a "
            "rule that is blind to what they earned; nothing was computed."
        )


Parse = Callable[[list[tuple[int, bytes]], str, Found], ArrowTable]


class Events:
    """A source of rounds for ``Logs``.

    ``parse`` makes a table of numbered lines, and tells what it could not read; ``ends`` says after which line a piece may
    end, where an event has several.
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
        """Lines that are no decisions, by reason, as the last pass found them."""
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
        found, start = Found(), 0
        for path in self.paths:
            place_start = start
            for lines in self._pieces(path):
                table = self._parse(lines, path, found).cast(self._schema).select(needs.columns())
                # Once a line is broken there will be no answer: only the counting goes on.
                for first in range(0, 0 if found.broken else table.num_rows, ROWS_PER_BATCH):
                    part = table.slice(first, ROWS_PER_BATCH)
                    yield Batch(part, start, path if len(self.paths) > 1 else "", place_start)
                    start += part.num_rows
        found.refuse(self.what)
        self.left_out = found.left_out

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
    """The files that paths, folders and globs stand for."""
    named = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(named, Sequence) or not named or not all(isinstance(path, str | Path) for path in named):
        raise UsageError("no file was named; give a path, a glob or a list of paths.")
    return sorted({file for path in named for file in ([str(path)] if Path(path).is_file() else expand(str(path)))})


def numbered(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, gzipped or not, counted from 1."""
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            yield from enumerate(file, start=1)
    except (OSError, EOFError, zlib.error) as error:
        raise LogsError(f"{path} cannot be read: {error}. It may be truncated. Nothing was computed.") from error
