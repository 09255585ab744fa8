"""May the candidate be launched? The logs are checked, then the improvement and its guardrails certified."""

from collections.abc import Sequence
from typing import Any

from surelift.bounds import BoundChoice
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION
from surelift.questions.gate import GateQuestion
from surelift.questions.question import Progress
from surelift.questions.stored import made
from surelift.results.outcomes import Outcome
from surelift.traits.logs import Logs


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
    by: By | None = None,
    segments: Sequence[Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Any:
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
        by: A column of segments known before the action, or several: every claim is judged in each segment, at delta
            divided by their number.
        segments: All segments that can occur, listed in advance; without them the answer is good for one look at
            independent rounds.
        progress: Called with the number of rounds read so far.
        options: Options of the method.

    Returns:
        A ``Gate``, with ``.certified``, the health of the logs, and every claim; with ``by``, ``Segments`` of them.
    """
    options |= {"over": over, "delta": delta, "margin": margin, "method": method, "control": control}
    question = made(GateQuestion, logs, policy, guardrails=guardrails, by=by, segments=segments, **options)
    return question.ask(logs, progress=progress)
