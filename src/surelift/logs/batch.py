"""A batch of rounds as a table with its origin, and the protocol of every source of batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from surelift.arrays import ArrowTable, BoolArray

ROWS_PER_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class Batch:
    table: ArrowTable
    start: int
    """Row number, in the whole source, of the first row."""
    place: str = ""
    """The file, if there are several."""
    place_start: int = 0
    """Row number, in the whole source, of that file's first row."""
    as_text: frozenset[str] = frozenset()
    """Columns whose numbers arrive as text, as in CSV."""
    again: BoolArray | None = None
    """For clustered logs, marks rows whose cluster had already ended."""
    part: int = 0
    """The number of the part it belongs to, where parts are read apart and each numbers its own rows."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The columns a policy or a log needs: those surelift reads, and those passed to the user's own code."""

    read: tuple[str, ...] = ()
    handed_on: tuple[str, ...] = ()

    def __add__(self, other: "Needs") -> "Needs":
        return Needs(self.read + other.read, self.handed_on + other.handed_on)

    def columns(self) -> list[str]:
        return list(dict.fromkeys(self.read + self.handed_on))


class Source(Protocol):
    """A source of rounds: knows its columns and can be read in batches more than once."""

    ordered: bool
    """Whether rows have a fixed order, so that arrays can be aligned with them."""

    def column_names(self) -> list[str]: ...

    def batches(self, needs: Needs) -> Iterator[Batch]: ...

    def count(self) -> int: ...
