"""What would each single smoothing have given, beside the mixture of them all?"""

from typing import Any

from surelift.bounds import BoundChoice
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION
from surelift.questions.profile import ProfileQuestion
from surelift.questions.question import Progress
from surelift.questions.stored import made
from surelift.traits.logs import Logs


def profile(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    method: str | BoundChoice = "mixture",
    by: By | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Any:
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
    question = made(ProfileQuestion, logs, policy, over=over, delta=delta, method=method, by=by, **options)
    return question.ask(logs, progress=progress)
