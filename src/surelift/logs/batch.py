"""A run of rounds as a table, with the place it came from, and the shape of everything that yields them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from surelift.arrays import ArrowTable

ROWS_PER_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class Batch:
    table: ArrowTable
    start: int
    """The number, in the whole source, of the first row."""
    place: str = ""
    """The file, where there is one."""
    place_start: int = 0
    """The number, in the whole source, of the first row of that file."""
    untyped: bool = False
    """Whether numbers arrive as text, as they do from CSV."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The columns a reader asks for: as numbers, or as they are."""

    numeric: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()

    def __add__(self, other: "Needs") -> "Needs":
        return Needs(self.numeric + other.numeric, self.raw + other.raw)


class Source(Protocol):
    """Where rounds come from: anything that can say its columns and yield them in batches, again and again."""

    ordered: bool
    """Whether rows have an order that arrays beside them can follow."""

    def column_names(self) -> list[str]: ...

    def batches(self, columns: Sequence[str], *, numeric: Sequence[str]) -> Iterator[Batch]:
        """Yield the named columns; those in ``numeric`` are to be read as numbers."""
        ...

    def count(self) -> int: ...
