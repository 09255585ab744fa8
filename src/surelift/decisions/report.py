"""Everything a decision report needs: the answer, what it rests on, and what would make it certain."""

from typing import Any

from surelift.bounds import BoundChoice
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION, name_policies, one_policy
from surelift.questions.method import choose_method
from surelift.questions.question import Progress, require_logs
from surelift.questions.report import ReportQuestion
from surelift.results.report import Report


def report(
    logs: Logs,
    policies: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    method: str | BoundChoice = "mixture",
    control: Any = "auto",
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Check the logs, select among the policies, and gather what a page shows: ``report(...).to_html(path)``.

    The improvements are those of ``select``, and hold together with probability 1 - delta; so do the values, separately.
    The log is read once.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> report(logs, {"new": [0.4, 0.6] * 500}).certified
    True
    """
    require_logs(logs)
    question = ReportQuestion(
        declaration=logs.declaration, policies=name_policies(policies), over=one_policy(over), delta=delta, margin=margin,
        method=choose_method(method, control, **options), source=str(getattr(logs.source, "called", "")),
        ordered=logs.source.ordered,
    )  # fmt: skip
    answer: Report = question.ask(logs, progress=progress)
    return answer
