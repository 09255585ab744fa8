"""May the candidate be launched? The logs, the improvement and every guardrail, in one pass."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.questions.health import HealthQuestion
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.question import Place, RoundCount
from surelift.results.gate import Gate, Guardrail
from surelift.results.improvement import Improvement
from surelift.statistics.plan import Request, RewardColumn
from surelift.statistics.splits import Key
from surelift.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class GateQuestion(ImprovementQuestion):
    """Delta is split evenly over the improvement and the guardrails."""

    kind: ClassVar[str] = "gate"
    tells_faults: ClassVar[bool] = True
    guardrails: tuple[Guardrail, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(rail, Guardrail) for rail in self.guardrails):
            raise UsageError("guardrails must be a list of Guardrail(column, margin).")
        if len({rail.column for rail in self.guardrails}) != len(self.guardrails):
            raise UsageError("two guardrails name one column; give each column one margin.")

    def check(self, logs: Logs) -> None:
        super().check(logs)
        for rail in self.guardrails:
            logs.require_columns(rail.column, role="a guardrail", single=True)

    @property
    def health(self) -> HealthQuestion:
        return HealthQuestion(declaration=self.declaration, policies=self.everyone, method=self.method)

    @property
    def rails(self) -> Mapping[str, ImprovementQuestion]:
        """A reward model speaks of the reward alone; guardrails are then controlled by weights."""
        method = self.method if self.method.model is None else replace(self.method, control="auto", model=None)
        questions = {}
        for rail in self.guardrails:
            declared = self.declaration.with_reward(rail.column, rail.reward_range, is_cost=rail.cost)
            questions[rail.column] = ImprovementQuestion(
                declaration=declared, policies=self.policies, delta=self.delta, method=method, known=self.known,
                over=self.over, margin=-rail.margin, outcome=RewardColumn(rail.column, declared.scale),
            )  # fmt: skip
        return questions

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
        share = self.delta / (1 + len(self.guardrails))
        provenance = self.provenance(sums.judged_by(None))
        own = self.before_sampling(sums.judged_by(None))
        improvement = self.improvement(own, self.policy, Place(share, provenance))
        held = {}
        for column, question in self.rails.items():
            judged = question.before_sampling(sums.judged_by(question.outcome))
            held[column] = _held(question.improvement(judged, self.policy, Place(share, provenance)))
        certified = improvement.certified and all(result.certified for result in held.values())
        return Gate(certified, health, improvement, held, self.delta, provenance)


def _held(result: Improvement) -> Improvement:
    """Not worse is enough: unlike an improvement, a change of exactly minus the margin holds."""
    return replace(result, certified=result.lower >= result.margin and not result.doubts)
