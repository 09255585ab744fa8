"""Learning as the log grows: a policy of several stages, each judged on the rounds that follow those it learned from."""

from collections.abc import Generator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from surelift.errors import UsageError, whole
from surelift.learning.fit import Fit
from surelift.learning.guarantee import NAME
from surelift.learning.held_out import KEEP_PRODUCTION, choosing_from, known_distribution, learn, survey_parts
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.modules import Parameters
from surelift.learning.policies.rules import StagesRule
from surelift.learning.shared_answers import ask_together
from surelift.learning.stages import ProgressiveQuestion
from surelift.learning.training.problem import LearningProblem
from surelift.learning.training.processes import process_group
from surelift.logs.origins import Origins
from surelift.policies.policy import origins_of
from surelift.policies.resolve import as_policy
from surelift.questions.assumptions import judged_last
from surelift.questions.certificate import Certificate
from surelift.questions.method import choose_method
from surelift.questions.soundness import LEARNED_FROM
from surelift.results.improvement import Improvement


def fit_progressive(fit: Fit) -> Generator[LearningProblem, Parameters, tuple[LearnedPolicy, Improvement]]:
    params, logs, rounds = fit.params, fit.logs, fit.logs.count()
    stages = whole("progressive", params["progressive"])
    if params["policy"] not in ("linear", "network"):
        raise UsageError("progressive= learns policies 'linear' and 'network'; use holdout= for others.")
    if params["checkpoint"] is not None or params["method"] != "mixture":
        used = "checkpoint=" if params["checkpoint"] is not None else f"method={params['method']!r}"
        raise UsageError(f"progressive= does not support {used}; remove it, or use holdout=.")
    if process_group().count > 1:
        raise UsageError("progressive= learns in one process; start it without torchrun, or use holdout=.")
    edges = tuple(rounds * stage // (stages + 1) for stage in range(1, stages + 1))
    if rounds and (not edges[0] or not choosing_from(edges[0]) or len(set(edges)) < stages):
        raise UsageError(f"{rounds} rounds are too few for {stages} stages; lower progressive=.")
    surveyed = survey_parts(fit, edges)
    rules: list[Any] = []
    first = surveyed.cuts[0]
    (read,) = fit.readings.datasets(logs, surveyed.cuts[-1:], surveyed.layout, surveyed.actions, fit.options.model)
    for number, end in enumerate(surveyed.cuts):
        before = sum(surveyed.origins[: number + 1], Origins())
        if surveyed.origins[number + 1].overlaps(before):
            raise UsageError(f"the policy {LEARNED_FROM}")
        choosing = choosing_from(end)
        learned = yield from learn(fit, surveyed, read.part(0, choosing), read.part(choosing, end), judging=rounds - first)
        rules.append(learned.rule)
    judged = tuple(last - first for first, last in pairwise((*surveyed.cuts, rounds)))
    policy = LearnedPolicy(
        StagesRule(tuple(rules), judged), surveyed.layout, logs.declaration.propensity.actions, surveyed.actions,
        surveyed.all_origins, origins_of(fit.options.model),
    )  # fmt: skip
    question = ProgressiveQuestion(
        declaration=logs.declaration, policies={NAME: as_policy(policy)}, delta=params["delta"],
        method=(method := choose_method(params["method"])),
        known=known_distribution(NAME, policy, logs.declaration, method),
    )  # fmt: skip
    judging = logs.part(first, rounds)
    answer = judged_last(question.told(ask_together(question.played(judging), judging)), logs.declaration)
    answer = replace(answer, provenance=replace(answer.provenance, rows=(first, rounds)))
    advised = answer if answer.certified else replace(answer, advice=KEEP_PRODUCTION)
    return replace(policy, certificate=Certificate.of(answer)), advised
