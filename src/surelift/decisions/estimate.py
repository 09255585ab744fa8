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

    The estimator takes the hyper-parameter it names in ``ESTIMATES``: a smoothing defaults to 1/sqrt(rounds), a clip to
    sqrt(rounds), the others (alpha, strength) have to be given. ``delta`` is used by the plug-ins of logarithmic smoothing
    alone. The estimators with a reward model (dm, dr, sndr, switch-dr, dr-os) take ``model``: an object with ``fit`` and
    ``predict``, cross-fitted in five folds (gradient boosting by default), or one of ``surelift.models``.

    >>> logs = Logs(reward=[1, 0], propensity=[0.25, 0.5])
    >>> estimate(logs, {"new": [0.5, 0.5]}, estimator="snips")["new"].estimate  # weights 2 and 1
    0.6666666666666666
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
