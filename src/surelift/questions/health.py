"""Are these logs fit for a guarantee, are their propensities right, and how much can they say about each policy?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from surelift import capabilities
from surelift.errors import UsageError
from surelift.evidence.propensities import BY_DAY, OVERALL, Evidence, Family, evidence_of, refuted
from surelift.logs.segments import Bins
from surelift.questions.claims import BoundedClaim, Place
from surelift.questions.drift import REWARDS, days_of, drift_findings, drift_requests
from surelift.questions.findings import (
    duplicate_findings,
    end_findings,
    overlap_findings,
    policy_findings,
    propensity_findings,
    round_findings,
    rounding_findings,
    test_findings,
    weight_health,
)
from surelift.questions.method import RoundCount, check_chance
from surelift.questions.question import Question
from surelift.questions.segments import check_roles, parts_of
from surelift.questions.soundness import found_against_traits, weight_evidence, weight_findings, weight_tests
from surelift.questions.telling import TAKEN, condition_findings, evidence_of_segments, segment_findings, without_telling
from surelift.results.health import Health
from surelift.statistics.bets import Bets, Wealths
from surelift.statistics.memories import Duplicates
from surelift.statistics.plan import Request
from surelift.statistics.recorded_values import Digits, Ends
from surelift.statistics.single_rounds import Tails
from surelift.statistics.splits import Key, Segment
from surelift.statistics.sums import Sums, requests_of
from surelift.traits.logs import Logs

DIGITS, ENDS = Digits(), Ends()


@dataclass(frozen=True, kw_only=True)
class HealthQuestion(Question):
    """Faults are told, not refused: they are what is asked for."""

    kind: ClassVar[str] = "check"
    tells_faults: ClassVar[bool] = True
    asks_without: ClassVar[bool] = True
    level: float = 0.001
    """The chance that right propensities are refused, over the whole family of tests; that of drift, likewise."""
    columns: tuple[Any, ...] = ()
    """Columns of segments in which the propensities are tested; bins and combinations become a ``Segment``."""

    @classmethod
    def fields_from(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Every entry of ``by`` is tested by itself."""
        by: Any = options.pop("by", None)
        columns = () if by is None else (by,) if isinstance(by, str | Bins) else by
        if not isinstance(columns, Sequence):
            raise UsageError(f"by must name a column of segments, or list several, but is a {type(by).__name__}.")
        own: dict[str, Any] = {name: options.pop(name) for name in ("level", "delta") if name in options}
        for name in options:
            raise UsageError(f"check does not take {name}=.")
        return {**own, "columns": tuple(columns)}

    def check_fields(self) -> None:
        object.__setattr__(self, "known", frozenset())
        check_chance("level", self.level, "the chance of a false alarm")
        columns = [one if isinstance(one, str | Segment) else Segment(parts_of(one)) for one in self.columns]
        object.__setattr__(self, "columns", tuple(columns))
        for split in self._splits:
            check_roles(self.declaration, split)
        named = [split.subject for split in self._splits]
        if len(set(named)) != len(named):
            twice = max(named, key=named.count)
            raise UsageError(f"the test {twice} is asked for twice; each column is tested by itself, once: leave one out.")

    @property
    def own_features(self) -> frozenset[str]:
        return super().own_features.union({"tests by segments"} if self.columns else ())

    def check(self, logs: Logs) -> None:
        super().check(logs)
        for split in self._splits:
            logs.require_columns(split.columns(), role="by")
            check_roles(self.declaration, split, self.columns_of_policies(logs))

    def can(self, test: str) -> bool:
        return not capabilities.untested(self.features, test)

    @property
    def _bets(self) -> Bets:
        return Bets(tuple(sorted(self.policies)), self.declaration.propensity.actions)

    @cached_property
    def _families(self) -> Mapping[Family, Key]:
        """What the propensities are tested in."""
        if not self.can("test of propensities"):
            return {}
        days = dict.fromkeys([BY_DAY], *days_of(self.declaration)) if self.can("test of propensities by day") else {}
        columns = {Family("column", ", ".join(split.columns())): (split,) for split in self._splits}
        return {OVERALL: (), **columns, **days}

    @cached_property
    def _splits(self) -> list[Segment]:
        parts = ((column,) if isinstance(column, str) else column.by for column in self.columns)
        return [Segment(each, tears_clusters=True) for each in parts]

    @property
    def _telling(self) -> list[Segment]:
        """The columns that could tell of the action."""
        return self._splits if self.can("test of segments") else []

    @property
    def _copies(self) -> list[Duplicates]:
        return [Duplicates(time) for time in self.declaration.times]

    def requests(self, count: RoundCount, key: Key = ()) -> list[Request]:
        found = [*requests_of(self.policies, ()), Request(REWARDS)]
        found += [Request(self._bets, splits) for splits in self._families.values()]
        found += [Request(TAKEN, (split,)) for split in self._telling]
        for split in self._splits:
            found += requests_of(self.policies, (), (split,))
        if self.can("test of digits"):
            found.append(Request(DIGITS))
        found += [*map(Request, self._copies), *drift_requests(self.declaration)]
        if self.can("test of the ends of actions"):
            found.append(Request(ENDS))
        return found + [Request(Tails(name)) for name in self.policies]

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Health:
        declared = self.declaration
        kind: Literal["reward", "cost"] = "cost" if declared.scale.is_cost else "reward"
        findings = list(round_findings(declared, sums))
        if sums.rows == 0 or sums.invalid:
            return Health(sums.rows, tuple(findings), {}, (), None, None, kind, self.level)
        weights = {
            name: weight_health(name, sums.weights(name), sums.units, sums.get(Tails(name)), declared.scale)
            for name in self.policies
        }
        evidence, smallest = self._evidence(sums), sums.production.smallest_propensity
        wrong, evidence = without_telling(refuted(evidence, level=self.level), evidence)
        findings += [*segment_findings(wrong), *propensity_findings(wrong, evidence), *weight_findings(wrong)]
        if self.can("test of digits"):
            findings += rounding_findings(sums.get(DIGITS), smallest)
        if self.can("test of the ends of actions"):
            findings += end_findings(sums.get(ENDS), str(declared.propensity.action), sums.rows)
        for copies in self._copies:
            findings += duplicate_findings(sums.get(copies))
        findings += found_against_traits(self, sums, self.level)
        findings += condition_findings(sums, declared, self.level)
        findings += drift_findings(declared, sums, self.method, level=self.level)
        findings += policy_findings(weights, sums, declared)
        for split in self._splits:
            findings += overlap_findings(split, sums, self.policies, declared)
        findings += test_findings(evidence, capabilities.untested(self.features, "test of propensities"))
        rounds, rewards, _ = sums.get(REWARDS)
        earned = sums.production.rewards / sums.units if declared.kept.scales else rewards / rounds
        return Health(
            sums.rows,
            tuple(findings),
            weights,
            tuple(evidence),
            declared.scale.value(float(earned)),
            smallest,
            kind,
            self.level,
        )

    def _evidence(self, sums: Sums) -> list[Evidence]:
        families: dict[Family, Mapping[str, Wealths]] = {}
        for family, key in self._families.items():
            states: Mapping[Any, Wealths] = sums.by(self._bets, *key)
            families[family] = {"".join(value): wealths for value, wealths in states.items()}
        telling = [evidence_of_segments(sums, split, self.level) for split in self._telling]
        return evidence_of(families) + telling + list(weight_evidence(sums, weight_tests(self.declaration, self.limits)))
