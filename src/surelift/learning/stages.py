"""The certificate of a policy of several stages, each learned from all rounds before a stretch of the log and judged on it.

By Theorem C the terms of each round are those of the stage that was learned before it, so their products are a
supermartingale, and the bound is on the mean over all judged rounds of what the stage of the round would have gained. Where
nothing drifts, this is the improvement of the policy that draws one of those rounds at every decision and acts by its stage.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from surelift.errors import UsageError
from surelift.learning.data.rounds import counted
from surelift.learning.guarantee import NAME
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.rules import StagesRule
from surelift.logs.decisions import Decisions
from surelift.logs.seen import Origins
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Singles
from surelift.policies.readers import kept
from surelift.policies.resolve import as_policy
from surelift.questions.assumptions import NOT_FITTED
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.question import Progress
from surelift.results.improvement import Improvement
from surelift.traits.logs import Logs

ASSUMED = (
    "each stage was learned from rounds before those that judge it, and uses nothing that was not known before the action",
    "nothing drifts: the policy draws one of its stages at every decision, also those learned from few rounds, and is "
    "certified as if the judged rounds came again",
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlayedStages(LearnedPolicy):
    """A learned policy as it is judged: each round by the stage that had been learned before it."""

    first: int = 0  # the row of the first judged round

    @property
    def learned_from(self) -> Origins:
        """Nothing, since each stage is judged on rounds that came after those it learned from."""
        return Origins()

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        rule, layout, rows = self.rule, self.layout, decisions.rows
        assert isinstance(rule, StagesRule)
        encoded = layout.encode(rows.handed_on(layout.names, texts=layout.texts))
        # By their place among the rounds that count, not by their row in the log.
        judged = rows.start - self.first + np.arange(rows.size)
        stage = np.searchsorted(np.cumsum(rule.rounds), judged, side="right")
        probabilities = np.empty((rows.size, self.action_count))
        for number in np.unique(stage):
            probabilities[stage == number] = rule.stages[number].probabilities(encoded[stage == number])
        return kept(rows, probabilities, subject)


@dataclass(frozen=True, kw_only=True)
class ProgressiveQuestion(ImprovementQuestion):
    """The improvement of a policy of several stages, from the rounds that judged each of them."""

    kind: ClassVar[str] = "progressive"

    def ask(self, logs: Logs, *, progress: Progress | None = None) -> Improvement:
        logs = counted(logs)
        return self.drawn(self.played(logs).ask(logs, progress=progress))

    def played(self, logs: Logs) -> ImprovementQuestion:
        """The same of the stages as they were judged, each on its own rounds."""
        learned: Any = getattr(self.policies[NAME], "reader", None)
        rule, count, problem = getattr(learned, "rule", None), logs.count(), ""
        if not isinstance(rule, StagesRule):
            problem = "this is the certificate of a policy learned in stages; give that policy in policies=."
        elif count != sum(rule.rounds):
            problem = (
                f"the stages of this policy were judged on {sum(rule.rounds):,} rounds, but these logs have {count:,}; give "
                "the whole log, or the judged rounds alone."
            )
        elif self.by is not None:
            problem = "the stages of this policy were judged together; remove by=."
        if problem:
            raise UsageError(problem)
        stages = {item.name: getattr(learned, item.name) for item in fields(LearnedPolicy) if item.init}
        played = PlayedStages(**stages, first=getattr(logs.source, "first", 0))
        asked = {item.name: getattr(self, item.name) for item in fields(self) if item.init}
        return ImprovementQuestion(**{**asked, "policies": {NAME: as_policy(played)}})

    def drawn(self, answer: Improvement) -> Improvement:
        """The answer of the played stages as one about the policy that draws them."""
        assumptions = tuple(line for line in answer.assumptions if line != NOT_FITTED) + ASSUMED
        provenance = replace(answer.provenance, question=replace(self, known=None).to_dict())
        return replace(answer, assumptions=assumptions, provenance=provenance)
