"""The same question, answered for every segment of a log."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

from surelift.logs.segments import MISSING, Bins, SegmentColumn, segment_texts
from surelift.results.evaluation import PolicyValue
from surelift.results.improvement import Improvement
from surelift.results.outcomes import Outcomes
from surelift.results.provenance import Provenance
from surelift.results.result import OMITTED, Result, dict_key, plain_value
from surelift.results.several import ByName
from surelift.statistics.splits import Segment
from surelift.views.figures import Figure
from surelift.views.formats import quoted, visible
from surelift.views.tables import interval_cells
from surelift.views.text import aligned, doubt_lines, lines

R = TypeVar("R", bound=Result)
BoundedAnswer = PolicyValue | Improvement


@dataclass(frozen=True, slots=True, repr=False)
class Segments(ByName[R], Generic[R]):
    """The answers by segment; all hold at once, each at delta divided by their number."""

    results: Mapping[str, R] = field(metadata=dict_key("segments"))
    by: str | tuple[str, ...]
    """The column of segments, or the columns whose combinations they are."""
    delta: float
    rounds: int
    provenance: Provenance = field(compare=False)
    column_values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, metadata=OMITTED)
    """What each segment has in each column, where names do not say it: a text, or where a bin begins and ends."""

    title: ClassVar = "Where is it better?"
    without_figure: ClassVar = "answers of this kind have a figure for each segment, not one for all."

    @classmethod
    def of(cls, results: Mapping[str, R], by: Segment, delta: float, rounds: int, provenance: Provenance) -> "Segments[R]":
        columns, values = by.columns(), dict[str, dict[str, Any]]()
        if len(columns) > 1 or not isinstance(by.by[0], str):
            for name in results:
                parts = zip(columns, by.by, by.texts(name), strict=True)
                values[name] = {column: _value(part, text) for column, part, text in parts}
        return cls(results, columns[0] if len(columns) == 1 else columns, delta, rounds, provenance, values)

    @property
    def _columns(self) -> tuple[str, ...]:
        return (self.by,) if isinstance(self.by, str) else self.by

    @property
    def certified(self) -> tuple[str, ...]:
        """The segments whose improvement is certified."""
        return tuple(name for name, result in self.results.items() if getattr(result, "certified", False))

    def answers(self) -> list[tuple[str, str, BoundedAnswer]]:
        """Every bounded answer with its segment and its policy, or its outcome: of either there may be several."""
        return [
            (segment, name, answer) for segment, result in self.results.items() for name, answer in result.bounded().items()
        ]

    def bounded(self) -> Mapping[str, BoundedAnswer]:
        """The bounded answers by segment; by segment and name where one has several."""
        answers, several = self.answers(), len(self.answers()) > len(self)
        return {f"{segment}, {name}" if several else segment: answer for segment, name, answer in answers}

    def sentence(self) -> str:
        segments = f"{len(self)} segments of {', '.join(map(quoted, self._columns))}"
        if not self.answers() or not hasattr(self.first, "certified"):
            return f"{'Values' if self.answers() else 'Answers'} for {segments}."
        return f"Certified in {len(self.certified)} of {segments}: {', '.join(map(quoted, self.certified)) or 'none'}."

    def text(self) -> str:
        answers = self.answers()
        if not answers:
            return lines(self.sentence(), [f"{visible(name)}: {one.sentence()}" for name, one in self.results.items()])
        first = answers[0][2]
        improves = isinstance(first, Improvement)
        asked = f"; margin {first.amount_of_margin}" if isinstance(first, Improvement) and first.asked_margin else ""
        about = "outcome" if isinstance(self.first, Outcomes) else "policy"
        head = ("segment", about, first.counted, "estimate", "at least", "at most", "verdict")
        rows = [head if improves else head[:-1]]
        for segment, name, answer in answers:
            row = answer.interval("")
            cells = interval_cells(row, sign=improves, reference=row.mark)
            verdict = (row.verdict,) if improves else ()
            rows.append((visible(segment), quoted(name), f"{answer.rounds:,}", *cells, *verdict))
        return lines(
            f"By {', '.join(map(quoted, self._columns))}: {len(self)} segments, {self.rounds:,} {first.counted}, delta "
            f"{self.delta:g} split evenly{asked}",
            aligned(rows),
            self.together(),
            doubt_lines(doubt for _, _, answer in answers for doubt in answer.doubts),
        )

    def lead(self) -> tuple[str, ...]:
        answers = self.answers()
        return (f"{self.rounds:,} {answers[0][2].counted}.", self.together()) if answers else (f"{self.rounds:,} rounds.",)

    def figure(self) -> Figure:
        rows = [answer.interval(name) for name, answer in self.bounded().items()]
        column = ", ".join(self._columns)
        if not rows:
            return Result.figure(self)
        if isinstance(self.first, Outcomes):
            return replace(self.first.figure(), rows=tuple(rows), column=column)
        return self.answers()[0][2].figure_of(rows, column=column)

    def to_dict(self) -> dict[str, Any]:
        content = ByName.to_dict(self)
        return {**content, "column_values": plain_value(self.column_values)} if self.column_values else content

    def record_of(self, name: str, record: dict[str, Any]) -> dict[str, Any]:
        parts = zip(self._columns, segment_texts(name, len(self._columns)), strict=True)
        # A column of the log may be called as one of the answer, such as "policy".
        return {f"by {column}" if column in record else column: text for column, text in parts} | record


def _value(part: SegmentColumn, text: str) -> Any:
    """The text of a segment, or where its bin begins and ends; None for rounds without one."""
    if text == MISSING:
        return None
    return part.ranges[part.names.index(text)] if isinstance(part, Bins) else text
