"""How many more rounds like these would certify it?"""

from collections.abc import Sequence
from typing import Any

from surelift.bounds import BoundChoice
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION
from surelift.questions.forecast import ForecastQuestion
from surelift.questions.question import Progress
from surelift.questions.stored import made
from surelift.traits.logs import Logs


def power(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    improvement: float | None = None,
    power: float = 0.8,
    method: str | BoundChoice = "mixture",
    control: Any = "auto",
    by: By | None = None,
    segments: Sequence[Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Any:
    """Forecast how many rounds like these certify an improvement over the margin: a forecast, not a guarantee.

    >>> logs = Logs(reward=[0, 1, 1, 0] * 20, propensity=[0.5] * 80)
    >>> forecast = power(logs, {"new": [0.4, 0.6, 0.45, 0.55] * 20})
    >>> forecast.certified, forecast.more_rounds > 0
    (False, True)

    Args:
        logs: The rounds so far.
        policy: The candidate: a column, or a dict from its name to a policy.
        over: The baseline: "production", or another policy.
        delta: The delta to certify at.
        margin: What the improvement must exceed, in the units of the reward column.
        improvement: The true improvement to assume. Without it the estimate stands in, which is uncertain where rounds
            are few: the range of the forecast says how uncertain.
        power: The probability of certification to plan for.
        method: The name of a bound; with "blocks", which allows one look, the number is that of a new log.
        control: As in ``compare``.
        by: A column of segments, or several: there is a forecast for each.
        segments: All segments that can occur, listed in advance.
        progress: Called with the number of rounds read so far.
        options: Options of the method.

    Returns:
        A ``Forecast``; with ``by``, ``Segments`` of them.
    """
    options |= {"over": over, "delta": delta, "margin": margin, "method": method, "control": control, "power": power}
    question = made(ForecastQuestion, logs, policy, improvement_to_find=improvement, by=by, segments=segments, **options)
    return question.ask(logs, progress=progress)
