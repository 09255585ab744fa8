"""Everything a decision report needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from surelift.results.evaluation import Evaluation
from surelift.results.fields import OMITTED
from surelift.results.forecast import Forecast
from surelift.results.health import Health
from surelift.results.history import History
from surelift.results.improvement import Improvement
from surelift.results.report_sections import (
    forecast_section,
    improvement_section,
    lead_of,
    normal_section,
    value_section,
)
from surelift.results.result import Result
from surelift.results.selection import Selection
from surelift.views.figures import Figure
from surelift.views.names import baseline_name
from surelift.views.page import MOST_DRAWN, Page, Section, Tone, assumptions_section


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """The content of a report. It has no selection where the logs are not fit for a guarantee."""

    health: Health
    selection: Selection | None
    values: Evaluation | None
    """Of every candidate and of production, at a delta of their own."""
    history: History | None
    normal_intervals: Mapping[str, Improvement]
    """Asymptotic normal intervals, by name; empty for clusters and sampled rounds, where there are none."""
    forecasts: Mapping[str, Forecast]
    """For the candidates that are not certified, by name; empty where no forecast is possible: sampled, or one round."""
    source: str = field(metadata=OMITTED, default="")
    """The name of the log, where it has one."""

    derived: ClassVar = ("certified",)

    @property
    def certified(self) -> bool:
        return self.selection is not None and self.selection.certified

    @property
    def answer(self) -> Health | Selection:
        """The selection; where the logs are not fit, their health."""
        return self.health if self.selection is None else self.selection

    def sentence(self) -> str:
        return self.answer.sentence()

    def text(self) -> str:
        parts = [self.health, self.selection, self.values, *self.forecasts.values()]
        return "\n\n".join(part.text() for part in parts if part is not None)

    def figure(self) -> Figure:
        return self.answer.figure()

    def records(self) -> list[dict[str, Any]]:
        return self.answer.records()

    def tone(self) -> Tone:
        return "bad" if not self.health.ok else "good" if self.certified else "open"

    def page(self) -> Page:
        if self.selection is None or self.values is None:
            return replace(self.health.page(), title=self._titled("Is it better?"), tone="bad")
        return Page(
            self._titled(f"Better than {baseline_name(self.selection.over)}?"), self.tone(), self.sentence(),
            tuple(lead_of(self.selection, self.health)), tuple(self._sections(self.selection, self.values)),
            self.selection.certificate_content(),
        )  # fmt: skip

    def _titled(self, question: str) -> str:
        return f"{question} {self.source}" if self.source else question

    def _sections(self, selection: Selection, values: Evaluation) -> list[Section]:
        improvements = selection.improvements
        best = sorted(improvements, key=lambda name: -improvements[name].lower)[:MOST_DRAWN]
        sections = [improvement_section(selection), value_section(values, selection)]
        if self.history is not None:
            sections.append(_history_section(self.history, best, len(improvements)))
        sections += [assumptions_section(selection.assumptions), self.health.section()]
        sections += self.health.weight_sections(best)
        if self.normal_intervals:
            sections.append(normal_section(improvements, self.normal_intervals))
        return [*sections, forecast_section(self.forecasts, selection)]


def _history_section(history: History, best: list[str], candidates: int) -> Section:
    points = tuple(point for point in history.points if point.policy in best)
    few = (
        f"Of {candidates} candidates, the {len(best)} with the highest lower bounds. " if len(best) < candidates else ""
    )
    key = "Line: lower bound. Dashed: estimate. Dotted, for a single candidate: upper bound. "
    return replace(history, points=points).section(key + few)
