"""Everything a decision report needs, from one pass: health, selection, values, forecasts and the history."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

from surelift.errors import LogsError
from surelift.policies import Policy
from surelift.policies.resolve import PRODUCTION
from surelift.policies.wrappers import Production
from surelift.questions.forecast import block_requests, forecast_of
from surelift.questions.health import HealthQuestion
from surelift.questions.improvement import ImprovementsQuestion
from surelift.questions.method import choose_method
from surelift.questions.question import Place, RoundCount
from surelift.questions.selection import SelectionQuestion, selection_of
from surelift.questions.value import ValueQuestion
from surelift.results.forecast import Forecast
from surelift.results.health import Finding
from surelift.results.history import History, Point
from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance
from surelift.results.report import Report
from surelift.statistics.plan import Request
from surelift.statistics.splits import Chunks, Day, Key, Split
from surelift.statistics.sums import COUNT, Sums, requests_of

POINTS = 40
# Their courses are kept block by block and chunk by chunk, half a megabyte for each; of more, only the answers are.
MOST_FOLLOWED = 100
NORMAL = choose_method("normal", "none")


@dataclass(frozen=True, kw_only=True)
class ReportQuestion(ImprovementsQuestion):
    """The improvements are those of ``select`` by bounds that hold together at delta; so do the values, at their own."""

    kind: ClassVar[str] = "report"
    tells_faults: ClassVar[bool] = True
    source: str = ""
    """What the log is called, where it has a name."""
    ordered: bool = True
    """Whether the rows of the log have an order."""

    @property
    def health(self) -> HealthQuestion:
        return HealthQuestion(declaration=self.declaration, policies=super().everyone, method=self.method)

    @property
    def values(self) -> ValueQuestion:
        policies = {PRODUCTION: Production(), **super().everyone}
        known = frozenset({*(self.known or ()), *((PRODUCTION,) if self.declaration.logging is not None else ())})
        return ValueQuestion(
            declaration=self.declaration, policies=policies, delta=self.delta, method=self.method, known=known
        )

    @property
    def everyone(self) -> Mapping[str, Policy]:
        return self.values.policies

    @property
    def normal(self) -> ImprovementsQuestion | None:
        """The same question by the usual interval, which does not support clusters, sampling, scores and several loggers."""
        declared = self.declaration
        unlike = (
            declared.cluster is not None,
            declared.is_sampled,
            declared.score is not None,
            declared.balances_counts,
        )
        if any(unlike):
            return None
        return ImprovementsQuestion(
            declaration=self.declaration, policies=self.policies, delta=self.delta, method=NORMAL, over=self.over,
            margin=self.margin, known=frozenset(),
        )  # fmt: skip

    @property
    def few(self) -> bool:
        """Whether there are a history and forecasts: of few candidates, where earlier looks are true."""
        return len(self.policies) <= MOST_FOLLOWED and not self.declaration.balances_counts

    @property
    def course(self) -> Split | None:
        """How the log is cut into moments: by its order, or by day; a part of a sampled log stands for nothing known, and
        bets in blocks have one moment only.
        """
        if self.declaration.rounds_before_sampling is not None or not self.few or self.method.bound.in_blocks:
            return None
        if self.ordered:
            return Chunks()
        return Day() if self.declaration.time is not None and self.declaration.cluster is None else None

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        yield from super().requests(count)
        yield from self.health.requests(count)
        yield from self.values.requests(count)
        if self.normal is not None:
            yield from self.normal.requests(count)
        terms = [self.terms(name, count) for name in self.policies]
        if self.course is not None:
            pairs = [term for pair in terms for term in pair]
            yield from requests_of(super().everyone, pairs, (self.course,))
        if self.few and not self.declaration.is_sampled:
            yield from block_requests([gain for gain, _ in terms])

    def answer(self, sums: Sums) -> Report:
        health = self.health.answer(sums)
        unfit = Report(health, None, None, None, {}, {}, self.source)
        if not health.ok:
            return unfit
        try:
            return self._report(sums, unfit)
        except LogsError as error:
            said, _, remedy = str(error).partition("\n")
            finding = Finding("refuse", "bounds", said.rstrip("."), remedy)
            return replace(unfit, health=replace(health, findings=(*health.findings, finding)))

    def _report(self, sums: Sums, unfit: Report) -> Report:
        """From logs that are fit, unless their bounds contradict each other."""
        self.refuse_unfit(sums)
        whole = self.before_sampling(sums)
        place = Place(self.delta / len(self.policies), self._selected(sums), planned=whole.units)
        improvements = self.improvements(whole, place)
        return replace(
            unfit,
            selection=selection_of(improvements, many="simultaneous", delta=self.delta),
            values=self.values.answer(sums),
            history=self._history(sums, place, improvements),
            normal_intervals={} if self.normal is None else self.normal.improvements(whole, place),
            forecasts=self._forecasts(whole, improvements),
        )

    def _selected(self, sums: Sums) -> Provenance:
        """The selection of a report can be certified and verified like that of ``select``."""
        question = SelectionQuestion(
            declaration=self.declaration, policies=self.policies, delta=self.delta, method=self.method, over=self.over,
            margin=self.margin, known=self.known, many="simultaneous",
        )  # fmt: skip
        return replace(self.provenance(sums), question=question.to_dict())

    def _forecasts(self, sums: Sums, improvements: Mapping[str, Improvement]) -> dict[str, Forecast]:
        if self.declaration.is_sampled or sums.units < 2 or not self.few:
            return {}
        settings: dict[str, Any] = {"width": self.declaration.scale.width, "planned": self.method.counts_rounds}
        return {
            name: forecast_of(
                sums, self.terms(name, lambda: sums.units)[0], answer, assumed=None, power=0.8, **settings
            )
            for name, answer in improvements.items()
            if not answer.certified
        }

    def _history(self, sums: Sums, place: Place, last: Mapping[str, Improvement]) -> History | None:
        """Each bound made at the level of the place; the last point is the answer."""
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
            tuple(points), "improvement", first.over, first.margin, place.delta, first.counted, first.promise,
            first.doubts,
        )  # fmt: skip

    def _at(self, sums: Sums, place: Place) -> Mapping[str, Improvement]:
        try:
            return self.improvements(self.before_sampling(sums), place)
        except LogsError:
            return {}  # bounds that contradict each other on the way: the answer at the end is what counts


def _evenly(totals: list[Sums], points: int) -> list[Sums]:
    """Those of growing totals that are nearest to evenly spaced numbers of rounds, the last one included."""
    end = totals[-1].units
    chosen: list[Sums] = []
    for total in totals:
        if total.units * points // end > (chosen[-1].units * points // end if chosen else 0) or total is totals[-1]:
            chosen.append(total)
    return chosen
