"""Everything a decision report needs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from surelift.results.evaluation import Evaluation
from surelift.results.forecast import Forecast
from surelift.results.health import Health
from surelift.results.history import History
from surelift.results.improvement import STEADY, Improvement
from surelift.results.lift import ZERO_IS_NONE
from surelift.results.outcomes import Outcomes, claims_figure
from surelift.results.result import OMITTED, Result
from surelift.results.segments import Segments
from surelift.results.selection import Selection
from surelift.results.width import upper_explained
from surelift.views.figures import Figure
from surelift.views.identities import STAR
from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import between, decimals_for, plain
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
    """Of every candidate and of production, at a delta of their own."""
    history: History | None
    """Of up to 100 candidates."""
    normal_intervals: Mapping[str, Improvement]
    """Asymptotic normal intervals, by name; empty for clusters and sampled rounds, where there are none."""
    forecasts: Mapping[str, Forecast]
    """For the candidates that are not certified, by name; empty where none is made: sampled, one round, or over 100."""
    segments: Segments[Selection] | None = None
    """The same candidates in each segment, where segments were named."""
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)
    """What each candidate does to other columns, by name, where outcomes were named."""
    source: str = field(metadata=OMITTED, default="")
    """The name of the log, where it has one."""

    derived: ClassVar = ("certified",)

    @property
    def certified(self) -> bool:
        """Whether a candidate is certified."""
        return self.selection is not None and self.selection.certified

    @property
    def answer(self) -> Health | Selection:
        """The selection; where the logs are not fit, their health."""
        return self.health if self.selection is None else self.selection

    def sentence(self) -> str:
        """In per cent, where that is certified."""
        return self.answer.sentence() if self.selection is None else _verdict(self.selection)

    def text(self) -> str:
        parts = [
            self.health,
            self.selection,
            self.values,
            self.segments,
            *self.outcomes.values(),
            *self.forecasts.values(),
        ]
        return "\n\n".join(part.text() for part in parts if part is not None)

    def figure(self) -> Figure:
        return self.answer.figure()

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """That of the selection, or of the weights where the logs are not fit."""
        return self.answer.plot(ax, title=title)

    def records(self) -> list[dict[str, Any]]:
        return self.answer.records()

    def tone(self) -> Tone:
        return "bad" if not self.health.ok else "good" if self.certified else "open"

    def page(self) -> Page:
        if self.selection is None or self.values is None:
            return replace(self.health.page(), title=self._titled("Is it better?"), tone="bad")
        selection = self.selection
        return Page(
            self._titled(f"Better than {baseline_name(selection.over)}?"), self.tone(), self.sentence(),
            tuple(_lead_of(selection, self.health)), tuple(self._sections(selection, self.values)),
            selection.certificate_content(), policies=(*selection.improvements, *self.values), chosen=selection.chosen,
            method=selection.made_by(),
        )  # fmt: skip

    def _titled(self, question: str) -> str:
        return f"{question} {self.source}" if self.source else question

    def _earned(self, selection: Selection) -> float | None:
        """Production's mean reward as a share of the declared range; of a cost, what is left of the highest."""
        if self.health.mean_reward is None:
            return None
        low, high = selection.provenance.question["declaration"].get("reward_range", (0.0, 1.0))
        share = float((self.health.mean_reward - low) / (high - low))
        return 1.0 - share if self.health.kind == "cost" else share

    def _sections(self, selection: Selection, values: Evaluation) -> list[Section]:
        improvements = selection.improvements
        ordered = list(improvements)
        if len(ordered) > MOST_SENTENCES:  # then the best come first
            ordered.sort(key=lambda name: -improvements[name].lower)
            selection = replace(selection, improvements={name: improvements[name] for name in ordered})
            kept = dict.fromkeys([*(name for name in values if name not in improvements), *ordered])
            values = replace(values, results={name: values[name] for name in kept})
        best = ordered[:MOST_DRAWN]
        explained = upper_explained(improvements.values(), earned=self._earned(selection), listed=_listed(selection))
        sections = [_improvement_section(selection, explained), _value_section(values, selection)]
        sections += map(_outcomes_section, self.outcomes.values())
        if self.segments is not None:
            sections.append(_segments_section(self.segments))
        if self.history is not None:
            sections.append(_history_section(self.history, best, len(improvements)))
        zero = (ZERO_IS_NONE.format(kind=self.health.kind),) if _lift_of(selection) else ()
        sections += [assumptions_section(dict.fromkeys([*selection.assumptions, *zero])), self.health.section()]
        sections += self.health.weight_sections(ordered)
        if self.normal_intervals:
            sections.append(_normal_section(selection.improvements, self.normal_intervals))
        return [*sections, _forecast_section(self.forecasts, selection)]


def _outcomes_section(outcomes: Outcomes) -> Section:
    first, items = outcomes.first, tuple(f"{quoted(name)}: {claim.words}" for name, claim in outcomes.claims.items())
    paragraph = Paragraph(f"{outcomes.sentence()} {outcomes.together()} The claims:", items=items)
    figure = claims_figure(outcomes.results, over=first.over)
    return Section(f"What {quoted(first.policy)} does to other outcomes", (*shown(figure), paragraph))


def _segments_section(segments: Segments[Selection]) -> Section:
    sentences = tuple(f"{quoted(name)}: {selection.sentence()}" for name, selection in segments.results.items())
    paragraph = Paragraph("These bounds hold together, separately from those above.", items=sentences)
    return Section("Segment by segment", (paragraph,))


def _history_section(history: History, best: list[str], candidates: int) -> Section:
    points = tuple(point for name in best for point in history.points if point.policy == name)
    few = f"Of {candidates} candidates, the {len(best)} with the highest lower bounds. "
    return replace(history, points=points).section(few if len(best) < candidates else "")


def _column_of(selection: Selection) -> str:
    logs = selection.provenance.question["declaration"]
    return quoted(logs.get("reward") or logs.get("cost"))


def _verdict(selection: Selection) -> str:
    """In per cent, where that is certified."""
    lift = _lift_of(selection)
    return f"Choose {quoted(selection.chosen)}: {lift}, {STEADY}." if lift else selection.sentence()


def _lift_of(selection: Selection) -> str:
    return "" if selection.chosen is None or selection.margin else selection[selection.chosen].certified_lift


def _lead_of(selection: Selection, health: Health) -> Iterator[str]:
    """What the page says right below the verdict."""
    rows = f", from {health.rounds:,} rows" if health.rounds != selection.rounds else ""
    earned = ""
    if health.mean_reward is not None:
        per_row = health.earned("row" if selection.first.counted == "clusters" else "round")
        earned = f" Production {per_row}, in the units of {_column_of(selection)}."
    yield f"{selection.rounds:,} {selection.first.counted}{rows}.{earned}"
    yield from selection.aloud()
    in_per_cent = bool(_lift_of(selection))
    if in_per_cent:
        yield f"Per round, it is {selection.amount}."
    risk = f"The probability that any lower bound on an improvement is wrong is at most {plain(selection.delta)}"
    separately = " The bound in per cent is a separate one, at the same level." if in_per_cent else ""
    yield f"{risk}{', apart from the doubt stated below' if selection.doubts else ''}.{separately}"
    warnings = sum(finding.severity == "warn" for finding in health.findings)
    if warnings:
        yield f"Note the {'warning' if warnings == 1 else f'{warnings} warnings'} about the logs, below."
    if len(selection.improvements) <= MOST_SENTENCES:
        yield from (one.sentence() for name, one in selection.improvements.items() if name != selection.chosen)
    yield from doubt_lines(selection.doubts)


def _listed(selection: Selection) -> bool:
    """Whether production's probabilities of all actions could have been logged, and were not."""
    declared = selection.provenance.question["declaration"]
    return declared.get("logging") is None and not declared.get("density") and selection.control == "none"


def _improvement_section(selection: Selection, explained: str) -> Section:
    together = all_hold(selection.first.promise, selection.delta)
    doubtful = f" All of this is in doubt: {'; '.join(selection.doubts)}." if selection.doubts else ""
    doubtless = ", without a doubt" if selection.doubts else ""
    star = "" if selection.chosen is None else f"; {STAR} marks the chosen one"
    meaning = (
        f"Each line runs from the lower to the upper bound on the improvement per round, in the units of "
        f"{_column_of(selection)}; the dot is the estimate, filled where the candidate is certified{star}. It is certified "
        f"when its whole line lies to the right of {plain(selection.margin)}{doubtless}. Together, all lower bounds "
        f"{together}.{doubtful}"
    )
    paragraphs = (Paragraph(meaning), *((Paragraph(explained),) if explained else ()))
    return Section(
        f"The improvement over {baseline_name(selection.over)}", (*shown(selection.figure_or_none()), *paragraphs)
    )


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
