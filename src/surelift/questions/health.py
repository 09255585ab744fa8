"""Are these logs fit for a guarantee, are their propensities right, and how much can they say about each policy?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.errors import UsageError, is_number, printed
from surelift.evidence.propensities import BY_DAY, OVERALL, Evidence, Family, evidence_of, refuted
from surelift.logs.segments import By
from surelift.questions.drift import DAY, REWARDS, about_drift, drift_requests
from surelift.questions.findings import (
    about_duplicates,
    about_ends,
    about_propensities,
    about_rounding,
    about_rounds,
    about_tests,
    about_weights,
    weight_health,
)
from surelift.questions.labels import about_labels
from surelift.questions.loggers import BY_SEGMENT, about_contexts, about_shares
from surelift.questions.question import Place, Question, RoundCount
from surelift.questions.segments import parts_of
from surelift.questions.telling import (
    TAKEN,
    about_condition,
    about_segments,
    condition_requests,
    knows_actions,
    told_by,
    without_told,
)
from surelift.questions.weights import about_mean_weights, weight_evidence, weight_tests
from surelift.results.health import Health
from surelift.statistics.bets import Bets, Wealths
from surelift.statistics.digits import Digits
from surelift.statistics.duplicates import Duplicates
from surelift.statistics.ends import Ends
from surelift.statistics.plan import Request
from surelift.statistics.splits import Key, Segment
from surelift.statistics.sums import Sums, requests_of
from surelift.statistics.tails import Tails

DIGITS, DUPLICATES, ENDS = Digits(), Duplicates(), Ends()


@dataclass(frozen=True, kw_only=True)
class HealthQuestion(Question):
    """Faults are told, not refused: they are what is asked for."""

    kind: ClassVar[str] = "check"
    tells_faults: ClassVar[bool] = True
    level: float = 0.001
    """The chance that right propensities are refused, over the whole family of tests; that of drift, likewise."""
    columns: tuple[By, ...] = ()
    """Columns of segments, or combinations of them, in which the propensities are tested."""

    def __post_init__(self) -> None:
        if not (is_number(self.level) and 0.0 < self.level < 1.0):
            raise UsageError(
                f"level, the chance of a false alarm, must lie strictly between 0 and 1, but is {printed(self.level)}."
            )
        if self.columns and self.declaration.balances_counts:
            raise UsageError(BY_SEGMENT)
        named = [split.subject for split in self._splits]
        if len(set(named)) != len(named):
            twice = max(named, key=named.count)
            raise UsageError(
                f"the test {twice} is asked for twice; each column is tested by itself, once: leave one out."
            )

    @property
    def _bets(self) -> Bets:
        return Bets(tuple(sorted(self.policies)), self.declaration.actions)

    @property
    def _families(self) -> Mapping[Family, Key]:
        """Rounds that were kept by what happened in them say nothing about the propensities."""
        if self.declaration.is_sampled:
            return {}
        if self.declaration.balances_counts:
            return {OVERALL: ()}  # a day, or a segment, has other counts
        days = {} if self.declaration.time is None else {BY_DAY: (DAY,)}
        columns = {Family("column", ", ".join(split.columns())): (split,) for split in self._splits}
        return {OVERALL: (), **columns, **days}

    @property
    def _splits(self) -> list[Segment]:
        return [Segment(parts_of(by), tears_clusters=True) for by in self.columns]

    @property
    def _told(self) -> list[Segment]:
        """The columns that could tell of the action."""
        return self._splits if knows_actions(self.declaration) else []

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        yield from requests_of(self.policies, ())
        yield Request(REWARDS)
        for splits in self._families.values():
            yield Request(self._bets, splits)
        for split in self._told:
            yield Request(TAKEN, (split,))
        if not self.declaration.is_sampled and not self.declaration.density:
            yield Request(DIGITS)
        if self.declaration.time is not None:
            yield Request(DUPLICATES)
        yield from (*drift_requests(self.declaration), *condition_requests(self.declaration))
        if self.declaration.density and self.declaration.action is not None:
            yield Request(ENDS)
        for name in self.policies:
            yield Request(Tails(name))

    def result(self, sums: Sums, place: Place) -> Health:
        declared = self.declaration
        fit = sums.rows > 0 and not sums.invalid
        findings = list(about_rounds(declared, sums))
        if not fit:
            return Health(
                rounds=sums.rows, findings=tuple(findings), weights={}, evidence=(), mean_reward=None,
                smallest_propensity=None, kind="cost" if declared.scale.is_cost else "reward",
            )  # fmt: skip
        weights = {
            name: weight_health(name, sums.weights(name), sums.units, sums.get(Tails(name)), declared.scale)
            for name in self.policies
        }
        evidence, smallest = self._evidence(sums), sums.production.smallest_propensity
        wrong, evidence = without_told(refuted(evidence, level=self.level), evidence)
        findings += [*about_segments(wrong), *about_propensities(wrong, evidence), *about_mean_weights(wrong)]
        if not (declared.is_sampled or declared.density or declared.by_draws):
            findings += about_rounding(sums.get(DIGITS), smallest)
        if declared.density and declared.action is not None:
            findings += about_ends(sums.get(ENDS), declared.action, sums.rows)
        if declared.time is not None:
            findings += about_duplicates(sums.get(DUPLICATES))
        findings += [
            *about_labels(sums, declared, None, level=self.level),
            *about_condition(sums, declared, self.level),
        ]
        findings += [*about_contexts(declared, sums, self.level), *about_shares(declared, sums, self.level)]
        findings += about_drift(declared, sums, self.method, level=self.level)
        findings += about_weights(weights, sums, declared)
        findings += about_tests(evidence, sampled=declared.is_sampled)
        rounds, rewards, _ = sums.get(REWARDS)
        earned = rewards / rounds if declared.cluster is not None else sums.production.rewards / sums.units
        return Health(
            rounds=sums.rows, findings=tuple(findings), weights=weights, evidence=tuple(evidence),
            mean_reward=declared.scale.value(float(earned)), smallest_propensity=smallest,
            kind="cost" if declared.scale.is_cost else "reward",
        )  # fmt: skip

    def _evidence(self, sums: Sums) -> list[Evidence]:
        families: dict[Family, Mapping[str, Wealths]] = {}
        for family, key in self._families.items():
            states: Mapping[Any, Wealths] = sums.by(self._bets, *key)
            families[family] = {"".join(value): wealths for value, wealths in states.items()}
        told = [told_by(sums, split, self.level) for split in self._told]
        return evidence_of(families) + told + list(weight_evidence(sums, weight_tests(self.declaration, self.policies)))
