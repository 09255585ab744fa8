"""May a candidate be launched? The logs are checked first; then a gate certifies, and a report says everything."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from surelift.decisions.options import Options, ask
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION
from surelift.questions.gate import GateQuestion
from surelift.questions.report import ReportQuestion
from surelift.results.outcomes import Outcome
from surelift.results.report import Report
from surelift.traits.logs import Logs


def gate(
    logs: Logs, policy: Any, *, over: Any = PRODUCTION, delta: float = 0.05, margin: float | str = 0.0,
    guardrails: Sequence[Outcome] = (), by: By | None = None, segments: Sequence[Any] | None = None,
    **options: Unpack[Options],
) -> Any:  # fmt: skip
    """Check the logs, then certify the improvement and every guardrail, with delta split evenly over these claims.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> gate(logs, {"new": [0.4, 0.6] * 500}).certified
    True

    Args:
        logs: The logged decisions.
        policy: The candidate: a column, or a dict from its name to a policy.
        delta: The probability that you accept of any claim being wrong.
        guardrails: Outcomes beside the reward, which must not get worse by more than they say.
        control: As in ``compare``; a reward model predicts the reward alone, and guardrails are then controlled by
            weights.
        by: A column of segments known before the action, or several: every claim is judged in each segment, at delta
            divided by their number.
        over, margin, method, segments, progress, options: As in ``compare``.

    Returns:
        A ``Gate``, with ``.certified``, the health of the logs, and every claim; with ``by``, ``Segments`` of them.
    """
    asked: dict[str, Any] = {"over": over, "delta": delta, "margin": margin, "by": by, "segments": segments, **options}
    return ask(GateQuestion, logs, policy, guardrails=guardrails, **asked)


def report(
    logs: Logs, policies: Any, *, over: Any = PRODUCTION, delta: float = 0.05, margin: float = 0.0, by: By | None = None,
    segments: Sequence[Any] | None = None, outcomes: Mapping[str, Outcome] | Sequence[Outcome] | None = None,
    **options: Unpack[Options],
) -> Report:  # fmt: skip
    """Gather everything a decision report needs, in one pass over the log: ``report(...).to_html("report.html")``.

    The logs are checked, the policies selected among with ``many="simultaneous"``. The improvements hold together with
    probability 1 - delta; so do the values, separately.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> report(logs, {"new": [0.4, 0.6] * 500}).certified
    True

    Args:
        logs: The logged decisions.
        policies: The candidates: a column, a list of columns, or a dict from names to policies.
        delta: The probability that you accept of any improvement being wrong.
        margin: What an improvement must exceed, in the units of the reward column.
        by: A column of segments known before the action, or several: the improvements in each stand in a section of their
            own, and hold together at a delta of their own.
        outcomes: Columns that judge every candidate beside the reward, in a section of their own.
        over, method, control, segments, progress, options: As in ``compare``.
    """
    asked: dict[str, Any] = {"over": over, "delta": delta, "margin": margin, "by": by, "segments": segments, **options}
    answer: Report = ask(ReportQuestion, logs, policies, outcomes=outcomes, **asked)
    return answer
