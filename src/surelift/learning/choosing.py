"""Certified search: many learners learn on one part of a log, one is chosen on a second, and certified on a third."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from surelift.errors import FitManyError, UsageError
from surelift.learning.data.readings import Readings
from surelift.learning.data.survey import LogSurvey
from surelift.learning.fit import Fit
from surelift.learning.gaussian import fit_gaussian
from surelift.learning.held_out import (
    certified,
    datasets_of,
    judging_method,
    known_distribution,
    learn,
    parts_of,
    survey_parts,
)
from surelift.learning.learned import LearnedPolicy
from surelift.learning.learner import PolicyLearner
from surelift.learning.many import Progress, check_learners, reporter, train_together
from surelift.learning.policies.modules import Parameters
from surelift.learning.shared_answers import sums_together
from surelift.learning.training.problem import LearningProblem
from surelift.policies.resolve import as_policy
from surelift.questions.selection import SelectionQuestion
from surelift.questions.stored import require_logs
from surelift.results.policy_search import PolicySearch, TriedLearner
from surelift.traits.logs import Logs

_ALIKE, _OF_ALL = ("delta", "holdout", "method", "intercept"), ("delta", "intercept")


def search(
    logs: Logs, learners: Sequence[PolicyLearner] | Mapping[str, PolicyLearner], *, progress: Progress | None = None
) -> PolicySearch:
    """The best of many learners, with a certificate that stays true however many were tried.

    All learn from the first part of the log. On the second each chooses its pass, and one learner is chosen: the one
    whose certificate would be largest if the rounds of the third part were like these. It alone is certified, on the
    third part, whose size is ``holdout``. They are trained as by ``fit_many``: learners of one schedule take their
    steps together, and one that fails is named in the answer, while the others go on.

    Args:
        logs: Logs that declare ``contexts`` and ``action``.
        learners: The learners to try, by name, or a list of them.
        progress: Called after each epoch of each learner.
    """
    require_logs(logs)
    named = dict(learners) if isinstance(learners, Mapping) else _named(learners)
    check_learners(list(named.values()))
    params = _shared(named)
    readings, report = Readings(), reporter(progress)
    fits = {name: learner.prepared(logs, report(k), readings) for k, (name, learner) in enumerate(named.items())}
    surveyed = survey_parts(next(iter(fits.values())), parts_of(logs, params["holdout"]))
    learned, failures = train_together([_candidate(fit, surveyed) for fit in fits.values()])
    if not learned:
        raise FitManyError(failures, len(fits))
    names = list(named)
    policies = {names[number]: learned[number] for number in sorted(learned)}
    tried = _tried(logs, policies, surveyed, params)
    best = max(tried, key=lambda learner: learner.expected_lower)
    learner = named[best.name]
    learner.policy_, learner.answer_ = certified(logs, policies[best.name], surveyed, params)
    assert learner.policy_.certificate is not None
    learner.certificate_, learner.classes_ = learner.policy_.certificate, learner.policy_.classes_
    failed = {names[number]: str(error) for number, error in sorted(failures.items())}
    return PolicySearch(best.name, tuple(tried), failed, learner.answer_, learner)


def _candidate(fit: Fit, surveyed: LogSurvey) -> Generator[LearningProblem, Parameters, LearnedPolicy]:
    if not fit.options.certifies:
        own = survey_parts(fit, surveyed.cuts)
        return (yield from learn(fit, own, *datasets_of(fit, own), judging=fit.logs.count() - own.cuts[1]))
    # A gaussian policy has no pass to choose, and its own guarantee is not asked for.
    policy, _ = yield from fit_gaussian(replace(fit, logs=fit.readings.part(fit.logs, 0, surveyed.cuts[0])))
    return replace(policy, certificate=None)


def _tried(
    logs: Logs, policies: Mapping[str, LearnedPolicy], surveyed: LogSurvey, params: Mapping[str, Any]
) -> list[TriedLearner]:
    """Every policy on the rounds that choose, in one pass, at delta over the number of policies."""
    method = judging_method(params)
    known = [known_distribution(name, policy, logs.declaration, method) for name, policy in policies.items()]
    question = SelectionQuestion(
        declaration=logs.declaration, policies={name: as_policy(policy) for name, policy in policies.items()},
        delta=params["delta"], method=method, many="simultaneous", known=frozenset().union(*known),
    )  # fmt: skip
    resolved, sums = sums_together(question, logs.part(*surveyed.cuts))
    choosing, judging = sums.units, logs.count() - surveyed.cuts[1]
    # The certificate to expect, if the rounds that will judge are like these: their sums, as often as they go into them.
    expected = reduce(add, [sums] * max(1, round(judging / choosing)))
    claims = resolved.claims(lambda: choosing)
    level, scale, tried = params["delta"] / len(policies), logs.scale, list[TriedLearner]()
    for name in policies:
        gain = claims[name].low
        estimate = method.estimate(sums, gain, lower=method.lower_bound(sums, gain, delta=level))
        lower = method.lower_bound(expected, gain, delta=level)
        tried.append(TriedLearner(name, scale.improvement(estimate), scale.improvement(lower)))
    return tried


def _named(learners: Sequence[PolicyLearner]) -> dict[str, PolicyLearner]:
    """Learners by what is not the default in them; those that do not differ in that are numbered."""
    names = [repr(learner).removeprefix("PolicyLearner(").removesuffix(")") or "linear" for learner in learners]
    return {
        f"{name} ({names[:k].count(name) + 1})" if names.count(name) > 1 else name: learner
        for k, (name, learner) in enumerate(zip(names, learners, strict=True))
    }


def _shared(learners: Mapping[str, PolicyLearner]) -> Mapping[str, Any]:
    if not learners:
        raise UsageError("search needs at least one learner.")
    each = [learner.get_params() for learner in learners.values()]
    # A gaussian policy is judged as the others are, whose options it does not have.
    judged = [params for params in each if not (isinstance(params["policy"], str) and params["policy"] == "gaussian")]
    judged = judged or each
    for name in _ALIKE:
        values = {repr(params[name]) for params in (each if name in _OF_ALL else judged)}
        if len(values) > 1:
            raise UsageError(
                f"the learners differ in {name}= ({', '.join(sorted(values)[:3])}); one certificate is made, for the one "
                "that is chosen, so it must be the same for all."
            )
    for name, params in zip(learners, each, strict=True):
        if params["progressive"] is not None:
            raise UsageError(f"learner {name!r} has progressive=, which certifies on every part; remove it for a search.")
    judging_method(judged[0])
    return judged[0]
