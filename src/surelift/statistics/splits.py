"""Keys: how rounds are split. By a segment, by day, into blocks by chance, or into chunks of the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, IntArray, pc
from surelift.errors import UsageError
from surelift.logs import faults
from surelift.logs.columns import decode, is_absent, is_text
from surelift.logs.fingerprint import scramble
from surelift.logs.rounds import Rounds

NOWHERE = -1
MISSING = "missing"
# The rows of a part that was read apart are numbered within it: parts must not share their chances.
ROWS_PER_PART = 1 << 40
FIRST_OCTAVE, HALVINGS = 6, 5


class Split:
    """One way to tell rounds apart. Frozen and hashable."""

    __slots__ = ()
    label: ClassVar[str]
    needs_order: ClassVar[bool] = False

    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        return ()

    def codes(self, rounds: Rounds) -> tuple[IntArray, Sequence[str]]:
        """A code for each round, ``NOWHERE`` for those left out, and the names of the codes."""
        raise NotImplementedError


Key = tuple[Split, ...]
"""Splits within splits; the empty key is the whole log."""
KeyValue = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Segment(Split):
    """The values of a column known before the action, such as a country."""

    label: ClassVar[str] = "segments"
    column: str
    declared: tuple[str, ...] | None = None
    """All segments there can be; another is a fault."""
    only: str | None = None
    """One segment alone, where each has a plan of its own."""
    missing_is_one: bool = False
    """Whether rounds without a segment are one of their own; otherwise they are a fault."""

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def codes(self, rounds: Rounds) -> tuple[IntArray, Sequence[str]]:
        column = segment_column(rounds, self.column)
        absent = is_absent(column)
        if pa.types.is_floating(column.type):
            absent = absent | np.asarray(pc.fill_null(pc.is_nan(column), True))
        subject = f"by {self.column!r}"
        if not self.missing_is_one:
            rounds.refuse(subject, faults.SEGMENT, absent, None)
        encoded = pc.if_else(pa.array(absent), pa.scalar(None, column.type), column).dictionary_encode()
        # Values that read the same are one segment.
        texts = [str(value.as_py()) for value in encoded.dictionary]
        names = list(dict.fromkeys(texts))
        lookup = np.array([*(names.index(text) for text in texts), NOWHERE], dtype=np.int64)
        codes = lookup[np.asarray(pc.fill_null(encoded.indices, len(texts)))]
        if self.missing_is_one and absent.any():
            codes, names = np.where(codes == NOWHERE, len(names), codes), [*names, MISSING]
        if self.declared is not None:
            unknown = np.array([*(name not in self.declared for name in names), False])[codes]
            shown = names[codes[int(np.argmax(unknown))]] if unknown.any() else None
            rounds.refuse(subject, faults.SEGMENT_UNDECLARED, rounds.usable & unknown, shown)
        if self.only is not None:
            codes = np.where(codes == (names.index(self.only) if self.only in names else len(names)), 0, NOWHERE)
            names = [self.only]
        return codes, names


@dataclass(frozen=True, slots=True)
class Day(Split):
    """The day of the decision, where the time tells it: a timestamp, a date, or text that begins with one."""

    label: ClassVar[str] = "days"

    def codes(self, rounds: Rounds) -> tuple[IntArray, Sequence[str]]:
        nowhere = np.full(rounds.size, NOWHERE, dtype=np.int64)
        if rounds.declaration.time is None or rounds.size == 0:
            return nowhere, []
        column = decode(rounds.table[rounds.declaration.time])
        if pa.types.is_timestamp(column.type):
            days = column.cast(pa.timestamp("us"), safe=False).cast(pa.date32())
        elif pa.types.is_date(column.type):
            days = column
        elif is_text(column) and pc.all(pc.match_substring_regex(column, r"^\d{4}-\d{2}-\d{2}")).as_py():
            days = pc.utf8_slice_codeunits(column, 0, 10)
        else:
            return nowhere, []
        encoded = days.dictionary_encode()
        codes = np.asarray(pc.fill_null(encoded.indices, NOWHERE)).astype(np.int64)
        return codes, [str(day) for day in encoded.dictionary.to_pylist()]


@dataclass(frozen=True, slots=True)
class RandomBlocks(Split):
    """Rounds (clusters whole) dealt into blocks by a hash of their number, never of what is in them."""

    label: ClassVar[str] = "blocks"
    count: int

    def codes(self, rounds: Rounds) -> tuple[IntArray, Sequence[str]]:
        numbers = scramble(row_numbers(rounds))
        return (numbers % np.uint64(self.count)).astype(np.int64), [str(block) for block in range(self.count)]


@dataclass(frozen=True, slots=True)
class Chunks(Split):
    """Consecutive rounds, 32 chunks to every doubling of the log: no number of rounds has to be known."""

    label: ClassVar[str] = "the order of the rounds"
    needs_order: ClassVar[bool] = True

    def codes(self, rounds: Rounds) -> tuple[IntArray, Sequence[str]]:
        rows = first_rows(rounds).astype(np.int64)
        octave = np.maximum(np.frexp(rows.astype(np.float64))[1] - 1, FIRST_OCTAVE)
        width = np.left_shift(np.int64(1), octave - HALVINGS)
        starts, codes = np.unique(rows // width * width, return_inverse=True)
        return codes.astype(np.int64), [f"{start:015d}" for start in starts.tolist()]


def first_rows(rounds: Rounds) -> IntArray:
    """The number of each round's row; of a cluster, that of its first."""
    if rounds.clusters is None:
        return rounds.rows
    return np.repeat(rounds.rows[rounds.clusters.starts[:-1]], rounds.clusters.sizes)


def row_numbers(rounds: Rounds) -> "np.typing.NDArray[np.uint64]":
    """The same, unique over all parts that are read apart."""
    return first_rows(rounds).astype(np.uint64) + np.uint64(rounds.part * ROWS_PER_PART)


def segment_column(rounds: Rounds, name: str) -> ArrowColumn:
    column = decode(rounds.table[name])
    if pa.types.is_nested(column.type):
        raise UsageError(f"by {name!r} holds {column.type}; a segment is named by text, a number or a date.")
    return column
