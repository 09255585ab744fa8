"""What is each policy worth, by one of the usual point estimates: a number without a promise."""

from typing import Any

from surelift.logs.segments import By
from surelift.questions.estimate import EstimateQuestion
from surelift.questions.question import Progress
from surelift.questions.stored import made
from surelift.traits.logs import Logs


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
    asked: dict[str, Any] = {"estimator": estimator, "delta": delta, "model": model, "by": by, **parameter}
    return made(EstimateQuestion, logs, policies, **asked).ask(logs, progress=progress)
