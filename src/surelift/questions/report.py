"""Everything a decision report needs, from one pass: health, selection, values, forecasts and the history."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

from surelift import capabilities
from surelift.errors import LogsError
from surelift.logs.faults import Finding
from surelift.policies import Policy
from surelift.policies.policy import Production
from surelift.policies.resolve import PRODUCTION
from surelift.questions.claims import Place
from surelift.questions.forecast import block_requests, forecast_of
from surelift.questions.health import HealthQuestion
from surelift.questions.improvement import ImprovementsQuestion
from surelift.questions.method import Counts, choose_method, no_count
from surelift.questions.outcomes import OutcomesQuestion, named_outcomes
from surelift.questions.question import Question
from surelift.questions.selection import SelectionQuestion
from surelift.questions.value import ValueQuestion
from surelift.results.history import History, Point
from surelift.results.improvement import Improvement
from surelift.results.outcomes import Outcome
from surelift.results.report import Report
from surelift.statistics.plan import Request
from surelift.statistics.splits import Chunks, Day, Split
from surelift.statistics.sums import COUNT, Sums, requests_of
from surelift.traits.logs import Logs

POINTS = 40
# Their courses are kept block by block and chunk by chunk, half a megabyte for each; of more, only the answers are.
MOST_FOLLOWED = 100
NORMAL = choose_method("normal", "none")


@dataclass(frozen=True, kw_only=True)
class ReportQuestion(ImprovementsQuestion):
    """Several statements, each at delta: the improvements, the values, the improvements by segment, and those of outcomes.

    Within each all bounds hold together.
    """

    kind: ClassVar[str] = "report"
    outcomes: Mapping[str, Outcome] | None = None
    """Columns that judge every candidate beside the reward."""
    source: str = ""
    """What the log is called, where it has a name."""
    ordered: bool = True
    """The rows of the log have an order."""

    def check_fields(self) -> None:
        super().check_fields()
        if self.outcomes is not None:
            object.__setattr__(self, "outcomes", named_outcomes(self.outcomes))

    def resolved(self, logs: Logs) -> Question:
        source = str(getattr(logs.source, "called", ""))
        return replace(super().resolved(logs), source=source, ordered=self.ordered and logs.source.ordered)  # type: ignore[call-arg]

    @property
    def _shared(self) -> dict[str, Any]:
        return {"declaration": self.declaration, "method": self.method, "delta": self.delta}

    @property
    def _comparing(self) -> dict[str, Any]:
        return {**self._shared, "policies": self.policies, "over": self.over, "known": self.known}

    @cached_property
    def selection(self) -> SelectionQuestion:
        """Its answer can be certified and verified like that of ``select``."""
        return SelectionQuestion(**self._comparing, margin=self.margin, many="simultaneous")

    @cached_property
    def health(self) -> HealthQuestion:
        return HealthQuestion(declaration=self.declaration, policies=self.selection.everyone, method=self.method)

    @cached_property
    def values(self) -> ValueQuestion:
        known = frozenset({*(self.known or ()), *((PRODUCTION,) if "distributions" in self.declaration.features else ())})
        policies = self.everyone
        return ValueQuestion(**{**self._shared, "policies": policies, "known": known})

    @cached_property
    def normal(self) -> SelectionQuestion | None:
        """The same improvements by the usual interval, where it supports such logs."""
        if capabilities.untested(self.features, "usual interval"):
            return None
        return replace(self.selection, method=NORMAL, known=frozenset())

    @cached_property
    def by_segment(self) -> SelectionQuestion | None:
        return None if self.by is None else replace(self.selection, by=self.by)

    @cached_property
    def by_outcome(self) -> Mapping[str, OutcomesQuestion]:
        """The outcomes of each candidate are bounded at its share of delta."""
        if self.outcomes is None:
            return {}
        each = {**self._comparing, "delta": self.delta / len(self.policies), "outcomes": self.outcomes}
        return {name: OutcomesQuestion(**{**each, "policies": {name: policy}}) for name, policy in self.policies.items()}

    def check(self, logs: Logs) -> None:
        super().check(logs)
        for question in self.by_outcome.values():
            question.check(logs)

    @cached_property
    def everyone(self) -> Mapping[str, Policy]:
        return {PRODUCTION: Production(), **super().everyone}

    @property
    def few(self) -> bool:
        """There are a history and forecasts: of few candidates, where earlier looks are true."""
        return len(self.policies) <= MOST_FOLLOWED and "balanced loggers" not in self.declaration.features

    @property
    def forecasts(self) -> bool:
        return self.few and not capabilities.untested(self.features, "forecast")

    @property
    def course(self) -> Split | None:
        """How the log is cut into moments: by its order, or by day."""
        if not self.few or capabilities.untested(self.features, "course of earlier looks"):
            return None
        days = () if "clusters" in self.declaration.features else self.declaration.times
        return Chunks() if self.ordered else next(map(Day, days), None)

    def wanted(self, counts: Counts | None) -> list[Request]:
        """Its segments are those of one of its questions; the course and the forecasts are of the whole log."""
        besides = [question for question in (self.normal, self.by_segment) if question is not None]
        joined = [self.selection, self.health, self.values, *besides, *self.by_outcome.values()]
        found = [request for question in joined for request in question.wanted(counts)]
        claims = self.selection.claims(no_count if counts is None else lambda: counts(())[()])
        if self.course is not None:
            terms = [end for claim in claims.values() for end in (claim.low, claim.high)]
            found += requests_of(self.selection.everyone, terms, (self.course,))
        return found + (block_requests([claim.low for claim in claims.values()]) if self.forecasts else [])

    def answered(self, sums: Sums) -> Report:
        health = self.health.answered(sums)
        unfit = Report(health, None, None, None, {}, {}, source=self.source)
        if not health.ok:
            return unfit
        try:
            return self._report(sums, unfit)
        except LogsError as error:
            said, _, remedy = str(error).partition("\n")
            finding = Finding("refuse", "bounds", said.rstrip("."), remedy)
            return replace(unfit, health=replace(health, findings=(*health.findings, finding)))

    def _report(self, sums: Sums, unfit: Report) -> Report:
        """The report on logs that are fit; raises where their bounds contradict each other."""
        selection, whole = self.selection.answered(sums), self.before_sampling(sums)
        claims = self.selection.claims(lambda: whole.units)
        place = Place(self.delta, selection.provenance, planned=whole.units)
        return replace(
            unfit,
            selection=selection,
            values=self.values.answered(sums),
            history=self._history(sums, place, selection.improvements),
            normal_intervals={} if self.normal is None else self.normal.answered(sums).improvements,
            forecasts={
                name: forecast_of(claims[name], whole, answer)
                for name, answer in selection.improvements.items()
                if self.forecasts and whole.units > 1 and not answer.certified
            },
            segments=None if self.by_segment is None else self.by_segment.answered(sums),
            outcomes={name: question.answered(sums) for name, question in self.by_outcome.items()},
        )

    def _history(self, sums: Sums, place: Place, last: Mapping[str, Improvement]) -> History | None:
        """Each bound made at the level of the answer, which is the last point."""
        course = self.course
        if course is None:
            return None
        parts = sums.parts(course)
        totals = list(accumulate(parts[course, name] for (name,) in sums.by(COUNT, course)))
        points = [
            Point(name, result.rounds, result.estimate, result.lower, result.upper)
            for moment in _evenly(totals, POINTS)[:-1]
            for name, result in self._at(moment, place).items()
        ]
        points += [Point(name, one.rounds, one.estimate, one.lower, one.upper) for name, one in last.items()]
        first = next(iter(last.values()))
        return History(
            tuple(points), "improvement", first.over, first.margin, first.delta, first.counted, first.promise,
            first.doubts,
        )  # fmt: skip

    def _at(self, sums: Sums, place: Place) -> Mapping[str, Improvement]:
        try:
            improvements: Mapping[str, Improvement] = self.selection.found(self.before_sampling(sums), place).improvements
        except LogsError:
            return {}  # bounds that contradict each other on the way: the answer at the end is what counts
        return improvements


def _evenly(totals: list[Sums], points: int) -> list[Sums]:
    """Those of growing totals that are nearest to evenly spaced numbers of rounds, the last one included."""
    end = totals[-1].units
    chosen: list[Sums] = []
    for total in totals:
        if total.units * points // end > (chosen[-1].units * points // end if chosen else 0) or total is totals[-1]:
            chosen.append(total)
    return chosen
