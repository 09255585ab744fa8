"""A policy of several stages, each learned from all rounds before a stretch of the log, and judged on it.

Theorem C: the terms of each round are those of the stage that was learned before it, so their products are a
supermartingale, and the bound is on the mean over all judged rounds of what the stage of the round would have gained. Where
nothing drifts, this is the improvement of the policy that draws one of those rounds at every decision and acts by its stage.
"""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from surelift.errors import UsageError
from surelift.learning.guarantee import NAME
from surelift.learning.policies.rules import StagesRule
from surelift.logs.batch import Needs
from surelift.logs.decisions import Decisions
from surelift.logs.origins import Origins
from surelift.logs.vectors import Vectors
from surelift.policies.readers import Singles, kept
from surelift.policies.resolve import as_policy
from surelift.questions.assumptions import NOT_FITTED
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.question import Progress
from surelift.results.improvement import Improvement
from surelift.traits.logs import Logs

if TYPE_CHECKING:
    from surelift.learning.learned import LearnedPolicy

ASSUMED = (
    "each stage was learned from rounds before those that judge it, and uses nothing that was not known before the action",
    "nothing drifts: the policy draws one of its stages at every decision, also those learned from few rounds, and is "
    "certified as if the judged rounds came again",
)


@dataclass(frozen=True, slots=True, eq=False)
class PlayedStages:
    """A learned policy as it is judged: each round by the stage that had been learned before it."""

    learned: "LearnedPolicy"
    first: int  # the row of the first judged round
    learned_from: ClassVar[Origins] = Origins()  # each stage is judged on rounds that came after those it learned from

    @property
    def features(self) -> frozenset[str]:
        return self.learned.features

    def as_reader(self) -> "PlayedStages":
        return self

    def needs(self, logs: Logs) -> Needs:
        return self.learned.needs(logs)

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        rule, layout, rows = self.learned.rule, self.learned.layout, decisions.rows
        assert isinstance(rule, StagesRule)
        encoded = layout.encode(rows.handed_on(layout.names, texts=layout.texts))
        judged = rows.numbered - self.first
        stage = np.searchsorted(np.cumsum(rule.rounds), judged, side="right")
        probabilities = np.empty((rows.size, self.learned.action_count))
        for number in np.unique(stage):
            probabilities[stage == number] = rule.stages[number].probabilities(encoded[stage == number])
        return kept(rows, probabilities, subject)

    def describe(self) -> dict[str, Any]:
        return self.learned.describe()


@dataclass(frozen=True, kw_only=True)
class ProgressiveQuestion(ImprovementQuestion):
    """The improvement of a policy of several stages, from the rounds that judged each of them."""

    kind: ClassVar[str] = "progressive"

    def ask(self, logs: Logs, *, progress: Progress | None = None) -> Improvement:
        return self.told(self.played(logs).ask(logs, progress=progress))

    def played(self, logs: Logs) -> ImprovementQuestion:
        """The same of the stages as they were judged, each on its own rounds."""
        learned: Any = getattr(self.policies[NAME], "reader", None)
        if not isinstance(getattr(learned, "rule", None), StagesRule):
            raise UsageError("this is the certificate of a policy learned in stages; give that policy in policies=.")
        if logs.count() != sum(learned.rule.rounds):
            raise UsageError(
                f"the stages of this policy were judged on {sum(learned.rule.rounds):,} rounds, but these logs have "
                f"{logs.count():,}; give the whole log, or the judged rounds alone."
            )
        if self.by is not None:
            raise UsageError("the stages of this policy were judged together; remove by=.")
        played = PlayedStages(learned, getattr(logs.source, "first", 0))
        asked = {item.name: getattr(self, item.name) for item in fields(self)}
        return ImprovementQuestion(**{**asked, "policies": {NAME: as_policy(played)}})

    def told(self, answer: Improvement) -> Improvement:
        """The answer of the played stages as one about the policy that draws them."""
        assumptions = tuple(line for line in answer.assumptions if line != NOT_FITTED) + ASSUMED
        provenance = replace(answer.provenance, question=replace(self, known=None).to_dict())
        return replace(answer, assumptions=assumptions, provenance=provenance)
