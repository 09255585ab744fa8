"""Keys: how rounds are split. By a segment, by day, into blocks by chance, or into chunks of the log."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from surelift.arrays import IntArray, pc
from surelift.batch import Batch
from surelift.errors import UsageError
from surelift.kernels.sorting import distinct, random_blocks
from surelift.logs import faults
from surelift.logs.columns import as_array, decode, is_text
from surelift.logs.segments import MISSING, Bins, SegmentColumn, codes_and_texts, column_name, segment_name, segment_texts

NOWHERE = -1
# The rows of a part that was read apart are numbered within it: parts must not share their chances.
ROWS_PER_PART = 1 << 40
FIRST_OCTAVE, HALVINGS = 6, 5
PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class Split(Protocol):
    """One way to tell rounds apart. Frozen and hashable."""

    label: ClassVar[str]
    needs_order: ClassVar[bool] = False

    def columns(self) -> tuple[str, ...]:
        return ()

    def codes(self, batch: Batch) -> tuple[IntArray, Sequence[str]]:
        """A code for each round, ``NOWHERE`` for those left out, and the names of the codes."""


Key = tuple[Split, ...]
"""Splits within splits; the empty key is the whole log."""
KeyValue = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Segment(Split):
    """The values of columns known before the action, or the combinations of several that occur; none is one of its own."""

    label: ClassVar[str] = "segments"
    by: tuple[SegmentColumn, ...]
    declared: tuple[str, ...] | None = None
    """All segments there can be; another is a fault."""
    only: str | None = None
    tears_clusters: bool = False
    """Rounds of one cluster may lie in several, where each round is tested by itself."""

    def __post_init__(self) -> None:
        names, listed, wrong = self.columns(), self.declared, ""
        if not names:
            wrong = "by names no column; name one, or leave by= out."
        elif len(set(names)) != len(names):
            wrong = f"by names a column twice: {', '.join(map(repr, names))}. Leave one out."
        elif listed is not None and not (listed and all(isinstance(name, str) for name in listed)):
            wrong = "segments must list the names of the segments, one or more."
        elif listed is not None and len(set(listed)) != len(listed):
            wrong = "segments lists a name twice."
        if wrong:
            raise UsageError(wrong)

    def columns(self) -> tuple[str, ...]:
        return tuple(map(column_name, self.by))

    def describe(self) -> dict[str, Any]:
        """The split as JSON keeps it: a single column by its name, others one by one, with the edges of their bins."""
        listed = {} if self.declared is None else {"segments": list(self.declared)}
        if len(self.by) == 1 and isinstance(self.by[0], str):
            return {"column": self.by[0], **listed}
        parts = ({"column": part.column, "bins": list(part.edges)} if isinstance(part, Bins) else part for part in self.by)
        return {"columns": list(parts), **listed}

    @property
    def subject(self) -> str:
        return f"by {', '.join(map(repr, self.columns()))}"

    def texts(self, name: str) -> tuple[str, ...]:
        return segment_texts(name, len(self.by))

    def sorted(self, values: Iterable[KeyValue]) -> list[str]:
        """The names of segments: bins in the order of their edges, others by their text."""

        def order(name: str) -> list[Any]:
            pairs = zip(self.by, self.texts(name), strict=True)
            return [(*part.names, MISSING).index(text) if isinstance(part, Bins) else text for part, text in pairs]

        return sorted((name for (name,) in values), key=order)

    def codes(self, batch: Batch) -> tuple[IntArray, Sequence[str]]:
        codes, texts = codes_and_texts(batch.rows, self.by)
        names = list(map(segment_name, texts))
        if self.declared is not None:
            unknown = np.array([*(name not in self.declared for name in names), False])[codes]
            shown = names[codes[int(np.argmax(unknown))]] if unknown.any() else None
            batch.rows.refuse(self.subject, faults.SEGMENT_UNDECLARED, batch.rows.usable & unknown, shown)
        if self.only is not None:
            codes = np.where(codes == (names.index(self.only) if self.only in names else len(names)), 0, NOWHERE)
            names = [self.only]
        return codes, names


@dataclass(frozen=True, slots=True)
class Day(Split):
    """The day of the decision, where the time tells it: a timestamp, a date, or text that begins with one."""

    label: ClassVar[str] = "days"
    time: str

    def columns(self) -> tuple[str, ...]:
        return (self.time,)

    def codes(self, batch: Batch) -> tuple[IntArray, Sequence[str]]:
        codes = np.full(batch.size, NOWHERE, dtype=np.int64)
        if batch.size == 0:
            return codes, []
        column = decode(batch.rows.table[self.time])
        if is_text(column) and pc.all(pc.match_substring_regex(column, r"^\d{4}-\d{2}-\d{2}")).as_py():
            encoded = pc.utf8_slice_codeunits(column, 0, 10).dictionary_encode()
            return as_array(pc.fill_null(encoded.indices, NOWHERE)).astype(np.int64), encoded.dictionary.to_pylist()
        if pa.types.is_timestamp(column.type):
            per_day, column = PER_DAY[column.type.unit], column.cast(pa.int64())
        elif pa.types.is_date(column.type):
            per_day, column = 1, column.cast(pa.date32(), safe=False).cast(pa.int32())
        else:
            return codes, []
        days = as_array(column.fill_null(0)).astype(np.int64) // per_day
        dated = as_array(column.is_valid()) if column.null_count else slice(None)
        present, codes[dated] = distinct(days[dated])
        return codes, np.datetime_as_string(present.astype("datetime64[D]")).tolist()


@dataclass(frozen=True, slots=True)
class RandomBlocks(Split):
    """Rounds (clusters whole) dealt into blocks by a hash of their number, never of what is in them."""

    label: ClassVar[str] = "blocks"
    count: int

    def codes(self, batch: Batch) -> tuple[IntArray, Sequence[str]]:
        return random_blocks(row_numbers(batch), self.count), [str(block) for block in range(self.count)]


@dataclass(frozen=True, slots=True)
class Chunks(Split):
    """Consecutive rounds, 32 chunks to every doubling of the log: no number of rounds has to be known."""

    label: ClassVar[str] = "the order of the rounds"
    needs_order: ClassVar[bool] = True

    def codes(self, batch: Batch) -> tuple[IntArray, Sequence[str]]:
        row = first = batch.rows.start
        last, starts = first + batch.size, list[int]()
        while row < last:
            width = 1 << (max(row.bit_length() - 1, FIRST_OCTAVE) - HALVINGS)
            starts.append(row // width * width)
            row = starts[-1] + width
        edges = np.array([*starts, last]) - first
        codes = np.repeat(np.arange(len(starts)), np.diff(np.maximum(edges, 0)))
        return of_first_rows(batch, codes), [f"{start:015d}" for start in starts]


def of_first_rows(batch: Batch, values: IntArray) -> IntArray:
    starts = batch.units.starts
    return values if starts is None else np.repeat(values[starts[:-1]], np.diff(starts))


def row_numbers(batch: Batch) -> "np.typing.NDArray[np.uint64]":
    """The number of each round's row, of a cluster that of its first; unique over all parts that are read apart."""
    first_rows = of_first_rows(batch, batch.rows.numbered)
    return first_rows.astype(np.uint64) + np.uint64(batch.rows.batch.part * ROWS_PER_PART)
