"""Learning any differentiable policy on the first rounds of a log, certified on rounds that come later.

Either the pass is chosen on the next rounds, and the last ones certify; or the policy has stages, each learned from all
rounds before a stretch of the log and judged on it.
"""

from collections.abc import Generator, Mapping
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, TypeVar

from surelift.bounds import BOUNDS
from surelift.controls.model import SAME_ROUNDS
from surelift.engines import collect, count_units
from surelift.errors import UsageError, share, whole
from surelift.learning.data.chosen_rounds import rows_of
from surelift.learning.data.dataset import Dataset
from surelift.learning.data.survey import LogSurvey
from surelift.learning.fit import Fit, Steps
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.items import SampledSoftmax
from surelift.learning.policies.modules import Parameters, build_policy
from surelift.learning.policies.rules import ItemRule, StagesRule
from surelift.learning.questions import NAME, ProgressiveQuestion
from surelift.learning.training.problem import LearningProblem
from surelift.learning.training.processes import process_group
from surelift.logs.seen import Origins
from surelift.policies.policy import origins_of
from surelift.policies.resolve import as_policy
from surelift.questions.assumptions import judged_last
from surelift.questions.certificate import Certificate
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import Method, choose_method
from surelift.questions.question import Question
from surelift.questions.soundness import LEARNED_FROM
from surelift.results.improvement import Improvement
from surelift.statistics.plan import Plan
from surelift.statistics.sums import Sums
from surelift.traits.logs import Logs

CHOOSING_SHARE = 0.15  # of the rounds before the held-out ones, those that choose the pass, and among learners
KEEP_PRODUCTION = "Keep production: nothing is certified about the learned policy. Learn again when the log has grown."
Q = TypeVar("Q", bound=Question)


def parts_of(logs: Logs, holdout: float) -> tuple[int, int]:
    """Where the rounds that choose begin, and those that certify."""
    rounds = logs.count()
    held_out = rounds - int(share("holdout", holdout) * rounds)
    choosing, problem = _choosing_from(held_out), ""
    if not 0 < held_out < rounds:
        problem = f"holdout={holdout:g} leaves no rounds, of {rounds:,}, to certify the policy on, or none to learn from."
    elif not choosing:
        problem = f"only {held_out:,} rounds are left to learn from, and one of them must choose the pass."
    if rounds and problem:
        raise UsageError(problem)
    return choosing, held_out


def _choosing_from(rounds: int) -> int:
    """Of the first rounds of a log, where those that choose begin."""
    return rounds - max(1, int(CHOOSING_SHARE * rounds))


def survey_parts(fit: Fit, cuts: tuple[int, ...]) -> LogSurvey:
    """The layout comes from the training rounds alone: even the set of categories must not depend on later ones."""
    model_from = origins_of(fit.options.model)
    surveyed = fit.survey(others=model_from, cuts=cuts, first_part_only=True, standardise=True)
    if surveyed.all_origins.overlaps(model_from):
        raise UsageError(SAME_ROUNDS)
    return surveyed


def learn(
    fit: Fit, surveyed: LogSurvey, training: Dataset, chooser: Dataset, *, judging: int
) -> Generator[LearningProblem, Parameters, LearnedPolicy]:
    """Trained on some rounds; the pass is chosen on others, as if ``judging`` rounds like them were to judge it."""
    options, layout, actions = fit.options, surveyed.layout, surveyed.actions
    policy, rule_of = build_policy(fit.params["policy"], layout.size, actions, fit.params["seed"])
    estimate = options.estimate(rounds=training.rounds, linear=isinstance(policy, SampledSoftmax))
    parameters = yield fit.problem(policy, estimate, training, surveyed.identity, choosing=chooser, judging=judging)
    return learned_policy(fit, surveyed, rule_of(parameters), surveyed.origins[0])


def learned_policy(fit: Fit, surveyed: LogSurvey, rule: Any, trained_on: Origins) -> LearnedPolicy:
    labels = fit.logs.declaration.propensity.actions
    return LearnedPolicy(rule, surveyed.layout, labels, surveyed.actions, trained_on, origins_of(fit.options.model))


def learn_part(fit: Fit, cuts: tuple[int, ...]) -> Generator[LearningProblem, Parameters, tuple[LearnedPolicy, LogSurvey]]:
    surveyed = survey_parts(fit, cuts)
    training, chooser = fit.datasets(surveyed, surveyed.cuts[:2])
    judging = fit.logs.count() - surveyed.cuts[1]
    return (yield from learn(fit, surveyed, training, chooser, judging=judging)), surveyed


def fit_held_out(fit: Fit) -> Steps:
    judging_method(fit.params)
    learned, surveyed = yield from learn_part(fit, parts_of(fit.logs, fit.params["holdout"]))
    return certified(fit.logs, learned, surveyed, fit.params)


def certified(
    logs: Logs, learned: LearnedPolicy, surveyed: LogSurvey, params: Mapping[str, Any]
) -> tuple[LearnedPolicy, Improvement]:
    """The policy with its certificate by the last part, which neither trained it nor chose anything."""
    learned = replace(learned, trained_on=surveyed.origins[0] + surveyed.origins[1])
    if surveyed.origins[2].overlaps(learned.trained_on):
        raise UsageError(f"the policy {LEARNED_FROM}")
    question = ImprovementQuestion(**asked_of({NAME: learned}, logs, params))
    first, last = surveyed.cuts[1], logs.count()
    return _with_certificate(learned, ask_together(question, logs.part(first, last)), logs, first)


def asked_of(policies: Mapping[str, LearnedPolicy], logs: Logs, params: Mapping[str, Any]) -> dict[str, Any]:
    """What a question about learned policies is made of.

    Which of them give whole distributions is known here, and need not be looked up in a pass of its own.
    """
    method = judging_method(params)
    wanted = method.wants_distributions and logs.declaration.has("distributions")
    whole = (name for name, learned in policies.items() if wanted and not isinstance(learned.rule, ItemRule))
    return {
        "declaration": logs.declaration, "policies": {name: as_policy(learned) for name, learned in policies.items()},
        "delta": params["delta"], "method": method, "known": frozenset(whole),
    }  # fmt: skip


def _with_certificate(learned: LearnedPolicy, answer: Any, logs: Logs, first: int) -> tuple[LearnedPolicy, Improvement]:
    answer = judged_last(answer, logs.declaration)
    answer = replace(answer, provenance=replace(answer.provenance, rows=rows_of(logs, first, logs.count())))
    advised = answer if answer.certified else replace(answer, advice=KEEP_PRODUCTION)
    return replace(learned, certificate=Certificate.of(answer)), advised


def judging_method(params: Mapping[str, Any]) -> Method:
    method = choose_method(params["method"])
    if not (method.bound.certifies and method.bound.paired):
        able = ", ".join(name for name, bound in BOUNDS.items() if bound.certifies and bound.paired)
        raise UsageError(f"method={method.name!r} does not certify improvements; use one of {able}.")
    return method


def fit_progressive(fit: Fit) -> Steps:
    """Learning as the log grows: a policy of several stages, each judged on the rounds that follow those it learned from."""
    params, logs, rounds = fit.params, fit.logs, fit.logs.count()
    stages = whole("progressive", params["progressive"])
    edges = tuple(rounds * stage // (stages + 1) for stage in range(1, stages + 1))
    few = rounds and (not edges[0] or not _choosing_from(edges[0]) or len(set(edges)) < stages)
    refused = {
        "progressive= learns policies 'linear' and 'network'; use holdout= for others.":
            params["policy"] not in ("linear", "network"),
        "progressive= does not support checkpoint=; remove it, or use holdout=.": params["checkpoint"] is not None,
        f"progressive= does not support method={params['method']!r}; remove it, or use holdout=.":
            params["method"] != "mixture",
        "progressive= learns in one process; start it without torchrun, or use holdout=.": process_group().count > 1,
        f"{rounds} rounds are too few for {stages} stages; lower progressive=.": few,
    }  # fmt: skip
    for message, applies in refused.items():
        if applies:
            raise UsageError(message)
    surveyed, rules = survey_parts(fit, edges), list[Any]()
    (read,) = fit.datasets(surveyed, surveyed.cuts[-1:])
    first = surveyed.cuts[0]
    for number, end in enumerate(surveyed.cuts):
        before = sum(surveyed.origins[: number + 1], Origins())
        if surveyed.origins[number + 1].overlaps(before):
            raise UsageError(f"the policy {LEARNED_FROM}")
        choosing = _choosing_from(end)
        learned = yield from learn(fit, surveyed, read.part(0, choosing), read.part(choosing, end), judging=rounds - first)
        rules.append(learned.rule)
    judged = tuple(last - first for first, last in pairwise((*surveyed.cuts, rounds)))
    policy = learned_policy(fit, surveyed, StagesRule(tuple(rules), judged), surveyed.all_origins)
    question, judging = ProgressiveQuestion(**asked_of({NAME: policy}, logs, params)), logs.part(first, rounds)
    return _with_certificate(policy, question.drawn(ask_together(question.played(judging), judging)), logs, first)


def ask_together(question: Question, logs: Logs) -> Any:
    """``question.ask(logs)``, where each process reads its share of the logs; what needs their order is asked by each."""
    processes = process_group()
    if processes.count == 1:
        return question.ask(logs)
    resolved, plan = plan_together(question, logs)
    if plan.needs_order is not None:
        return processes.together(lambda: question.ask(logs))
    return resolved.answer(collect_together(plan, logs))


def plan_together(question: Q, logs: Logs) -> tuple[Q, Plan]:
    processes = process_group()
    resolved: Any = processes.together(lambda: question.resolved(logs))
    return resolved, processes.together(
        lambda: resolved.plan(partial(count_units, logs) if resolved.counts_rounds else None)
    )


def collect_together(plan: Plan, logs: Logs) -> Sums:
    """The sums over all rounds, to which each process adds those of its share."""
    processes = process_group()
    share = processes.share(logs.count())
    part = logs if processes.count == 1 else logs.part(share.start, share.stop)
    return reduce(add, processes.gather(lambda: collect(part, plan)))
