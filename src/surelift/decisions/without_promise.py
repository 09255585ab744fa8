"""Answers without a promise: a point estimate, a forecast of rounds, and what each smoothing alone would have given."""

from collections.abc import Sequence
from typing import Any, Unpack

from surelift.bounds import BoundChoice
from surelift.decisions.options import BoundOptions, Options, ask
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION
from surelift.questions.estimate import EstimateQuestion
from surelift.questions.forecast import ForecastQuestion
from surelift.questions.profile import ProfileQuestion
from surelift.questions.question import Progress
from surelift.traits.logs import Logs


def estimate(
    logs: Logs, policies: Any, *, estimator: str = "ips", delta: float = 0.05, model: Any = None, by: By | None = None,
    progress: Progress | None = None, **parameter: float,
) -> Any:  # fmt: skip
    """Estimate the value of each policy; for a bound that holds, use ``evaluate``.

    >>> logs = Logs(reward=[1, 0], propensity=[0.25, 0.5])
    >>> estimate(logs, {"new": [0.5, 0.5]}, estimator="snips")["new"].estimate  # weights 2 and 1
    0.6666666666666666

    Args:
        logs: The logged decisions.
        policies: A column, a list of columns, or a dict from names to policies.
        estimator: "ips", "snips", "clipped", "exponential-smoothing", "implicit-exploration", "shrinkage", "harmonic",
            "global-clipping", "ls", "ls-lin", or with a reward model "dm", "dr", "sndr", "switch-dr", "dr-os".
        delta: Used by the plug-ins of logarithmic smoothing alone.
        model: For the estimators with a reward model: an object with ``fit`` and ``predict``, cross-fitted in five
            folds (gradient boosting by default), or one of ``surelift.models``.
        by: A column of segments, or several: there is an estimate for each.
        progress: Called with the number of rounds read so far.
        parameter: The hyper-parameter of the estimator, by its name: a smoothing defaults to 1/sqrt(rounds), a clip to
            sqrt(rounds); the others (alpha, strength) have to be given.

    Returns:
        An ``Estimation``, a mapping from names to ``PolicyEstimate``; with ``by``, ``Segments`` of them.
    """
    asked: dict[str, Any] = {"estimator": estimator, "delta": delta, "model": model, "by": by, **parameter}
    return ask(EstimateQuestion, logs, policies, progress=progress, **asked)


def power(
    logs: Logs, policy: Any, *, over: Any = PRODUCTION, delta: float = 0.05, margin: float = 0.0,
    improvement: float | None = None, power: float = 0.8, by: By | None = None,
    segments: Sequence[Any] | None = None, **options: Unpack[Options],
) -> Any:  # fmt: skip
    """Forecast how many rounds like these certify an improvement over the margin: a forecast, not a guarantee.

    >>> logs = Logs(reward=[0, 1, 1, 0] * 20, propensity=[0.5] * 80)
    >>> forecast = power(logs, {"new": [0.4, 0.6, 0.45, 0.55] * 20})
    >>> forecast.certified, forecast.more_rounds > 0
    (False, True)

    Args:
        logs: The rounds so far.
        policy: The candidate: a column, or a dict from its name to a policy.
        delta: The delta to certify at.
        margin: What the improvement must exceed, in the units of the reward column.
        improvement: The true improvement to assume. Without it the estimate stands in, which is uncertain where rounds
            are few: the range of the forecast says how uncertain.
        power: The probability of certification to plan for.
        method: The name of a bound; with "blocks", which allows one look, the number is that of a new log.
        by: A column of segments, or several: there is a forecast for each.
        over, control, segments, progress, options: As in ``compare``.

    Returns:
        A ``Forecast``; with ``by``, ``Segments`` of them.
    """
    asked = {"over": over, "delta": delta, "margin": margin, "power": power, "by": by, "segments": segments, **options}
    return ask(ForecastQuestion, logs, policy, improvement_to_find=improvement, **asked)


def profile(
    logs: Logs, policy: Any, *, over: Any = PRODUCTION, delta: float = 0.05, method: str | BoundChoice = "mixture",
    by: By | None = None, progress: Progress | None = None, **options: Unpack[BoundOptions],
) -> Any:  # fmt: skip
    """Bound an improvement by every smoothing of the grid alone, without control, beside the mixture of them all.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> found = profile(logs, {"new": [0.4, 0.6] * 500})
    >>> found.best[1] > found.lower > 0
    True

    Args:
        logs: The logged decisions.
        policy: The candidate: a column, or a dict from its name to a policy.
        over: The baseline: "production", or another policy.
        delta: The delta of every bound.
        method: "mixture", with or without options.
        by: A column of segments, or several: there is a profile for each.
        progress: Called with the number of rounds read so far.
        options: Options of the mixture, such as ``grid``.

    Returns:
        A ``Profile``; with ``by``, ``Segments`` of them.
    """
    asked: dict[str, Any] = {"over": over, "delta": delta, "method": method, "by": by, **options}
    return ask(ProfileQuestion, logs, policy, progress=progress, **asked)
