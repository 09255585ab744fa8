"""The content of a page: the answer first, then the numbers, the assumptions, and how to verify it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from surelift.views.figures import Figure
from surelift.views.tables import Table, table
from surelift.views.text import some

# Candidates whose course and weights are drawn.
MOST_DRAWN = 12
Tone = Literal["good", "open", "bad"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text, a chart with the table of its numbers, a table alone, or a list."""

    text: str = ""
    figure: Figure | None = None
    table: Table | None = None
    items: tuple[str, ...] = ()
    kind: str = ""
    """How it is marked: "warn", "refuse", or not at all."""


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    tone: Tone
    verdict: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
    certificate: Mapping[str, Any] | None = None
    policies: tuple[str, ...] = ()
    """The candidates in the order of their colours; by default in the order in which figures show them."""
    chosen: str | None = None
    method: str = ""
    """How the bounds were made; at the foot of the page, as is the command."""
    command: str = ""

    def with_section(self, section: Section) -> "Page":
        """The same page with one more section, after the first."""
        return replace(self, sections=(*self.sections[:1], section, *self.sections[1:]))


def shown(figure: Figure | None) -> tuple[Paragraph, ...]:
    """A figure with the table of its numbers; nothing for no figure."""
    if figure is None:
        return ()
    numbers = table(figure.brief())
    if numbers.head[-1] == "verdict":
        # Right after the name, and the estimate last: a phone shows the first columns.
        cells = [(name, verdict, *bounds, estimate) for name, estimate, *bounds, verdict in (numbers.head, *numbers.rows)]
        numbers = replace(numbers, head=cells[0], rows=tuple(cells[1:]))
    return (Paragraph(figure=figure.brief(), table=numbers),)


def assumptions_section(assumptions: Iterable[str]) -> Section:
    theorem = Paragraph("The guarantee is a theorem. It holds if:")
    return Section("Assumptions", (theorem, Paragraph(items=tuple(some(assumptions, "assumptions")))))
