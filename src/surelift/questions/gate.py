"""May the candidate be launched? The logs, the improvement and every guardrail, in one pass."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.questions.health import HealthQuestion
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.outcomes import bounded_by, check_outcomes, judging_by
from surelift.questions.question import Place, RoundCount
from surelift.results.gate import Gate
from surelift.results.outcomes import Outcome
from surelift.statistics.plan import Request
from surelift.statistics.splits import Key
from surelift.statistics.sums import Sums

NOT_GUARDRAILS = "guardrails must be a list of Outcome(column, at_most_worse=...)."


@dataclass(frozen=True, kw_only=True)
class GateQuestion(ImprovementQuestion):
    """Delta is split evenly over the improvement and the guardrails, which are outcomes beside the reward."""

    kind: ClassVar[str] = "gate"
    tells_faults: ClassVar[bool] = True
    guardrails: tuple[Outcome, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(rail, Outcome) for rail in self.guardrails):
            raise UsageError(NOT_GUARDRAILS)
        if len(self.claims) != len(self.guardrails):
            raise UsageError("two guardrails name one column; make one claim of each column.")

    def check(self, logs: Logs) -> None:
        super().check(logs)
        check_outcomes(self, logs, self.claims, role="a guardrail")

    @property
    def health(self) -> HealthQuestion:
        return HealthQuestion(declaration=self.declaration, policies=self.everyone, method=self.method)

    @property
    def claims(self) -> Mapping[str, Outcome]:
        """The guardrails, by column."""
        return {rail.column: rail for rail in self.guardrails}

    @property
    def rails(self) -> Mapping[str, ImprovementQuestion]:
        return judging_by(self, self.claims)

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        yield from super().requests(count, key)
        yield from self.health.requests(count)
        for question in self.rails.values():
            yield from question.requests(count, key)

    def answer(self, sums: Sums) -> Gate:
        health = self.health.answer(sums)
        if not health.ok:
            return Gate(False, health, None, {}, self.delta, None)
        self.refuse_unfit(sums)
        own = sums.judged_by(None)
        provenance = self.provenance(own)
        place = Place(self.delta / (1 + len(self.guardrails)), provenance)
        improvement = self.improvement(self.before_sampling(own), self.policy, place)
        held = bounded_by(self.rails, self.claims, sums, place)
        certified = improvement.certified and all(result.certified for result in held.values())
        return Gate(certified, health, improvement, held, self.delta, provenance)
