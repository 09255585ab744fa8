"""Several outcomes of one policy, compared with production or with another, in one pass."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.question import Place, RoundCount
from surelift.results.improvement import Improvement
from surelift.results.outcomes import Outcome, Outcomes
from surelift.statistics.plan import Request, RewardColumn
from surelift.statistics.splits import Key
from surelift.statistics.sums import COUNT, PRODUCTION, Sums

NOT_OUTCOMES = (
    "outcomes must be a mapping from names to Outcome(column, ...), or a list of these, which are then named after their "
    "columns."
)


def named_outcomes(given: Any) -> dict[str, Outcome]:
    """Outcomes by name; in a list each is named after its column."""
    if isinstance(given, list | tuple) and all(isinstance(outcome, Outcome) for outcome in given):
        refuse_twice([outcome.column for outcome in given])
        return {outcome.column: outcome for outcome in given}
    if not (isinstance(given, Mapping) and given):
        raise UsageError(NOT_OUTCOMES)
    return dict(given)


def refuse_twice(names: list[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"outcome {twice!r} is given twice; give each a name of its own, and make one claim of it.")


@dataclass(frozen=True, kw_only=True)
class OutcomesQuestion(ImprovementQuestion):
    """Delta is split evenly over the outcomes.

    To certify that *all* claims hold, each at delta would do: if one is false, its own bound must fail (an
    intersection-union test). But then the bounds, which are shown, would hold one by one and not together.
    """

    kind: ClassVar[str] = "compare outcomes"
    outcomes: Mapping[str, Outcome]

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = self.outcomes.items()
        if not (
            pairs and all(name and isinstance(name, str) and isinstance(outcome, Outcome) for name, outcome in pairs)
        ):
            raise UsageError(NOT_OUTCOMES)
        if self.margin or self.relative_margin is not None:
            raise UsageError("margin= is for one reward; give each outcome its own, in at_least= or at_most_worse=.")
        judging = Counter((outcome.column, outcome.cost) for outcome in self.outcomes.values())
        for (column, cost), count in judging.items():
            if count > 1:
                names = [
                    name for name, outcome in self.outcomes.items() if (outcome.column, outcome.cost) == (column, cost)
                ]
                raise UsageError(
                    f"outcomes {names[0]!r} and {names[1]!r} are both the {'cost' if cost else 'reward'} {column!r}; an "
                    "outcome twice costs delta and says nothing new: make one claim of it, the stricter one."
                )

    @property
    def asked(self) -> Mapping[str, ImprovementQuestion]:
        """A reward model knows the log's own reward, which may be one of the outcomes."""
        questions = judging_by(self, self.outcomes)
        own = [name for name, question in questions.items() if question.declaration == self.declaration]
        return {**questions, **{name: replace(questions[name], method=self.method, outcome=None) for name in own}}

    def check(self, logs: Logs) -> None:
        super().check(logs)
        check_outcomes(self, logs, self.outcomes)

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        yield from (Request(COUNT, key), Request(PRODUCTION, key))
        for question in self.asked.values():
            yield from question.requests(count, key)

    def judged(self, sums: Sums) -> Sums:
        return sums

    def result(self, sums: Sums, place: Place) -> Outcomes:
        share = replace(place, delta=place.delta / len(self.outcomes))
        results = bounded_by(self.asked, self.outcomes, sums, share)
        return Outcomes(results, self.outcomes, place.delta, self.before_sampling(sums).units, place.provenance)


def judging_by(question: ImprovementQuestion, outcomes: Mapping[str, Outcome]) -> dict[str, ImprovementQuestion]:
    """The same comparison by each outcome. A reward model speaks of the reward alone; outcomes are controlled by weights."""
    method = question.method if question.method.model is None else replace(question.method, control="auto", model=None)
    questions = {}
    for name, outcome in outcomes.items():
        declared = question.declaration.with_reward(outcome.column, outcome.range, is_cost=outcome.cost)
        questions[name] = ImprovementQuestion(
            declaration=declared, policies=question.policies, delta=question.delta, method=method,
            by=question.by, known=question.known, over=question.over, margin=outcome.margin,
            outcome=RewardColumn(outcome.column, declared.scale),
        )  # fmt: skip
    return questions


def bounded_by(
    questions: Mapping[str, ImprovementQuestion], outcomes: Mapping[str, Outcome], sums: Sums, place: Place
) -> dict[str, Improvement]:
    """Every improvement at the level of the place, certified where its claim holds."""
    results = {}
    for name, question in questions.items():
        judged = question.before_sampling(sums.judged_by(question.outcome))
        results[name] = outcomes[name].held(question.improvement(judged, question.policy, place))
    return results


def check_outcomes(
    question: ImprovementQuestion, logs: Logs, outcomes: Mapping[str, Outcome], *, role: str = "an outcome"
) -> None:
    """Refuse columns that are not there, and outcomes that decide what they judge."""
    readers = {f"policy {name!r}": policy for name, policy in question.everyone.items()}
    if question.model is not None:
        readers["the reward model"] = question.model  # type: ignore[assignment]
    for outcome in outcomes.values():
        column = outcome.column
        logs.require_columns(column, role=role, single=True)
        if logs.declaration.score is not None and column == logs.declaration.reward:
            raise UsageError(
                f"the reward {column!r} is known of the labelled rounds alone, and cannot be {role}, which every round has; "
                "compare by it in a question of its own."
            )
        if question.by is not None and column in question.by.columns():
            raise UsageError(f"by {column!r} is {role}; a segment must be known before the action.")
        for subject, reader in readers.items():
            if column in reader.needs(logs).handed_on:
                raise UsageError(
                    f"{subject} is a function that is shown {column!r}, {role}, which is not known before the action; name "
                    "the columns that it needs in contexts=[...]."
                )
