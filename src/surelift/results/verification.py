"""Does a certificate follow from the logs?"""

from dataclasses import dataclass
from typing import ClassVar

from surelift.results.result import Result
from surelift.views.figures import Figure
from surelift.views.page import Page, Paragraph, Section, Tone
from surelift.views.text import lines


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Result):
    """The certificate was reproduced, and what differs."""

    differences: tuple[str, ...]
    rounds: int
    answer: Result
    """The recomputed answer."""
    counted: str = "rounds"
    not_compared: tuple[str, ...] = ()
    """What could not be compared, and why."""

    title: ClassVar = "Verification"
    derived: ClassVar = ("same",)
    columns: ClassVar = ("same", "differences", "rounds", "not_compared")

    @property
    def same(self) -> bool:
        return not self.differences

    def sentence(self) -> str:
        if not self.same:
            return "Not verified: the certificate does not follow from these logs."
        compared = not any(reason.startswith("the rounds") for reason in self.not_compared)
        return f"Verified: {'the same' if compared else 'these'} {self.rounds:,} {self.counted} give the same answer."

    def text(self) -> str:
        if not self.same:
            return lines(self.sentence(), [f"- {difference}" for difference in self.differences])
        return lines(self.sentence(), [f"Not compared: {reason}." for reason in self.not_compared], self.answer.text())

    def figure(self) -> Figure:
        return self.answer.figure()

    def tone(self) -> Tone:
        return "good" if self.same else "bad"

    def page(self) -> Page:
        page = self.answer.page()
        differences = () if self.same else (Section("What differs", (Paragraph(items=self.differences),)),)
        lead = (page.verdict, *(f"Not compared: {reason}." for reason in self.not_compared))
        return Page(self.title, self.tone(), self.sentence(), lead, (*differences, *page.sections))
