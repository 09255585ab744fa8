"""A run of rounds as a table, with the place it came from, and the shape of everything that yields them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from surelift.arrays import ArrowTable, BoolArray

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
    as_text: frozenset[str] = frozenset()
    """Columns whose numbers arrive as text, as they do from CSV."""
    again: BoolArray | None = None
    """Rows of a cluster that had ended before, where there are clusters."""
    part: int = 0
    """The number of the part it belongs to, where parts are read apart and each numbers its own rows."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The columns a policy or a log asks for: those it reads itself, and those it hands to the user's own code."""

    read: tuple[str, ...] = ()
    handed_on: tuple[str, ...] = ()

    def __add__(self, other: "Needs") -> "Needs":
        return Needs(self.read + other.read, self.handed_on + other.handed_on)

    def columns(self) -> list[str]:
        return list(dict.fromkeys(self.read + self.handed_on))


class Source(Protocol):
    """Where rounds come from: anything that can say its columns and yield them in batches, again and again."""

    ordered: bool
    """Whether rows have an order that arrays beside them can follow."""

    def column_names(self) -> list[str]: ...

    def batches(self, needs: Needs) -> Iterator[Batch]: ...

    def count(self) -> int: ...
