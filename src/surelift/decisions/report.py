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
    """Gather everything a decision report needs, in one pass over the log: ``report(...).to_html("report.html")``.

    The logs are checked, the policies selected among with ``many="simultaneous"``. The improvements hold together with
    probability 1 - delta; so do the values, separately.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> report(logs, {"new": [0.4, 0.6] * 500}).certified
    True

    Args:
        logs: The logged decisions.
        policies: The candidates: a column, a list of columns, or a dict from names to policies.
        over: The baseline: "production", or another policy.
        delta: The probability that you accept of any improvement being wrong.
        margin: What an improvement must exceed, in the units of the reward column.
        method: The name of a bound, or a bound with its options.
        control: As in ``compare``.
        progress: Called with the number of rounds read so far.
        options: Options of the method.
    """
    require_logs(logs)
    question = ReportQuestion(
        declaration=logs.declaration, policies=name_policies(policies), over=one_policy(over), delta=delta, margin=margin,
        method=choose_method(method, control, **options), source=str(getattr(logs.source, "called", "")),
        ordered=logs.source.ordered,
    )  # fmt: skip
    answer: Report = question.ask(logs, progress=progress)
    return answer
