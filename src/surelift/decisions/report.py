"""Everything a decision report needs: the answer, what it rests on, and what would make it certain."""

from collections.abc import Mapping, Sequence
from typing import Any

from surelift.bounds import BoundChoice
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION
from surelift.questions.question import Progress
from surelift.questions.report import ReportQuestion
from surelift.questions.stored import made
from surelift.results.outcomes import Outcome
from surelift.results.report import Report
from surelift.traits.logs import Logs


def report(
    logs: Logs,
    policies: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    method: str | BoundChoice = "mixture",
    control: Any = "auto",
    by: By | None = None,
    segments: Sequence[Any] | None = None,
    outcomes: Mapping[str, Outcome] | Sequence[Outcome] | None = None,
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
        by: A column of segments known before the action, or several: the improvements in each stand in a section of their
            own, and hold together at a delta of their own.
        segments: All segments that can occur, listed in advance.
        outcomes: Columns that judge every candidate beside the reward, in a section of their own.
        progress: Called with the number of rounds read so far.
        options: Options of the method.
    """
    options |= {"over": over, "delta": delta, "margin": margin, "method": method, "control": control}
    question = made(ReportQuestion, logs, policies, by=by, segments=segments, outcomes=outcomes, **options)
    answer: Report = question.ask(logs, progress=progress)
    return answer
