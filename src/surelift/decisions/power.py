"""How many more rounds like these would certify it?"""

from typing import Any

from surelift.bounds import BoundChoice
from surelift.logs.logs import Logs
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION, one_policy
from surelift.questions.forecast import ForecastQuestion
from surelift.questions.method import choose_method
from surelift.questions.question import Progress, require_logs
from surelift.questions.segments import check_segments


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
        progress: Called with the number of rounds read so far.
        options: Options of the method.

    Returns:
        A ``Forecast``; with ``by``, ``Segments`` of them.
    """
    require_logs(logs)
    name, candidate = one_policy(policy, logs)
    question = ForecastQuestion(
        declaration=logs.declaration, policies={name: candidate}, over=one_policy(over), delta=delta, margin=margin,
        improvement_to_find=improvement, power=power, method=choose_method(method, control, **options),
        by=check_segments(logs, by, None, {name: candidate}),
    )  # fmt: skip
    return question.ask(logs, progress=progress)
