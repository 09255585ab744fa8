"""Which of several policies should replace production, if any?"""

from typing import Any

from surelift.bounds import BoundChoice
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION, name_policies, one_policy
from surelift.questions.method import choose_method
from surelift.questions.options import check_segments
from surelift.questions.question import Progress, require_logs
from surelift.questions.selection import SelectionQuestion
from surelift.results.selection import Many


def select(
    logs: Logs,
    policies: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    many: Many = "simultaneous",
    method: str | BoundChoice = "mixture",
    control: Any = "auto",
    by: Any = None,
    progress: Progress | None = None,
    **options: Any,
) -> Any:
    """Pick the policy whose certified improvement is largest; if none is certified, keep production.

    With ``many="e-bh"``, for dozens of candidates and more, nothing is chosen: ``discoveries`` lists the candidates found
    to be better, of which on average at most a share delta is not (the false discovery rate); candidates that are added
    later need a new log. With ``by``, a column of
    segments, there is a ``Selection`` for each, else one.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> select(logs, {"new": [0.4, 0.6] * 500, "worse": [0.6, 0.4] * 500}).chosen
    'new'
    """
    named = name_policies(policies)
    chosen = choose_method(method, control, **options)
    require_logs(logs)
    baseline = one_policy(over)
    question = SelectionQuestion(
        declaration=logs.declaration, policies=named, over=baseline, delta=delta, margin=margin, many=many,
        method=chosen, by=check_segments(logs, by, None, {**named, baseline[0]: baseline[1]}),
    )  # fmt: skip
    return question.ask(logs, progress=progress)
