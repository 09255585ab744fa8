"""The content of a page: the answer first, then the numbers, the assumptions, and how to verify it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from surelift.views.figures import Figure, brief
from surelift.views.glossary import WORDS
from surelift.views.tables import Table, table
from surelift.views.text import some

MOST_DRAWN = 8
Tone = Literal["good", "open", "bad"]
EXPLAINED = (
    "lower bound", "certified", "improvement", "propensity", "weight", "effective sample size", "e-value", "looks",
)  # fmt: skip


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
    words: Mapping[str, str] = field(default_factory=lambda: {word: WORDS[word] for word in EXPLAINED})

    def with_section(self, section: Section, *, after: int = 1) -> "Page":
        """The same page with one more section, after the first ``after`` ones."""
        return replace(self, sections=(*self.sections[:after], section, *self.sections[after:]))


def shown(figure: Figure | None) -> tuple[Paragraph, ...]:
    """A figure with the table of its numbers; nothing for no figure."""
    return () if figure is None else (Paragraph(figure=brief(figure), table=table(brief(figure))),)


def assumptions_section(assumptions: Iterable[str]) -> Section:
    theorem = Paragraph("The guarantee is a theorem. It holds if:")
    return Section("Assumptions", (theorem, Paragraph(items=tuple(some(assumptions, "assumptions")))))
