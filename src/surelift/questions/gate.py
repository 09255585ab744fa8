"""May the candidate be launched? The logs, the improvement and every guardrail, in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from surelift.errors import UsageError
from surelift.questions.claims import BoundedClaim, Claim, Place
from surelift.questions.health import HealthQuestion
from surelift.questions.method import Counts, RoundCount
from surelift.questions.outcomes import JudgedQuestion
from surelift.results.gate import UNCHECKED, Gate
from surelift.results.outcomes import Outcome
from surelift.results.segments import Segments
from surelift.statistics.plan import Request
from surelift.statistics.sums import Sums

NOT_GUARDRAILS = "guardrails must be a list of Outcome(column, at_most_worse=...)."
IMPROVEMENT = ""
"""The name of the claim about the reward; those about guardrails are called by their column."""


@dataclass(frozen=True, kw_only=True)
class GateQuestion(JudgedQuestion):
    """Delta is split evenly over the improvement and the guardrails, which are outcomes beside the reward."""

    kind: ClassVar[str] = "gate"
    role: ClassVar[str] = "a guardrail"
    reads_again: ClassVar[bool] = True
    guardrails: tuple[Outcome, ...] = ()

    def check_fields(self) -> None:
        super().check_fields()
        rails: Any = self.guardrails
        if not isinstance(rails, Sequence) or not all(isinstance(rail, Outcome) for rail in rails):
            raise UsageError(NOT_GUARDRAILS)
        object.__setattr__(self, "guardrails", tuple(rails))
        if len(self.judges) != len(rails):
            raise UsageError("two guardrails name one column; make one claim of each column.")

    @property
    def judges(self) -> Mapping[str, Outcome]:
        return {rail.column: rail for rail in self.guardrails}

    @cached_property
    def health(self) -> HealthQuestion:
        return HealthQuestion(declaration=self.declaration, policies=self.everyone, method=self.method)

    def claims(self, count: RoundCount) -> Mapping[str, Claim]:
        return {IMPROVEMENT: self.claim(self.policy, count), **super().claims(count)}

    def wanted(self, counts: Counts | None) -> list[Request]:
        return super().wanted(counts) + self.health.wanted(counts)

    def answered(self, sums: Sums) -> Any:
        health = self.health.answered(sums)
        if not health.ok:
            return Gate(False, health, None, {}, self.delta, None)
        answer = super().answered(sums)
        if isinstance(answer, Segments):
            return replace(answer, results={name: replace(one, health=health) for name, one in answer.items()})
        return replace(answer, health=health)

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Gate:
        improvement, held = self.improvement(found[IMPROVEMENT]), self.held(found)
        certified = improvement.certified and all(result.certified for result in held.values())
        return Gate(certified, UNCHECKED, improvement, held, place.delta, place.provenance)
