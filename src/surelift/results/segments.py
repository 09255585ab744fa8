"""The same question, answered for every segment of a log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from surelift.errors import UsageError
from surelift.results.evaluation import PolicyValue, value_label
from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance
from surelift.results.result import ByName, Result, dict_key
from surelift.views.figures import Intervals
from surelift.views.names import baseline_name, quoted, visible
from surelift.views.tables import decimals_of, interval_cells
from surelift.views.text import aligned, all_hold, doubt_lines, lines

R = TypeVar("R", bound=Result)
BoundedAnswer = PolicyValue | Improvement


@dataclass(frozen=True, slots=True, repr=False)
class Segments(ByName[R], Generic[R]):
    """The answers by segment; all hold at once, each at delta divided by their number."""

    results: Mapping[str, R] = field(metadata=dict_key("segments"))
    by: str
    """The column of segments."""
    delta: float
    rounds: int
    provenance: Provenance = field(compare=False)

    title: ClassVar = "Where is it better?"

    @property
    def certified(self) -> tuple[str, ...]:
        """The segments whose improvement is certified."""
        return tuple(name for name, result in self.results.items() if getattr(result, "certified", False))

    def answers(self) -> list[tuple[str, BoundedAnswer]]:
        """Every bounded answer with its segment: several for a segment in which several policies were evaluated."""
        return [
            (segment, answer)
            for segment, result in self.results.items()
            for answer in result.parts()
            if isinstance(answer, BoundedAnswer)
        ]

    def sentence(self) -> str:
        if not self.answers():
            return f"Answers for {len(self)} segments of {quoted(self.by)}."
        if not hasattr(self.first, "certified"):
            return f"Values for {len(self)} segments of {quoted(self.by)}."
        names = ", ".join(map(quoted, self.certified)) or "none"
        return f"Certified in {len(self.certified)} of {len(self)} segments of {quoted(self.by)}: {names}."

    def text(self) -> str:
        answers = self.answers()
        if not answers:
            return lines(self.sentence(), [f"{visible(name)}: {one.sentence()}" for name, one in self.results.items()])
        first = answers[0][1]
        improves = isinstance(first, Improvement)
        head = ("segment", "policy", first.counted, "estimate", "at least", "at most")
        rows: list[tuple[str, ...]] = [(*head, "verdict") if improves else head]
        for segment, answer in answers:
            row = answer.interval("")
            cells = interval_cells(row, decimals_of(row), sign=improves)
            cells = (*cells, row.verdict) if improves else cells
            rows.append((visible(segment), quoted(answer.policy), f"{answer.rounds:,}", *cells))
        count = f"{len(self)} segments, {self.rounds:,} {first.counted}"
        return lines(
            f"By {quoted(self.by)}: {count}, delta {self.delta:g} split evenly",
            aligned(rows),
            f"Together, all {'lower bounds' if improves else 'bounds'} {all_hold(first.promise, self.delta)}.",
            doubt_lines(first.doubts),
        )

    def figure(self) -> Intervals:
        answers = self.answers()
        if not answers:
            raise UsageError("answers of this kind have a figure for each segment, not one for all.")
        several = len(answers) > len(self)
        rows = tuple(
            answer.interval(f"{segment}, {answer.policy}" if several else segment) for segment, answer in answers
        )
        first = answers[0][1]
        if isinstance(first, Improvement):
            label = f"improvement over {baseline_name(first.over)}"
            return Intervals(label, rows, first.margin, signed=True, column=self.by)
        return Intervals(value_label(first.kind), rows, column=self.by, cost=first.kind == "cost")

    def records(self) -> list[dict[str, Any]]:
        return [{self.by: name, **record} for name, result in self.results.items() for record in result.records()]
