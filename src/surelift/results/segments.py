"""The same question, answered for every segment of a log."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

from surelift.errors import UsageError
from surelift.logs.segments import MISSING, Bins, SegmentColumn, segment_texts
from surelift.results.evaluation import PolicyValue, value_label
from surelift.results.improvement import Improvement
from surelift.results.outcomes import Outcomes
from surelift.results.provenance import Provenance
from surelift.results.result import OMITTED, ByName, Result, dict_key, plain_value
from surelift.statistics.splits import Segment
from surelift.views.figures import Intervals
from surelift.views.names import baseline_name, quoted, visible
from surelift.views.numbers import plain
from surelift.views.tables import decimals_of, interval_cells
from surelift.views.text import aligned, all_hold, doubt_lines, lines

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

    @classmethod
    def of(cls, results: Mapping[str, R], by: Segment, delta: float, rounds: int, provenance: Provenance) -> "Segments[R]":
        columns = by.columns()
        plain = len(columns) == 1 and isinstance(by.by[0], str)
        rows = {name: zip(columns, by.by, by.texts(name), strict=True) for name in results if not plain}
        values = {name: {column: _value(part, text) for column, part, text in row} for name, row in rows.items()}
        return cls(results, columns[0] if len(columns) == 1 else columns, delta, rounds, provenance, values)

    @property
    def _columns(self) -> tuple[str, ...]:
        return (self.by,) if isinstance(self.by, str) else self.by

    @property
    def _of_columns(self) -> str:
        return ", ".join(map(quoted, self._columns))

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
        """By segment; by both where one has several."""
        answers, several = self.answers(), len(self.answers()) > len(self)
        return {f"{segment}, {name}" if several else segment: answer for segment, name, answer in answers}

    def sentence(self) -> str:
        if not self.answers():
            return f"Answers for {len(self)} segments of {self._of_columns}."
        if not hasattr(self.first, "certified"):
            return f"Values for {len(self)} segments of {self._of_columns}."
        names = ", ".join(map(quoted, self.certified)) or "none"
        return f"Certified in {len(self.certified)} of {len(self)} segments of {self._of_columns}: {names}."

    def text(self) -> str:
        answers = self.answers()
        if not answers:
            return lines(self.sentence(), [f"{visible(name)}: {one.sentence()}" for name, one in self.results.items()])
        first = answers[0][2]
        improves = isinstance(first, Improvement)
        about = "outcome" if isinstance(self.first, Outcomes) else "policy"
        head = ("segment", about, first.counted, "estimate", "at least", "at most")
        rows: list[tuple[str, ...]] = [(*head, "verdict") if improves else head]
        for segment, name, answer in answers:
            row = answer.interval("")
            reference = answer.margin if isinstance(answer, Improvement) else None
            cells = interval_cells(row, decimals_of(row), sign=improves, reference=reference)
            cells = (*cells, row.verdict) if improves else cells
            rows.append((visible(segment), quoted(name), f"{answer.rounds:,}", *cells))
        count = f"{len(self)} segments, {self.rounds:,} {first.counted}"
        return lines(
            f"By {self._of_columns}: {count}, delta {self.delta:g} split evenly{_asked(first)}",
            aligned(rows),
            f"Together, all {'lower bounds' if improves else 'bounds'} {all_hold(first.promise, self.delta)}.",
            doubt_lines(first.doubts),
        )

    def lead(self) -> tuple[str, ...]:
        answers = self.answers()
        if not answers:
            return (f"{self.rounds:,} rounds.",)
        first = answers[0][2]
        sides = "lower bounds" if isinstance(first, Improvement) else "bounds"
        return f"{self.rounds:,} {first.counted}.", f"Together, all {sides} {all_hold(first.promise, self.delta)}."

    def figure(self) -> Intervals:
        answers = self.answers()
        if not answers:
            raise UsageError("answers of this kind have a figure for each segment, not one for all.")
        rows = tuple(answer.interval(name) for name, answer in self.bounded().items())
        first = answers[0][2]
        if isinstance(self.first, Outcomes):
            return replace(self.first.figure(), rows=rows, column=", ".join(self._columns))
        if isinstance(first, Improvement):
            label = f"improvement over {baseline_name(first.over)}"
            return Intervals(label, rows, first.margin, signed=True, column=", ".join(self._columns))
        return Intervals(value_label(first.kind), rows, column=", ".join(self._columns), cost=first.kind == "cost")

    def to_dict(self) -> dict[str, Any]:
        content = ByName.to_dict(self)
        return {**content, "column_values": plain_value(self.column_values)} if self.column_values else content

    def records(self) -> list[dict[str, Any]]:
        columns = self._columns
        return [
            # A column of the log may be called as one of the answer, such as "policy".
            {f"by {column}" if column in record else column: text for column, text in parts} | record
            for name, result in self.results.items()
            for parts in [list(zip(columns, segment_texts(name, len(columns)), strict=True))]
            for record in result.records()
        ]


def _value(part: SegmentColumn, text: str) -> Any:
    if text == MISSING:
        return None
    return part.ranges[part.names.index(text)] if isinstance(part, Bins) else text


def _asked(answer: BoundedAnswer) -> str:
    """The margin, where there is one."""
    if not isinstance(answer, Improvement) or not (answer.margin or answer.relative_margin):
        return ""
    share = answer.relative_margin
    return f"; margin {plain(answer.margin)}" if share is None else f"; margin {plain(100.0 * share)}%"
