"""Learning any differentiable policy: on the first rounds, choosing the pass on the next, certified on the last."""

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

from surelift.bounds import BOUNDS
from surelift.controls.model import SAME_ROUNDS
from surelift.errors import UsageError, share
from surelift.learning.data.dataset import Dataset
from surelift.learning.data.survey import LogSurvey
from surelift.learning.fit import Fit
from surelift.learning.guarantee import NAME
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.items import SampledSoftmax
from surelift.learning.policies.modules import Parameters, build_policy
from surelift.learning.policies.rules import ItemRule
from surelift.learning.shared_answers import ask_together
from surelift.learning.training.problem import LearningProblem
from surelift.policies.policy import origins_of
from surelift.policies.resolve import as_policy
from surelift.questions.assumptions import judged_last
from surelift.questions.certificate import Certificate
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import Method, choose_method
from surelift.questions.soundness import LEARNED_FROM
from surelift.results.improvement import Improvement
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs

CHOOSING_SHARE = 0.15  # of the rounds before the held-out ones, those that choose the pass, and among learners
KEEP_PRODUCTION = "Keep production: nothing is certified about the learned policy. Learn again when the log has grown."


def parts_of(logs: Logs, holdout: float) -> tuple[int, int]:
    """Where the rounds that choose begin, and those that certify."""
    rounds = logs.count()
    held_out = rounds - int(share("holdout", holdout) * rounds)
    if rounds and not 0 < held_out < rounds:
        raise UsageError(
            f"holdout={holdout:g} leaves no rounds, of {rounds:,}, to certify the policy on, or none to learn from."
        )
    choosing = choosing_from(held_out)
    if rounds and not choosing:
        raise UsageError(f"only {held_out:,} rounds are left to learn from, and one of them must choose the pass.")
    return choosing, held_out


def choosing_from(rounds: int) -> int:
    """Of the first rounds of a log, where those that choose begin."""
    return rounds - max(1, int(CHOOSING_SHARE * rounds))


def survey_parts(fit: Fit, cuts: tuple[int, ...]) -> LogSurvey:
    """The layout comes from the training rounds alone: even the set of categories must not depend on later ones."""
    model_from = origins_of(fit.options.model)
    surveyed = fit.readings.survey(
        fit.logs,
        intercept=fit.params["intercept"],
        cuts=cuts,
        first_part_only=True,
        standardise=True,
        others=model_from,
    )
    if surveyed.all_origins.overlaps(model_from):
        raise UsageError(SAME_ROUNDS)
    return surveyed


def datasets_of(fit: Fit, surveyed: LogSurvey) -> list[Dataset]:
    """The rounds to train on, and those to choose the pass on."""
    return fit.readings.datasets(fit.logs, surveyed.cuts[:2], surveyed.layout, surveyed.actions, fit.options.model)


def learn(
    fit: Fit, surveyed: LogSurvey, training: Dataset, chooser: Dataset, *, judging: int
) -> Generator[LearningProblem, Parameters, LearnedPolicy]:
    """Trained on some rounds; the pass is chosen on others, as if ``judging`` rounds like them were to judge it."""
    options, layout, actions = fit.options, surveyed.layout, surveyed.actions
    policy, rule_of = build_policy(fit.params["policy"], layout.size, actions, fit.params["seed"])
    estimate = options.estimate(rounds=training.rounds, linear=isinstance(policy, SampledSoftmax))
    parameters = yield fit.problem(policy, estimate, training, surveyed.identity, choosing=chooser, judging=judging)
    return LearnedPolicy(
        rule_of(parameters), layout, fit.logs.declaration.propensity.actions, actions, surveyed.origins[0],
        origins_of(options.model),
    )  # fmt: skip


def fit_held_out(fit: Fit) -> Generator[LearningProblem, Parameters, tuple[LearnedPolicy, Improvement]]:
    judging_method(fit.params)
    surveyed = survey_parts(fit, parts_of(fit.logs, fit.params["holdout"]))
    learned = yield from learn(fit, surveyed, *datasets_of(fit, surveyed), judging=fit.logs.count() - surveyed.cuts[1])
    return certified(fit.logs, learned, surveyed, fit.params)


def certified(
    logs: Logs, learned: LearnedPolicy, surveyed: LogSurvey, params: Mapping[str, Any]
) -> tuple[LearnedPolicy, Improvement]:
    """The policy with its certificate by the last part, which neither trained it nor chose anything."""
    learned = replace(learned, trained_on=surveyed.origins[0] + surveyed.origins[1])
    if surveyed.origins[2].overlaps(learned.trained_on):
        raise UsageError(f"the policy {LEARNED_FROM}")
    first, last, method = surveyed.cuts[1], logs.count(), judging_method(params)
    question = ImprovementQuestion(
        declaration=logs.declaration, policies={NAME: as_policy(learned)}, delta=params["delta"], method=method,
        known=known_distribution(NAME, learned, logs.declaration, method),
    )  # fmt: skip
    answer = judged_last(ask_together(question, logs.part(first, last)), logs.declaration)
    answer = replace(answer, provenance=replace(answer.provenance, rows=(first, last)))
    advised = answer if answer.certified else replace(answer, advice=KEEP_PRODUCTION)
    return replace(learned, certificate=Certificate.of(answer)), advised


def judging_method(params: Mapping[str, Any]) -> Method:
    method = choose_method(params["method"])
    if not (method.bound.certifies and method.bound.paired):
        able = ", ".join(name for name, bound in BOUNDS.items() if bound.certifies and bound.paired)
        raise UsageError(f"method={method.name!r} does not certify improvements; use one of {able}.")
    return method


def known_distribution(name: str, learned: LearnedPolicy, declared: Declaration, method: Method) -> frozenset[str]:
    """Said here, it need not be looked up in a pass of its own: whether the policy gives whole distributions."""
    wanted = method.wants_distributions and declared.has("distributions")
    whole = wanted and not isinstance(learned.rule, ItemRule)
    return frozenset({name} if whole else ())
