"""Learning as the log grows: each stage learns from all rounds before a stretch of the log, and is judged on it.

THEORY, Theorem C: the terms of each round are those of the stage that was learned before it, so their products are a
supermartingale, and the bound is on the mean over all judged rounds of what the stage of the round would have gained. Where
nothing drifts, this is the improvement of the policy that draws one of those rounds at every decision and acts by its stage.
"""

from collections.abc import Generator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from surelift.errors import UsageError, whole
from surelift.learning.fit import Fit
from surelift.learning.guarantee import NAME
from surelift.learning.held_out import KEEP_PRODUCTION, choosing_from, known_distribution, learn, survey_parts
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.modules import Parameters
from surelift.learning.policies.rules import StagesRule
from surelift.learning.training.problem import LearningProblem
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.origins import Origins
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import origins_of
from surelift.policies.readers import Singles, kept
from surelift.policies.resolve import as_policy
from surelift.questions.assumptions import NOT_FITTED, judged_last
from surelift.questions.certificate import Certificate
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import choose_method
from surelift.questions.question import LEARNED_FROM, Progress
from surelift.results.improvement import Improvement

ASSUMED = (
    "each stage was learned from rounds before those that judge it, and uses nothing that was not known before the action",
    "nothing drifts: the policy draws one of its stages at every decision, also those learned from few rounds, and is "
    "certified as if the judged rounds came again",
)


@dataclass(frozen=True, slots=True, eq=False)
class PlayedStages:
    """A learned policy as it is judged: each round by the stage that had been learned before it."""

    learned: LearnedPolicy
    first: int  # the row of the first judged round
    learned_from: ClassVar[Origins] = Origins()  # each stage is judged on rounds that came after those it learned from

    def as_reader(self) -> "PlayedStages":
        return self

    def needs(self, logs: Logs) -> Needs:
        return self.learned.needs(logs)

    def read(self, rounds: Rounds, subject: str) -> Singles | Vectors:
        rule, layout = self.learned.rule, self.learned.features
        assert isinstance(rule, StagesRule)
        encoded = layout.encode(rounds.handed_on(layout.names, texts=layout.texts))
        rows = rounds.start - self.first + np.arange(rounds.size)
        stage = np.searchsorted(np.cumsum(rule.rounds), rows, side="right")
        probabilities = np.empty((rounds.size, self.learned.action_count))
        for number in np.unique(stage):
            probabilities[stage == number] = rule.stages[number].probabilities(encoded[stage == number])
        return kept(rounds, probabilities, subject)

    def describe(self) -> dict[str, Any]:
        return self.learned.describe()


@dataclass(frozen=True, kw_only=True)
class ProgressiveQuestion(ImprovementQuestion):
    """The improvement of a policy of several stages, from the rounds that judged each of them."""

    kind: ClassVar[str] = "progressive"

    def ask(self, logs: Logs, *, progress: Progress | None = None) -> Improvement:
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
        question = ImprovementQuestion(**{**asked, "policies": {NAME: as_policy(played)}})
        answer: Improvement = question.ask(logs, progress=progress)
        assumptions = tuple(line for line in answer.assumptions if line != NOT_FITTED) + ASSUMED
        provenance = replace(answer.provenance, question=replace(self, known=None).to_dict())
        return replace(answer, assumptions=assumptions, provenance=provenance)


def fit_progressive(fit: Fit) -> Generator[LearningProblem, Parameters, tuple[LearnedPolicy, Improvement]]:
    params, logs, rounds = fit.params, fit.logs, fit.logs.count()
    stages = whole("progressive", params["progressive"])
    if params["policy"] not in ("linear", "network"):
        raise UsageError("progressive= learns policies 'linear' and 'network'; use holdout= for others.")
    if params["checkpoint"] is not None or params["method"] != "mixture":
        used = "checkpoint=" if params["checkpoint"] is not None else f"method={params['method']!r}"
        raise UsageError(f"progressive= does not support {used}; remove it, or use holdout=.")
    edges = tuple(rounds * stage // (stages + 1) for stage in range(1, stages + 1))
    if rounds and (not edges[0] or not choosing_from(edges[0]) or len(set(edges)) < stages):
        raise UsageError(f"{rounds} rounds are too few for {stages} stages; lower progressive=.")
    surveyed = survey_parts(fit, edges)
    rules: list[Any] = []
    for number, end in enumerate(surveyed.cuts):
        before = sum(surveyed.origins[: number + 1], Origins())
        if surveyed.origins[number + 1].overlaps(before):
            raise UsageError(f"the policy {LEARNED_FROM}")
        learned = yield from learn(fit, surveyed, choosing_from(end), end)
        rules.append(learned.rule)
    judged = tuple(last - first for first, last in pairwise((*surveyed.cuts, rounds)))
    policy = LearnedPolicy(
        StagesRule(tuple(rules), judged), surveyed.layout, logs.declaration.actions, surveyed.actions,
        surveyed.all_origins, origins_of(fit.options.model),
    )  # fmt: skip
    question = ProgressiveQuestion(
        declaration=logs.declaration, policies={NAME: as_policy(policy)}, delta=params["delta"],
        method=(method := choose_method(params["method"])),
        known=known_distribution(NAME, policy, logs.declaration, method),
    )  # fmt: skip
    first = surveyed.cuts[0]
    answer = judged_last(question.ask(logs.part(first, rounds)), logs.declaration)
    answer = replace(answer, provenance=replace(answer.provenance, rows=(first, rounds)))
    advised = answer if answer.certified else replace(answer, advice=KEEP_PRODUCTION)
    return replace(policy, certificate=Certificate.of(answer)), advised
