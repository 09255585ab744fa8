"""Several outcomes of one policy, compared with production or with another, in one pass."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from surelift.batch import RewardColumn
from surelift.errors import UsageError
from surelift.questions.claims import BoundedClaim, Claim, Place
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import RoundCount
from surelift.results.improvement import Improvement
from surelift.results.outcomes import Outcome, Outcomes
from surelift.statistics.sums import Sums
from surelift.traits.logs import Logs

NOT_OUTCOMES = (
    "outcomes must be a mapping from names to Outcome(column, ...), or a list of these, which are then named after their "
    "columns."
)


def named_outcomes(given: Any) -> dict[str, Outcome]:
    """Outcomes by name; in a list each is named after its column."""
    if isinstance(given, list | tuple) and all(isinstance(outcome, Outcome) for outcome in given):
        twice = next((name for name, count in Counter(one.column for one in given).items() if count > 1), None)
        if twice is not None:
            raise UsageError(f"outcome {twice!r} is given twice; give each a name of its own, and make one claim of it.")
        given = {outcome.column: outcome for outcome in given}
    named = isinstance(given, Mapping) and given and all(name and isinstance(name, str) for name in given)
    if not named or not all(isinstance(outcome, Outcome) for outcome in given.values()):
        raise UsageError(NOT_OUTCOMES)
    return dict(given)


@dataclass(frozen=True, kw_only=True)
class JudgedQuestion(ImprovementQuestion):
    """One policy, judged by columns beside the reward: the base of outcomes and guardrails."""

    role: ClassVar[str] = "an outcome"
    """What such a column is called in messages."""
    reads_again: ClassVar[bool] = False
    """The log's own reward is read a second time where it judges too, which its fingerprint tells."""

    @property
    def judges(self) -> Mapping[str, Outcome]:
        """The outcomes by name."""
        raise NotImplementedError

    def claims(self, count: RoundCount) -> Mapping[str, Claim]:
        return {name: question.claim(self.policy, count) for name, question in self._asked.items()}

    @cached_property
    def _asked(self) -> Mapping[str, "OneOutcome"]:
        """The same comparison by each outcome."""
        return {name: self._judged_by(outcome) for name, outcome in self.judges.items()}

    def _judged_by(self, outcome: Outcome) -> "OneOutcome":
        declared = self.declaration.judged_by(outcome.column, outcome.range, is_cost=outcome.cost)
        own, method = declared == self.declaration and not self.reads_again, self.method
        if method.model is not None and not own:
            # A reward model speaks of the reward alone; other outcomes are controlled by weights.
            method = replace(method, control="auto", model=None)
        return OneOutcome(
            declaration=declared, policies=self.policies, delta=self.delta, method=method, by=self.by, known=self.known,
            over=self.over, margin=outcome.margin,
            column=None if own else RewardColumn(outcome.column, declared.scale),
        )  # fmt: skip

    def held(self, found: Mapping[str, BoundedClaim]) -> dict[str, Improvement]:
        """Every improvement, certified where its claim holds."""
        return {name: self.judges[name].held(one.improvement(found[name])) for name, one in self._asked.items()}

    def check(self, logs: Logs) -> None:
        """Refuse columns that are not there, and outcomes that decide what they judge."""
        super().check(logs)
        readers: dict[str, Any] = {f"policy {name!r}": policy for name, policy in self.everyone.items()}
        if self.model is not None:
            readers["the reward model"] = self.model
        for outcome in self.judges.values():
            column = outcome.column
            logs.require_columns(column, role=self.role, single=True)
            if not self.declaration.reward.known and column == self.declaration.reward.name:
                raise UsageError(
                    f"the reward {column!r} is known of the labelled rounds alone, and cannot be {self.role}, which every "
                    "round has; compare by it in a question of its own."
                )
            if self.by is not None and column in self.by.columns():
                raise UsageError(f"by {column!r} is {self.role}; a segment must be known before the action.")
            for subject, reader in readers.items():
                if column in reader.needs(logs).handed_on:
                    raise UsageError(
                        f"{subject} is a function that is shown {column!r}, {self.role}, which is not known before the "
                        "action; name the columns that it needs in contexts=[...]."
                    )


@dataclass(frozen=True, kw_only=True)
class OneOutcome(ImprovementQuestion):
    """The claim about one column, which may be another than the reward."""

    column: RewardColumn | None

    def claim(self, name: str, count: RoundCount) -> Claim:
        return replace(super().claim(name, count), outcome=self.column)


@dataclass(frozen=True, kw_only=True)
class OutcomesQuestion(JudgedQuestion):
    """Delta is split evenly over the outcomes.

    To certify that *all* claims hold, each at delta would do: if one is false, its own bound must fail (an
    intersection-union test). But then the bounds, which are shown, would hold one by one and not together.
    """

    kind: ClassVar[str] = "compare outcomes"
    outcomes: Mapping[str, Outcome]

    def check_fields(self) -> None:
        super().check_fields()
        object.__setattr__(self, "outcomes", named_outcomes(self.outcomes))
        if self.margin:
            raise UsageError("margin= is for one reward; give each outcome its own, in at_least= or at_most_worse=.")
        judging = dict[tuple[str, bool], str]()
        for name, outcome in self.outcomes.items():
            other = judging.setdefault((outcome.column, outcome.cost), name)
            if other != name:
                raise UsageError(
                    f"outcomes {other!r} and {name!r} are both the {'cost' if outcome.cost else 'reward'} "
                    f"{outcome.column!r}; an outcome twice costs delta and says nothing new: make one claim of it, the "
                    "stricter one."
                )

    @property
    def own_features(self) -> frozenset[str]:
        return super().own_features | {"several outcomes"}

    @property
    def judges(self) -> Mapping[str, Outcome]:
        return self.outcomes

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Outcomes:
        return Outcomes(self.held(found), self.outcomes, place.delta, sums.units, place.provenance)
