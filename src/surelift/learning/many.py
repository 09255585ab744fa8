"""Many learners with one call: each fitted to its logs, or the best of them found and certified."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from surelift.errors import FitManyError, UsageError
from surelift.learning.data.survey import LogSurvey
from surelift.learning.fit import Fit, Readings
from surelift.learning.gaussian import fit_gaussian
from surelift.learning.held_out import (
    asked_of,
    certified,
    collect_together,
    judging_method,
    learn_part,
    parts_of,
    plan_together,
    survey_parts,
)
from surelift.learning.learned import LearnedPolicy
from surelift.learning.learner import PolicyLearner
from surelift.learning.policies.modules import Parameters
from surelift.learning.training.problem import LearningProblem
from surelift.learning.training.together import train_together
from surelift.questions.selection import SelectionQuestion
from surelift.questions.stored import require_logs
from surelift.results.learned import PolicySearch, TriedLearner
from surelift.traits.logs import Logs

Progress = Callable[[int, int, int, float], None]
"""Called after every epoch with the number of the problem, of the epoch, the maximum number of epochs, and the bound."""


def fit_many(
    learners: Sequence[PolicyLearner], logs: Logs | Sequence[Logs], *, progress: Progress | None = None,
    checkpoint: str | Path | None = None,
) -> list[PolicyLearner]:  # fmt: skip
    """Fit each learner to its logs, or all of them to the same logs.

    Problems with the same number of rounds, epochs, batch size, learning rate and device take their steps together, on
    a GPU as one CUDA graph; seeds, priors and objectives may differ. Learners of the same logs read them once. The
    results are those of separate calls of ``fit``, up to rounding. A problem that fails, because its logs cannot be
    used or its bound is not finite, does not touch the others: they are finished, then ``FitManyError`` names those
    that failed, by number and reason.

    Each certificate holds for its own policy with probability 1 - delta. The largest of many does not: it was chosen by
    looking at them, and of a hundred policies that are no better than production some five may be certified. To choose
    among learners, use ``search``.

    Args:
        learners: One for each problem.
        logs: The logs of each problem, or one log for all.
        progress: Called after each epoch of each problem.
        checkpoint: A folder, with a file for every group of problems that are trained together, written after each of
            its epochs. The same call resumes a killed run there, to the very same result.
    """
    learners = [learners] if isinstance(learners, PolicyLearner) else list(learners)
    each = [logs] * len(learners) if isinstance(logs, Logs) else list(logs)
    check_learners(learners, each)
    readings, report = Readings(), reporter(progress)
    pairs = zip(learners, each, strict=True)
    running = [learner.steps(log, report(number), readings) for number, (learner, log) in enumerate(pairs)]
    _, failed = train_together(running, checkpoint)
    if failed:
        raise FitManyError(failed, len(running))
    return learners


def check_learners(learners: Sequence[PolicyLearner], logs: Sequence[Logs] | None = None) -> None:
    """Raise unless these are different learners, with as many logs where logs are given."""
    wrong = [each for each in learners if not isinstance(each, PolicyLearner)] + [
        each for each in logs or () if not isinstance(each, Logs)
    ]
    problem = ""
    if wrong:
        problem = f"fit_many takes PolicyLearners and Logs, not {type(wrong[0]).__name__}."
    elif any(learner.get_params()["checkpoint"] is not None for learner in learners):
        problem = "name a folder in checkpoint= of fit_many, for all problems, not a file in that of a learner."
    elif len({id(learner) for learner in learners}) < len(learners):
        problem = "the same learner appears twice; create one for each problem."
    elif logs is not None and len(logs) != len(learners):
        problem = f"there are {len(learners)} learners but {len(logs)} logs; pass logs for each learner, or one for all."
    if problem:
        raise UsageError(problem)


def reporter(progress: Progress | None) -> Callable[[int], Any]:
    return lambda number: None if progress is None else lambda *epoch: progress(number, *epoch)


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
    names = list(named)
    check_learners(list(named.values()))
    params = _shared(named)
    readings, report = Readings(), reporter(progress)
    fits = [learner.prepared(logs, report(number), readings) for number, learner in enumerate(named.values())]
    logs = fits[0].logs
    surveyed = survey_parts(fits[0], parts_of(logs, params["holdout"]))
    learned, failures = train_together([_candidate(fit, surveyed) for fit in fits])
    if not learned:
        raise FitManyError(failures, len(fits))
    policies = {names[number]: learned[number] for number in sorted(learned)}
    tried = _tried(logs, policies, surveyed, params)
    best = max(tried, key=lambda learner: learner.expected_lower)
    learner = named[best.name]
    policy, answer = certified(logs, policies[best.name], surveyed, params)
    learner._keep(policy, answer)
    failed = {names[number]: str(error) for number, error in sorted(failures.items())}
    return PolicySearch(best.name, tuple(tried), failed, answer, learner)


def _candidate(fit: Fit, surveyed: LogSurvey) -> Generator[LearningProblem, Parameters, LearnedPolicy]:
    if not fit.options.certifies:
        learned, _ = yield from learn_part(fit, tuple(surveyed.cuts))
        return learned
    # A gaussian policy has no pass to choose, and its own guarantee is not asked for.
    part = fit.readings.once(fit.logs, ("part", surveyed.cuts[0]), lambda: fit.logs.part(0, surveyed.cuts[0]))
    policy, _ = yield from fit_gaussian(replace(fit, logs=part))
    return replace(policy, certificate=None)


def _tried(
    logs: Logs, policies: Mapping[str, LearnedPolicy], surveyed: LogSurvey, params: Mapping[str, Any]
) -> list[TriedLearner]:
    """Every policy on the rounds that choose, in one pass, at delta over the number of policies."""
    question = SelectionQuestion(**asked_of(policies, logs, params), many="simultaneous")
    choosers = logs.part(*surveyed.cuts)
    resolved, plan = plan_together(question, choosers)
    sums = collect_together(plan, choosers)
    choosing, judging = sums.units, logs.count() - surveyed.cuts[1]
    # The certificate to expect, if the rounds that will judge are like these: their sums, as often as they go into them.
    expected = reduce(add, [sums] * max(1, round(judging / choosing)))
    claims = resolved.claims(lambda: choosing)
    method, level, scale, tried = question.method, params["delta"] / len(policies), logs.scale, list[TriedLearner]()
    for name in policies:
        gain = claims[name].low
        estimate = method.mean(sums, gain, lower=method.lower_bound(sums, gain, delta=level))
        lower = method.lower_bound(expected, gain, delta=level)
        tried.append(TriedLearner(name, scale.width * estimate, scale.width * lower))
    return tried


def _named(learners: Sequence[PolicyLearner]) -> dict[str, PolicyLearner]:
    """Learners by what is not the default in them; those that do not differ in that are numbered."""
    names = [repr(learner).removeprefix("PolicyLearner(").removesuffix(")") or "linear" for learner in learners]
    return {
        f"{name} ({names[:k].count(name) + 1})" if names.count(name) > 1 else name: learner
        for k, (name, learner) in enumerate(zip(names, learners, strict=True))
    }


def _shared(learners: Mapping[str, PolicyLearner]) -> Mapping[str, Any]:
    each = [learner.get_params() for learner in learners.values()]
    # A gaussian policy is judged as the others are, whose options it does not have.
    judged = [params for params in each if str(params["policy"]) != "gaussian"] or each
    problem = "" if learners else "search needs at least one learner."
    for name, among in (("delta", each), ("intercept", each), ("holdout", judged), ("method", judged)):
        values = sorted({repr(params[name]) for params in among})
        if len(values) > 1:
            problem = (
                f"the learners differ in {name}= ({', '.join(values[:3])}); one certificate is made, for the one that is "
                "chosen, so it must be the same for all."
            )
    for name, params in zip(learners, each, strict=True):
        if params["progressive"] is not None:
            problem = f"learner {name!r} has progressive=, which certifies on every part; remove it for a search."
    if problem:
        raise UsageError(problem)
    judging_method(judged[0])
    return judged[0]
