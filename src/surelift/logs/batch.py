"""A batch of rounds as a table with its origin, the protocol of every source of batches, and a slice of one."""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from surelift.arrays import ArrowTable, BoolArray, IntArray
from surelift.errors import LogsError, SureliftError
from surelift.logs.columns import numbers_in
from surelift.logs.where import Condition

ROWS_PER_BATCH = 1 << 16
NUMBERS_PER_BATCH = 1 << 23  # of plain columns: 64 MB as float64
# Of the widest column of vectors: 16 MB, few enough that their memory is used again instead of asked for anew.
VECTOR_NUMBERS_PER_BATCH = 1 << 21
# With fewer rows, what a batch costs each candidate would outweigh its rows: 8 kB a column, from 8,192 columns on.
LEAST_ROWS = 1 << 10


def rows_per_batch(columns: int, widest: int = 1, most: int = ROWS_PER_BATCH) -> int:
    of_columns = max(LEAST_ROWS, NUMBERS_PER_BATCH // max(columns, 1))
    return max(1, min(most, of_columns, VECTOR_NUMBERS_PER_BATCH // max(widest, 1)))


@dataclass(frozen=True, slots=True)
class TableBatch:
    table: ArrowTable
    start: int  # row number, in the whole source, of the first row
    place: str = ""  # the file, if there are several
    place_start: int = 0  # row number, in the whole source, of that file's first row
    as_text: frozenset[str] = frozenset()  # columns whose numbers arrive as text, as in CSV
    cluster_starts: IntArray | None = None  # for clustered logs, the first row of each cluster, and behind the last
    again: BoolArray | None = None  # marks rows whose cluster had already ended, where there are any
    part: int = 0  # the part it belongs to, where parts are read apart and each numbers its own rows
    rows: IntArray | None = None  # the numbers of its rows in the whole source, where some in between were left out
    left_out: int = 0  # how many rows were left out since the batch before, as their rewards are not final
    excluded: int = 0  # how many were, as they do not meet the condition of ``where=``

    @property
    def is_remainder(self) -> bool:
        """All its rows were left out."""
        return not self.table.num_rows and bool(self.left_out or self.excluded)

    def place_of(self, row: int) -> str:
        """Where a row stands in its file, if there are several."""
        return f" ({self.place}, row {row - self.place_start})" if self.place else ""

    def cut(self, rows: int) -> "Iterator[TableBatch]":
        """The batch in pieces of so many rows; whole if it has clusters."""
        size = max(self.table.num_rows, 1) if self.cluster_starts is not None else rows
        for first in range(0, max(self.table.num_rows, 1), size):
            part = replace(self, table=self.table.slice(first, size), start=self.start + first)
            if self.rows is not None:
                part = replace(part, rows=self.rows[first : first + size])
            yield part if first == 0 else replace(part, left_out=0, excluded=0)


@dataclass(frozen=True, slots=True)
class Needs:
    """The columns a policy or a log needs: those surelift reads, and those passed to the user's own code."""

    read: tuple[str, ...] = ()
    handed_on: tuple[str, ...] = ()
    coded: tuple[str, ...] = ()
    """The columns of few values, of those read, wanted as codes and a list of them where the format has such."""
    where: Condition | None = None
    """Rows that do not meet it are not wanted: a source may leave them out, and then counts them."""

    @classmethod
    def all_of(cls, needs: "Iterable[Needs]") -> "Needs":
        """The needs of many policies, without a copy for each."""
        read, handed_on, coded, where = list[str](), list[str](), list[str](), None
        for each in needs:
            read += each.read
            handed_on += each.handed_on
            coded += each.coded
            where = each.where if where is None else where
        return cls(tuple(read), tuple(handed_on), tuple(coded), where)

    def columns(self) -> list[str]:
        return list(dict.fromkeys(self.read + self.handed_on))


class Source(Protocol):
    """A source of rounds: knows its columns and can be read in batches more than once."""

    ordered: bool  # rows have a fixed order, so that arrays can be aligned with them

    def column_names(self) -> list[str]: ...

    def batches(self, needs: Needs) -> Iterator[TableBatch]: ...

    def count(self) -> int: ...


@dataclass(slots=True)
class Slice:
    source: Source
    first: int
    last: int
    ordered: bool = True

    def column_names(self) -> list[str]:
        return self.source.column_names()

    def overlaps(self, other: Source) -> bool:
        other_slice = other if isinstance(other, Slice) else Slice(other, 0, sys.maxsize)
        return other_slice.source is self.source and self.first < other_slice.last and other_slice.first < self.last

    def count(self) -> int:
        return max(0, min(self.last, self.source.count()) - self.first)

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        needs = replace(needs, where=None)  # what a source leaves out may lie outside the slice
        # Arrays, frames and files leave out the rows outside by themselves.
        ends = (self.first, self.last) if getattr(self.source, "skips_rows", False) else ()
        for batch in self.source.batches(needs, *ends):
            begin = max(self.first - batch.start, 0)
            end = min(self.last - batch.start, batch.table.num_rows)
            if batch.start >= self.last:
                break
            if begin < end:
                part = replace(batch, table=batch.table.slice(begin, end - begin), start=batch.start + begin)
                yield part if batch.rows is None else replace(part, rows=batch.rows[begin:end])


def number_rows(tables: Iterable[ArrowTable]) -> Iterator[TableBatch]:
    """The tables of an engine as batches; empty ones are skipped."""
    start = 0
    for table in tables:
        if table.num_rows:
            yield TableBatch(table, start)
            start += table.num_rows


def repeated_in(names: Iterable[str]) -> frozenset[str]:
    """Names of several columns: they are left out of a source, and refused only where one is asked for."""
    return frozenset(name for name, count in Counter(names).items() if count > 1)


def left_behind(total: int, kept: int) -> int:
    """How many rows a filter left out of a table, by two counts of it."""
    if kept > total:
        raise LogsError(
            f"the table had {total:,} rows, and then {kept:,} of them met where=: it was written to while it was read.\n"
            "Nothing was computed. Ask of a snapshot, or of the rows up to a time that has passed."
        )
    return total - kept


@contextmanager
def engine_errors(problem: str) -> Iterator[None]:
    """Report whatever an engine raises, each its own exceptions, as rounds that could not be read."""
    try:
        yield
    except SureliftError:
        raise
    except Exception as error:
        raise LogsError(f"{problem}: {error}\nNothing was computed.") from error


def kind_as_stored(batch: TableBatch, name: str) -> str | None:
    """The kind of entries that may be equal to each other; None of a column that has no such."""
    of = batch.table.schema.field(name).type
    while pa.types.is_dictionary(of):
        of = of.value_type
    if pa.types.is_primitive(of) or pa.types.is_decimal(of):
        zoned = pa.types.is_timestamp(of) and of.tz is not None
        return "times with a zone" if zoned else "times" if pa.types.is_temporal(of) else "numbers"
    text = pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of)
    return "text" if text else None


def kind_as_read(batch: TableBatch, name: str) -> str | None:
    """The kind of a column of a format without types as functions get it; None where all of it is missing."""
    values = numbers_in(batch.table[name]) if name in batch.as_text else None
    if name not in batch.as_text or (values is not None and values.null_count == len(values)):
        return None
    return "text" if values is None else "numbers"


def of_one_kind(
    batches: Iterable[TableBatch], names: Collection[str], kind_of: Callable[[TableBatch, str], str | None] = kind_as_stored
) -> Iterator[TableBatch]:
    """The same batches; raise where a column holds text in one and numbers in another, which are never equal."""
    kinds = dict[str, str]()
    for batch in batches:
        for name in names:
            kind = kind_of(batch, name)
            if kind is not None and kinds.setdefault(name, kind) != kind:
                raise LogsError(
                    f"column {name!r} holds {kinds[name]} up to row {batch.start - 1:,}, and {kind} from row "
                    f"{batch.start:,} on{batch.place and f' ({batch.place})'}.\nGive the column one type everywhere, or "
                    "save the log as Parquet; nothing was computed."
                )
        yield batch
