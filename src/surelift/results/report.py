"""Everything a decision report needs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from surelift.results.evaluation import Evaluation
from surelift.results.forecast import Forecast
from surelift.results.health import Health
from surelift.results.history import History
from surelift.results.improvement import STEADY, Improvement
from surelift.results.lift import ZERO_IS_NONE, upper_explained
from surelift.results.outcomes import Outcomes, claims_figure
from surelift.results.result import OMITTED, Result
from surelift.results.segments import Segments
from surelift.results.selection import Selection
from surelift.views.charts import STAR
from surelift.views.figures import Figure
from surelift.views.formats import baseline_name, between, decimals_for, plain, quoted
from surelift.views.page import MOST_DRAWN, Page, Paragraph, Section, Tone, assumptions_section, shown
from surelift.views.tables import Table
from surelift.views.text import all_hold, doubt_lines

# Candidates that get a sentence each below the verdict.
MOST_SENTENCES = 8


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """The content of a report. It has no selection where the logs are not fit for a guarantee."""

    health: Health
    selection: Selection | None
    values: Evaluation | None
    """Every candidate's and production's, at a delta of their own."""
    history: History | None
    """The history of up to 100 candidates."""
    normal_intervals: Mapping[str, Improvement]
    """Asymptotic normal intervals, by name; empty for clusters and sampled rounds, where there are none."""
    forecasts: Mapping[str, Forecast]
    """Forecasts of candidates not certified, by name; empty if sampled, one round, several loggers, or over 100."""
    segments: Segments[Selection] | None = None
    """The same candidates in each segment, where segments were named."""
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)
    """What each candidate does to other columns, by name, where outcomes were named."""
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

    @property
    def _lift(self) -> str:
        """The certified lift of the chosen candidate."""
        selection = self.selection
        if selection is None or selection.chosen is None or selection.margin:
            return ""
        return selection[selection.chosen].certified_lift

    def sentence(self) -> str:
        """The answer, in per cent where that is certified."""
        if self.selection is None or not self._lift:
            return self.answer.sentence()
        return f"Choose {quoted(self.selection.chosen)}: {self._lift}, {STEADY}."

    def text(self) -> str:
        one_each = (self.health, self.selection, self.values, self.segments)
        parts = (*one_each, *self.outcomes.values(), *self.forecasts.values())
        return "\n\n".join(part.text() for part in parts if part is not None)

    def figure(self) -> Figure:
        return self.answer.figure()

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """That of the selection, or of the weights where the logs are not fit."""
        return self.answer.plot(ax, title=title)

    def records(self) -> list[dict[str, Any]]:
        return self.answer.records()

    def tone(self) -> Tone:
        return Result.tone(self) if self.health.ok else "bad"

    def page(self) -> Page:
        of_source = f" {self.source}" if self.source else ""
        if self.selection is None or self.values is None:
            return replace(self.health.page(), title=f"Is it better?{of_source}", tone="bad")
        selection = self.selection
        return Page(
            f"Better than {baseline_name(selection.over)}?{of_source}", self.tone(), self.sentence(),
            tuple(self._lead(selection)), tuple(self._sections(selection, self.values)),
            selection.certificate_content(), policies=(*selection.improvements, *self.values), chosen=selection.chosen,
            method=selection.made_by(),
        )  # fmt: skip

    def _lead(self, selection: Selection) -> Iterator[str]:
        """Right below the verdict."""
        health, counted = self.health, selection.first.counted
        rows = f", from {health.rounds:,} rows" if health.rounds != selection.rounds else ""
        earned = ""
        if health.mean_reward is not None:
            per_row = health.earned("row" if counted == "clusters" else "round")
            earned = f" Production {per_row}, in the units of {_column_of(selection)}."
        yield f"{selection.rounds:,} {counted}{rows}.{earned}"
        yield from selection.notes
        if self._lift:
            yield f"Per round, it is {selection.amount}."
        risk = f"The probability that any lower bound on an improvement is wrong is at most {plain(selection.delta)}"
        separately = " The bound in per cent is a separate one, at the same level." if self._lift else ""
        yield f"{risk}{', apart from the doubt stated below' if selection.doubts else ''}.{separately}"
        warnings = sum(finding.severity == "warn" for finding in health.findings)
        if warnings:
            yield f"Note the {'warning' if warnings == 1 else f'{warnings} warnings'} about the logs, below."
        if len(selection.improvements) <= MOST_SENTENCES:
            yield from (one.sentence() for name, one in selection.improvements.items() if name != selection.chosen)
        yield from doubt_lines(selection.doubts)

    def _sections(self, selection: Selection, values: Evaluation) -> Iterator[Section]:
        improvements = selection.improvements
        ordered = list(improvements)
        if len(ordered) > MOST_SENTENCES:  # then the best come first
            ordered.sort(key=lambda name: -improvements[name].lower)
            selection = replace(selection, improvements={name: improvements[name] for name in ordered})
            kept = dict.fromkeys([*(name for name in values if name not in improvements), *ordered])
            values = replace(values, results={name: values[name] for name in kept})
        yield self._improvement_section(selection)
        yield _value_section(values, selection)
        for outcomes in self.outcomes.values():
            items = tuple(f"{quoted(name)}: {claim.words}" for name, claim in outcomes.claims.items())
            claims = Paragraph(f"{outcomes.sentence()} {outcomes.together()} The claims:", items=items)
            heading = f"What {quoted(outcomes.first.policy)} does to other outcomes"
            yield Section(heading, (*shown(claims_figure(outcomes.results)), claims))
        if self.segments is not None:
            items = tuple(f"{quoted(name)}: {answer.sentence()}" for name, answer in self.segments.items())
            together = "These bounds hold together, separately from those above."
            yield Section("Segment by segment", (Paragraph(together, items=items),))
        if self.history is not None:
            best = ordered[:MOST_DRAWN]
            points = tuple(point for name in best for point in self.history.points if point.policy == name)
            few = f"Of {len(ordered)} candidates, the {len(best)} with the highest lower bounds. "
            yield replace(self.history, points=points).section(few if len(best) < len(ordered) else "")
        zero = (ZERO_IS_NONE.format(kind=self.health.kind),) if self._lift else ()
        yield assumptions_section(dict.fromkeys([*selection.assumptions, *zero]))
        yield self.health.section()
        yield from self.health.weight_sections(ordered)
        if self.normal_intervals:
            yield _normal_section(selection.improvements, self.normal_intervals)
        items = tuple(f"{quoted(name)}: {forecast.sentence()}" for name, forecast in self.forecasts.items())
        reason = "There is no forecast for these logs, or for so many candidates."
        if all(improvement.certified for improvement in improvements.values()):
            reason = "Every candidate is certified: no more rounds are needed."
        yield Section(Forecast.title, (Paragraph(items=items) if items else Paragraph(reason),))

    def _improvement_section(self, selection: Selection) -> Section:
        declared, earned = selection.provenance.question["declaration"], None
        if self.health.mean_reward is not None:  # as a share of the declared range; of a cost, what is left of the highest
            low, high = declared.get("reward_range", (0.0, 1.0))
            earned = float((self.health.mean_reward - low) / (high - low))
            earned = 1.0 - earned if self.health.kind == "cost" else earned
        # Production's probabilities of all actions could have been logged, and were not.
        listed = declared.get("logging") is None and not declared.get("density") and selection.control == "none"
        explained = upper_explained(selection.improvements.values(), earned=earned, listed=listed)
        doubtful = f" All of this is in doubt: {'; '.join(selection.doubts)}." if selection.doubts else ""
        star = "" if selection.chosen is None else f"; {STAR} marks the chosen one"
        meaning = (
            f"Each line runs from the lower to the upper bound on the improvement per round, in the units of "
            f"{_column_of(selection)}; the dot is the estimate, filled where the candidate is certified{star}. It is "
            f"certified when its whole line lies to the right of {plain(selection.margin)}"
            f"{', without a doubt' if doubtful else ''}. {selection.together()}{doubtful}"
        )
        paragraphs = (Paragraph(meaning), *((Paragraph(explained),) if explained else ()))
        heading = f"The improvement over {baseline_name(selection.over)}"
        return Section(heading, (*shown(selection.figure_or_none()), *paragraphs))


def _column_of(selection: Selection) -> str:
    logs = selection.provenance.question["declaration"]
    return quoted(logs.get("reward") or logs.get("cost"))


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
        better, worse = ("better", "worse") if asymptotic.margin == 0.0 else ("yes", "no")
        within = "undecided" if asymptotic.upper >= asymptotic.margin else worse
        conclusion = better if asymptotic.lower > asymptotic.margin else within
        rows.append((name, *(between(each.lower, each.upper, decimals) for each in (certified, asymptotic)), conclusion))
    caveat = (
        "A normal interval is the mean plus or minus a normal quantile of its standard error, at the same level. It is "
        "valid only for very many rounds and a single look, and is wrong more often than it says where a few rounds carry "
        "most of the weight."
    )
    table = Table(("policy", "this interval", "normal interval", "its conclusion"), tuple(rows)).brief()
    return Section("What a normal interval would have said", (Paragraph(table=table), Paragraph(caveat)))
