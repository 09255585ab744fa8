"""What would each single smoothing have given, beside the mixture of them all?"""

from typing import Any

from surelift.bounds import BoundChoice
from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION, one_policy
from surelift.questions.method import choose_method
from surelift.questions.profile import ProfileQuestion
from surelift.questions.question import Progress, require_logs
from surelift.questions.segments import check_segments


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
    require_logs(logs)
    name, candidate = one_policy(policy, logs)
    chosen = choose_method(method, "none", **options)
    if chosen.name != "mixture":
        raise UsageError(f"a profile shows the smoothings of a mixture; method {chosen.name!r} is none.")
    question = ProfileQuestion(
        declaration=logs.declaration, policies={name: candidate}, over=one_policy(over), delta=delta, method=chosen,
        by=check_segments(logs, by, None, {name: candidate}),
    )  # fmt: skip
    return question.ask(logs, progress=progress)
