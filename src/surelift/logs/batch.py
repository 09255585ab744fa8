"""A batch of rounds as a table with its origin, the protocol of every source of batches, and a slice of one."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from surelift.arrays import ArrowTable, BoolArray, IntArray
from surelift.errors import LogsError
from surelift.logs.where import Condition

ROWS_PER_BATCH = 1 << 16
# Of plain columns: 64 MB as float64.
NUMBERS_PER_BATCH = 1 << 23
# Of the widest column of vectors: 16 MB, few enough that their memory is used again instead of asked for anew.
VECTOR_NUMBERS_PER_BATCH = 1 << 21
# With fewer rows, what a batch costs each candidate would outweigh its rows: 8 kB a column, from 8,192 columns on.
LEAST_ROWS = 1 << 10


def rows_per_batch(columns: int, widest: int = 1, most: int = ROWS_PER_BATCH) -> int:
    """How many rows make a batch, where there are so many columns, and the widest has vectors of so many numbers."""
    of_columns = max(LEAST_ROWS, NUMBERS_PER_BATCH // max(columns, 1))
    return max(1, min(most, of_columns, VECTOR_NUMBERS_PER_BATCH // max(widest, 1)))


@dataclass(frozen=True, slots=True)
class TableBatch:
    table: ArrowTable
    start: int
    """Row number, in the whole source, of the first row."""
    place: str = ""
    """The file, if there are several."""
    place_start: int = 0
    """Row number, in the whole source, of that file's first row."""
    as_text: frozenset[str] = frozenset()
    """Columns whose numbers arrive as text, as in CSV."""
    cluster_starts: IntArray | None = None
    """For clustered logs, the first row of each cluster, and behind the last."""
    again: BoolArray | None = None
    """Marks rows whose cluster had already ended, where there are any."""
    part: int = 0
    """The number of the part it belongs to, where parts are read apart and each numbers its own rows."""
    rows: IntArray | None = None
    """The numbers of its rows in the whole source, where some in between were left out."""
    left_out: int = 0
    """How many rows were left out since the batch before, as their rewards are not final."""
    excluded: int = 0
    """How many were, as they do not meet the condition of ``where=``."""

    @property
    def is_remainder(self) -> bool:
        """Whether all its rows were left out."""
        return not self.table.num_rows and bool(self.left_out or self.excluded)

    def cut(self, rows: int) -> "Iterator[TableBatch]":
        """In pieces of so many rows; whole if it has clusters."""
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
    """Of those read, the columns of few values, wanted as codes and a list of them where the format has such."""
    where: Condition | None = None
    """Rows that do not meet it are not wanted: a source may leave them out, and then counts them."""

    def __add__(self, other: "Needs") -> "Needs":
        return Needs.all_of([self, other])

    @classmethod
    def all_of(cls, needs: "Iterable[Needs]") -> "Needs":
        """Those of many policies, without a copy for each."""
        listed = list(needs)
        read = tuple(name for each in listed for name in each.read)
        handed_on = tuple(name for each in listed for name in each.handed_on)
        where = next((each.where for each in listed if each.where is not None), None)
        return cls(read, handed_on, tuple(name for each in listed for name in each.coded), where)

    def columns(self) -> list[str]:
        return list(dict.fromkeys(self.read + self.handed_on))


class Source(Protocol):
    """A source of rounds: knows its columns and can be read in batches more than once."""

    ordered: bool
    """Whether rows have a fixed order, so that arrays can be aligned with them."""

    def column_names(self) -> list[str]: ...

    def batches(self, needs: Needs) -> Iterator[TableBatch]: ...

    def count(self) -> int: ...


@dataclass(slots=True)
class Slice:
    """The rows from ``first`` to ``last`` (exclusive)."""

    source: Source
    first: int
    last: int
    ordered: bool = True

    def column_names(self) -> list[str]:
        return self.source.column_names()

    def overlaps(self, other: Source) -> bool:
        """Whether the two share rows of the same source."""
        other_slice = other if isinstance(other, Slice) else Slice(other, 0, sys.maxsize)
        return other_slice.source is self.source and self.first < other_slice.last and other_slice.first < self.last

    def count(self) -> int:
        return max(0, min(self.last, self.source.count()) - self.first)

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        needs = replace(needs, where=None)  # what a source leaves out may lie outside the slice
        between = getattr(self.source, "batches_between", None)  # of a source that can leave rows out
        for batch in self.source.batches(needs) if between is None else between(needs, self.first, self.last):
            begin = max(self.first - batch.start, 0)
            end = min(self.last - batch.start, batch.table.num_rows)
            if batch.start >= self.last:
                break
            if begin < end:
                yield replace(batch, table=batch.table.slice(begin, end - begin), start=batch.start + begin)


def number_rows(tables: Iterable[ArrowTable]) -> Iterator[TableBatch]:
    """The tables of an engine as batches; empty ones are skipped."""
    start = 0
    for table in tables:
        if table.num_rows:
            yield TableBatch(table, start)
            start += table.num_rows


def left_behind(total: int, kept: int) -> int:
    """How many rows a filter left out of a table, by two counts of it."""
    if kept > total:
        raise LogsError(
            f"the table had {total:,} rows, and then {kept:,} of them met where=: it was written to while it was read.\n"
            "Nothing was computed. Ask of a snapshot, or of the rows up to a time that has passed."
        )
    return total - kept


def of_one_kind(batches: Iterable[TableBatch], names: set[str]) -> Iterator[TableBatch]:
    """The same batches; raise where a column holds text in one and numbers in another, which are never equal."""
    kinds, before = dict[str, str](), None
    for batch in batches:
        schema = batch.table.schema
        for field in () if before is not None and schema.equals(before) else schema:
            kind = _kind(field.type) if field.name in names else None
            was = None if kind is None else kinds.setdefault(field.name, kind)
            if was != kind:
                where = f"{batch.start:,} on{batch.place and f' ({batch.place})'}"
                raise LogsError(
                    f"column {field.name!r} holds {was} up to row {batch.start - 1:,}, and {kind} from row {where}.\n"
                    "Give the column one type everywhere; nothing was computed."
                )
        before = schema
        yield batch


def _kind(of: pa.DataType) -> str | None:
    """Of entries that may be equal to each other; None of those that have no such."""
    while pa.types.is_dictionary(of):
        of = of.value_type
    if pa.types.is_primitive(of) or pa.types.is_decimal(of):
        zoned = pa.types.is_timestamp(of) and of.tz is not None
        return "times with a zone" if zoned else "times" if pa.types.is_temporal(of) else "numbers"
    text = pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of)
    return "text" if text else None


@contextmanager
def engine_errors(problem: str) -> Iterator[None]:
    """Report whatever an engine raises, each its own exceptions, as rounds that could not be read."""
    try:
        yield
    except LogsError:
        raise
    except Exception as error:
        raise LogsError(f"{problem}: {error}\nNothing was computed.") from error
