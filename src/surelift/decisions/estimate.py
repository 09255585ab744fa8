"""What is each policy worth, by one of the usual point estimates: a number without a promise."""

from typing import Any

from surelift.errors import UsageError
from surelift.estimates import ESTIMATES
from surelift.logs.logs import Logs
from surelift.logs.segments import By
from surelift.policies.resolve import name_policies
from surelift.questions.estimate import EstimateQuestion, choose_model
from surelift.questions.question import Progress, require_logs
from surelift.questions.segments import check_segments


def estimate(
    logs: Logs,
    policies: Any,
    *,
    estimator: str = "ips",
    delta: float = 0.05,
    model: Any = None,
    by: By | None = None,
    progress: Progress | None = None,
    **parameter: float,
) -> Any:
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
    require_logs(logs)
    if estimator not in ESTIMATES:
        raise UsageError(f"no estimator {estimator!r}; the estimators are {', '.join(ESTIMATES)}.")
    takes = ESTIMATES[estimator].parameter
    for name in parameter:
        if name != takes:
            known = f"it takes {takes}=" if takes else "it takes none"
            raise UsageError(f"estimator {estimator!r} does not use {name}=; {known}.")
    named = name_policies(policies)
    question = EstimateQuestion(
        declaration=logs.declaration, policies=named, delta=delta, estimator=estimator, parameter=parameter.get(takes),
        model=choose_model(estimator, model), by=check_segments(logs, by, None, named),
    )  # fmt: skip
    return question.ask(logs, progress=progress)
