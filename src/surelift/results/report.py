"""Everything a decision report needs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from surelift.results.evaluation import Evaluation
from surelift.results.forecast import Forecast
from surelift.results.health import Health
from surelift.results.history import History
from surelift.results.improvement import Improvement
from surelift.results.result import OMITTED, Result
from surelift.results.selection import Selection
from surelift.views.figures import Figure
from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import between, decimals_for, plain, rounded
from surelift.views.page import MOST_DRAWN, Page, Paragraph, Section, Tone, assumptions_section, shown
from surelift.views.tables import Table
from surelift.views.text import all_hold, doubt_lines


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """The content of a report. It has no selection where the logs are not fit for a guarantee."""

    health: Health
    selection: Selection | None
    values: Evaluation | None
    """Of every candidate and of production, at a delta of their own."""
    history: History | None
    """Of up to 100 candidates."""
    normal_intervals: Mapping[str, Improvement]
    """Asymptotic normal intervals, by name; empty for clusters and sampled rounds, where there are none."""
    forecasts: Mapping[str, Forecast]
    """For the candidates that are not certified, by name; empty where none is made: sampled, one round, or over 100."""
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
            tuple(_lead_of(self.selection, self.health)), tuple(self._sections(self.selection, self.values)),
            self.selection.certificate_content(),
        )  # fmt: skip

    def _titled(self, question: str) -> str:
        return f"{question} {self.source}" if self.source else question

    def _sections(self, selection: Selection, values: Evaluation) -> list[Section]:
        improvements = selection.improvements
        best = sorted(improvements, key=lambda name: -improvements[name].lower)[:MOST_DRAWN]
        sections = [_improvement_section(selection), _value_section(values, selection)]
        if self.history is not None:
            sections.append(_history_section(self.history, best, len(improvements)))
        sections += [assumptions_section(selection.assumptions), self.health.section()]
        sections += self.health.weight_sections(best)
        if self.normal_intervals:
            sections.append(_normal_section(improvements, self.normal_intervals))
        return [*sections, _forecast_section(self.forecasts, selection)]


def _history_section(history: History, best: list[str], candidates: int) -> Section:
    points = tuple(point for point in history.points if point.policy in best)
    few = f"Of {candidates} candidates, the {len(best)} with the highest lower bounds. "
    key = "Line: lower bound. Dashed: estimate. Dotted, for a single candidate: upper bound. "
    return replace(history, points=points).section(key + (few if len(best) < candidates else ""))


def _column_of(selection: Selection) -> str:
    logs = selection.provenance.question["declaration"]
    return quoted(logs.get("reward") or logs.get("cost"))


def _lead_of(selection: Selection, health: Health) -> Iterator[str]:
    """What the page says right below the verdict."""
    rows = f", from {health.rounds:,} rows" if health.rounds != selection.rounds else ""
    yield f"{selection.rounds:,} {selection.first.counted}{rows}."
    if health.mean_reward is not None:
        share = _certified_share(selection) if selection.over == "production" else ""
        yield f"Production {health.earned()}, in the units of {_column_of(selection)}.{share}"
    risk = f"The probability that any lower bound on an improvement is wrong is at most {plain(selection.delta)}"
    yield f"{risk}, apart from the doubt stated below." if selection.doubts else f"{risk}."
    warnings = sum(finding.severity == "warn" for finding in health.findings)
    if warnings:
        yield f"Note the {'warning' if warnings == 1 else f'{warnings} warnings'} about the logs, below."
    if len(selection.improvements) <= MOST_DRAWN:
        yield from (improvement.sentence() for improvement in selection.improvements.values())
    yield from doubt_lines(selection.doubts)


def _certified_share(selection: Selection) -> str:
    """The certified improvement in per cent, where that is known."""
    lower = None if selection.chosen is None else selection.improvements[selection.chosen].relative_lower
    if lower is None or lower < 0.01:
        return ""
    return f" The certified improvement is at least {rounded(100.0 * lower, 0, towards='down')}% of that."


def _improvement_section(selection: Selection) -> Section:
    together = all_hold(selection.first.promise, selection.delta)
    doubtful = f" All of this is in doubt: {'; '.join(selection.doubts)}." if selection.doubts else ""
    meaning = (
        f"Each line runs from the lower to the upper bound on the improvement per round, in the units of "
        f"{_column_of(selection)}; the dot is the estimate. A candidate is certified when its whole line lies to the right "
        f"of {plain(selection.margin)}{', without a doubt' if selection.doubts else ''}. Together, all lower bounds "
        f"{together}.{doubtful}"
    )
    heading = f"The improvement over {baseline_name(selection.over)}"
    return Section(heading, (*shown(selection.figure_or_none()), Paragraph(meaning)))


def _value_section(values: Evaluation, selection: Selection) -> Section:
    together = all_hold(selection.first.promise, selection.delta)
    meaning = (
        f"Per round, in the units of {_column_of(selection)}. All of these bounds together {together}, separately from "
        "those above. Production is one of the policies, so each gets a smaller share of delta than without it. To compare "
        "two policies, use the improvement: it is bounded on the same rounds, and much sharper than the distance between "
        "two intervals."
    )
    return Section("What each policy is worth", (*shown(values.figure_or_none()), Paragraph(meaning)))


def _normal_section(improvements: Mapping[str, Improvement], normal: Mapping[str, Improvement]) -> Section:
    rows = []
    for name, certified in improvements.items():
        asymptotic = normal[name]
        decimals = decimals_for(min(certified.upper - certified.lower, asymptotic.upper - asymptotic.lower))
        intervals = (between(each.lower, each.upper, decimals) for each in (certified, asymptotic))
        rows.append((name, *intervals, _conclusion(asymptotic)))
    caveat = (
        "A normal interval is the mean plus or minus a normal quantile of its standard error, at the same level. It is "
        "valid only for very many rounds and a single look, and is wrong more often than it says where a few rounds carry "
        "most of the weight."
    )
    table = Table(("policy", "this interval", "normal interval", "its conclusion"), tuple(rows)).brief()
    return Section("What a normal interval would have said", (Paragraph(table=table), Paragraph(caveat)))


def _conclusion(normal: Improvement) -> str:
    """What one would conclude from a normal interval alone."""
    if normal.lower > normal.margin:
        return "better" if normal.margin == 0.0 else "yes"
    return "undecided" if normal.upper >= normal.margin else "worse" if normal.margin == 0.0 else "no"


def _forecast_section(forecasts: Mapping[str, Forecast], selection: Selection) -> Section:
    items = tuple(f"{quoted(name)}: {forecast.sentence()}" for name, forecast in forecasts.items())
    certified = all(improvement.certified for improvement in selection.improvements.values())
    needless = "Every candidate is certified: no more rounds are needed."
    reason = needless if certified else "There is no forecast for these logs, or for so many candidates."
    return Section(Forecast.title, (Paragraph(items=items) if items else Paragraph(reason),))
