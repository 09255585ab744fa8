"""May the candidate be launched? The logs are checked, then the improvement and its guardrails certified."""

from collections.abc import Sequence
from typing import Any

from surelift.bounds import BoundChoice
from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION, one_policy
from surelift.questions.gate import NOT_GUARDRAILS, GateQuestion
from surelift.questions.method import choose_method
from surelift.questions.question import Progress, require_logs
from surelift.results.gate import Gate
from surelift.results.outcomes import Outcome


def gate(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float | str = 0.0,
    guardrails: Sequence[Outcome] = (),
    method: str | BoundChoice = "mixture",
    control: Any = "auto",
    progress: Progress | None = None,
    **options: Any,
) -> Gate:
    """Check the logs, then certify the improvement and every guardrail, with delta split evenly over these claims.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> gate(logs, {"new": [0.4, 0.6] * 500}).certified
    True

    Args:
        logs: The logged decisions.
        policy: The candidate: a column, or a dict from its name to a policy.
        over: The baseline: "production", or another policy.
        delta: The probability that you accept of any claim being wrong.
        margin: What the improvement must exceed, in the units of the reward column, or in per cent, such as "2%".
        guardrails: Outcomes beside the reward, which must not get worse by more than they say.
        method: The name of a bound, or a bound with its options.
        control: As in ``compare``; a reward model predicts the reward alone, and guardrails are then controlled by
            weights.
        progress: Called with the number of rounds read so far.
        options: Options of the method.

    Returns:
        A ``Gate``, with ``.certified``, the health of the logs, and every claim.
    """
    require_logs(logs)
    if not isinstance(guardrails, Sequence):
        raise UsageError(NOT_GUARDRAILS)
    name, candidate = one_policy(policy, logs)
    question = GateQuestion(
        declaration=logs.declaration, policies={name: candidate}, over=one_policy(over), delta=delta, margin=margin,
        guardrails=tuple(guardrails), method=choose_method(method, control, **options),
    )  # fmt: skip
    answer: Gate = question.ask(logs, progress=progress)
    return answer
