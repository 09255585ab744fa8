"""Learning any differentiable policy on the first rounds of a log; the next choose the pass, and the last ones certify."""

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
from surelift.learning.data.dataset import Dataset
from surelift.learning.data.rounds import rows_of
from surelift.learning.data.survey import LogSurvey
from surelift.learning.fit import Fit, Steps
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.items import SampledSoftmax
from surelift.learning.policies.modules import Parameters, build_policy
from surelift.learning.policies.rules import ItemRule, StagesRule
from surelift.learning.questions import NAME, ProgressiveQuestion, refuse_seen
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


def parts_of(logs: Logs, holdout: float) -> tuple[int, int]:
    """Where the rounds that choose begin, and those that certify."""
    rounds = logs.count()
    held_out = rounds - int(share("holdout", holdout) * rounds)
    choosing, problem = choosing_from(held_out), ""
    if not 0 < held_out < rounds:
        problem = f"holdout={holdout:g} leaves no rounds, of {rounds:,}, to certify the policy on, or none to learn from."
    elif not choosing:
        problem = f"only {held_out:,} rounds are left to learn from, and one of them must choose the pass."
    if rounds and problem:
        raise UsageError(problem)
    return choosing, held_out


def choosing_from(rounds: int) -> int:
    """The first of the rounds that choose, which are the last of the first ``rounds`` of a log."""
    return rounds - max(1, int(CHOOSING_SHARE * rounds))


def survey_parts(fit: Fit, cuts: tuple[int, ...]) -> LogSurvey:
    """The layout comes from the training rounds alone: even the set of categories must not depend on later ones."""
    model_from = origins_of(fit.options.model)
    surveyed = fit.survey(others=model_from, cuts=cuts, first_part_only=True, standardise=True)
    refuse_seen((SAME_ROUNDS, surveyed.all_origins, model_from))
    return surveyed


def learn(
    fit: Fit, surveyed: LogSurvey, training: Dataset, chooser: Dataset, *, judging: int
) -> Generator[LearningProblem, Parameters, LearnedPolicy]:
    """Trained on some rounds; the pass is chosen on others, as if ``judging`` rounds like them were to judge it."""
    policy, rule_of = build_policy(fit.params["policy"], surveyed.layout.size, surveyed.actions, fit.params["seed"])
    estimate = fit.options.estimate(rounds=training.rounds, linear=isinstance(policy, SampledSoftmax))
    parameters = yield fit.problem(policy, estimate, training, surveyed.identity, choosing=chooser, judging=judging)
    labels, model_from = fit.logs.declaration.propensity.actions, origins_of(fit.options.model)
    return LearnedPolicy(rule_of(parameters), surveyed.layout, labels, surveyed.actions, surveyed.origins[0], model_from)


def learn_part(fit: Fit, cuts: tuple[int, ...]) -> Generator[LearningProblem, Parameters, tuple[LearnedPolicy, LogSurvey]]:
    surveyed = survey_parts(fit, cuts)
    training, chooser = fit.datasets(surveyed.layout, surveyed.actions, surveyed.cuts)
    judging = fit.logs.count() - surveyed.cuts[1]
    return (yield from learn(fit, surveyed, training, chooser, judging=judging)), surveyed


def fit_held_out(fit: Fit) -> Steps:
    judging_method(fit.params)
    learned, surveyed = yield from learn_part(fit, parts_of(fit.logs, fit.params["holdout"]))
    return certified(fit.logs, learned, surveyed, fit.params)


def certified(
    logs: Logs, learned: LearnedPolicy, surveyed: LogSurvey, params: Mapping[str, Any]
) -> tuple[LearnedPolicy, Improvement]:
    """The policy with its certificate by the last part."""
    training, choosing, judging = surveyed.origins
    learned = replace(learned, trained_on=training + choosing)
    refuse_seen((f"the policy {LEARNED_FROM}", judging, learned.trained_on))
    question = ImprovementQuestion(**asked_of({NAME: learned}, logs, params))
    first = surveyed.cuts[1]
    return with_certificate(learned, ask_together(question, logs.part(first, logs.count())), logs, first)


KEEP_PRODUCTION = "Keep production: nothing is certified about the learned policy. Learn again when the log has grown."
Q = TypeVar("Q", bound=Question)


def judging_method(params: Mapping[str, Any]) -> Method:
    method = choose_method(params["method"])
    if not (method.bound.certifies and method.bound.paired):
        able = ", ".join(name for name, bound in BOUNDS.items() if bound.certifies and bound.paired)
        raise UsageError(f"method={method.name!r} does not certify improvements; use one of {able}.")
    return method


def asked_of(policies: Mapping[str, LearnedPolicy], logs: Logs, params: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a question about learned policies; which give whole distributions need not be looked up in a pass."""
    method = judging_method(params)
    wanted = method.wants_distributions and "distributions" in logs.declaration.features
    whole = (name for name, learned in policies.items() if wanted and not isinstance(learned.rule, ItemRule))
    return {
        "declaration": logs.declaration, "policies": {name: as_policy(learned) for name, learned in policies.items()},
        "delta": params["delta"], "method": method, "known": frozenset(whole),
    }  # fmt: skip


def with_certificate(learned: LearnedPolicy, answer: Any, logs: Logs, first: int) -> tuple[LearnedPolicy, Improvement]:
    answer = judged_last(answer, logs.declaration)
    answer = replace(answer, provenance=replace(answer.provenance, rows=rows_of(logs, first, logs.count())))
    advised = answer if answer.certified else replace(answer, advice=KEEP_PRODUCTION)
    return replace(learned, certificate=Certificate.of(answer)), advised


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
    counts = partial(count_units, logs) if resolved.counts_rounds else None
    return resolved, processes.together(lambda: resolved.plan(counts))


def collect_together(plan: Plan, logs: Logs) -> Sums:
    """The sums over all rounds, to which each process adds those of its share."""
    processes = process_group()
    share = processes.share(logs.count())
    part = logs if processes.count == 1 else logs.part(share.start, share.stop)
    return reduce(add, processes.gather(lambda: collect(part, plan)))


def fit_progressive(fit: Fit) -> Steps:
    params, logs, rounds = fit.params, fit.logs, fit.logs.count()
    stages = whole("progressive", params["progressive"])
    edges = tuple(rounds * stage // (stages + 1) for stage in range(1, stages + 1))
    few = not edges[0] or not choosing_from(edges[0]) or len(set(edges)) < stages
    problem = ""
    if params["policy"] not in ("linear", "network"):
        problem = "progressive= learns policies 'linear' and 'network'; use holdout= for others."
    elif params["checkpoint"] is not None:
        problem = "progressive= does not support checkpoint=; remove it, or use holdout=."
    elif params["method"] != "mixture":
        problem = f"progressive= does not support method={params['method']!r}; remove it, or use holdout=."
    elif process_group().count > 1:
        problem = "progressive= learns in one process; start it without torchrun, or use holdout=."
    elif rounds and few:
        problem = f"{rounds} rounds are too few for {stages} stages; lower progressive=."
    if problem:
        raise UsageError(problem)
    surveyed, learned = survey_parts(fit, edges), list[Any]()
    (read,) = fit.datasets(surveyed.layout, surveyed.actions, surveyed.cuts[-1:])
    first = surveyed.cuts[0]
    for number, end in enumerate(surveyed.cuts):
        before = sum(surveyed.origins[: number + 1], Origins())
        refuse_seen((f"the policy {LEARNED_FROM}", surveyed.origins[number + 1], before))
        training, chooser = read.part(0, choosing_from(end)), read.part(choosing_from(end), end)
        learned.append((yield from learn(fit, surveyed, training, chooser, judging=rounds - first)))
    judged = tuple(last - first for first, last in pairwise((*surveyed.cuts, rounds)))
    rule = StagesRule(tuple(stage.rule for stage in learned), judged)
    policy = replace(learned[0], rule=rule, trained_on=surveyed.all_origins)
    question, judging = ProgressiveQuestion(**asked_of({NAME: policy}, logs, params)), logs.part(first, rounds)
    return with_certificate(policy, question.drawn(ask_together(question.played(judging), judging)), logs, first)
