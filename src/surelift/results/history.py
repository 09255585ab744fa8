"""How the evidence grew."""

from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.bounds.bound import Promise
from surelift.results.evaluation import value_label
from surelift.results.result import Result
from surelift.views.charts import drawn_lines
from surelift.views.figures import Growing, Line
from surelift.views.formats import baseline_name
from surelift.views.page import Paragraph, Section, shown
from surelift.views.text import figure_lines, lines


@dataclass(frozen=True, slots=True)
class Point:
    """The answer of the first ``rounds`` rounds of the log about one policy."""

    policy: str
    rounds: int
    estimate: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True, repr=False)
class History(Result):
    """The bounds on each policy after more and more rounds, in the order of the log."""

    points: tuple[Point, ...]
    about: str
    """What is bounded: improvement, value or cost."""
    over: str | None
    margin: float
    delta: float
    counted: str
    promise: Promise
    doubts: tuple[str, ...]

    title: ClassVar = "How the evidence grew"
    rows: ClassVar = "points"

    def sentence(self) -> str:
        count = len({point.rounds for point in self.points})
        validity = {
            "any number of looks": "each valid when it was reached if rows stand in the order of their decisions",
            "one look": "of which only one, fixed in advance, may be looked at",
        }.get(self.promise, "none of them certified")
        doubts = f"; in doubt: {'; '.join(self.doubts)}" if self.doubts else ""
        return f"The bounds at {count} {'point' if count == 1 else 'points'} of the log, {validity}{doubts}."

    def text(self) -> str:
        return lines(figure_lines(self.figure()), self.sentence())

    def figure(self) -> Growing:
        drawn, of_policy = [], dict[str, list[Point]]()
        for point in self.points:
            of_policy.setdefault(point.policy, []).append(point)
        for name, points in of_policy.items():
            columns = zip(*((p.rounds, p.lower, p.estimate, p.upper) for p in points), strict=True)
            drawn.append(Line(name, *(tuple(column) for column in columns)))
        improves = self.about == "improvement"
        label = f"improvement over {baseline_name(self.over)}" if improves and self.over else value_label(self.about)
        return Growing(label, self.counted, tuple(drawn), self.margin if improves else None)

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        return Result.plot(self, ax, title=self.title if title is None else title)

    def section(self, note: str = "") -> Section:
        """The history, as a section of another result's page."""
        figure = self.figure()
        return Section(self.title, (*shown(figure), Paragraph(f"{note}{drawn_lines(figure)} {self.sentence()}")))
