"""What questions check of their own fields, and that bounds do not contradict."""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from surelift.errors import LogsError, UsageError, exact, is_number, printed
from surelift.policies import Policy
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs
from surelift.traits.which import REMEDY


def check_delta(delta: float) -> float:
    if not (is_number(delta) and 0.0 < delta < 1.0):
        per_cent = is_number(delta) and 50.0 <= delta < 100.0
        hint = f" For {delta:g}% confidence it is {(100.0 - delta) / 100.0:.12g}." if per_cent else ""
        raise UsageError(
            f"delta, the probability of error, must lie strictly between 0 and 1, but is {printed(delta)}.{hint}"
        )
    return float(delta)


def check_margin(margin: float, declared: Declaration) -> None:
    if not (is_number(margin) and abs(exact(margin)) <= sys.float_info.max):
        raise UsageError(f"margin must be a finite number, but is {printed(margin)}.")
    scale, kind = declared.scale, "cost" if declared.scale.is_cost else "reward"
    if not -scale.width <= margin < scale.width:
        raise UsageError(
            f"margin is {printed(margin)}, but no improvement can be that large: each {kind} lies in [{scale.low:g}, "
            f"{scale.high:g}]. A margin is in the units of the {kind}; in per cent of production, compare and gate take "
            f"margin='{margin:g}%'."
        )


def check_condition(logs: Logs, policies: Mapping[str, Policy], model: Any) -> None:
    """Refuse a condition by what a candidate or a reward model says of the action."""
    declared = logs.declaration
    if not declared.which.chosen_by:
        return
    read = {name for policy in policies.values() for name in policy.needs(logs).read}
    said = (read | set(() if model is None else model.needs(logs).read)) - {*declared.times, *logs.contexts}
    for name in declared.which.chosen_by:
        if name in said:
            raise UsageError(f"where= names {name!r}, a column of a candidate or a reward model: {REMEDY}.")


def consistent(
    pairs: Iterable[tuple[float, float]],
    *,
    possible: tuple[float, float],
    subject: str,
    mean_weight: float,
    in_units: Callable[[float, float], tuple[float, float]] = lambda lower, upper: (lower, upper),
) -> tuple[float, float]:
    """The first lower and upper bound that contradict neither each other nor the range; logs without any are refused.

    With right logs a contradiction takes a bound that fails: they are refused with at most the chances of the last pair,
    added up. A later pair only moves the bounds apart: the first alone decides how often one fails. ``possible`` is on the
    scale of the bounds, and ``in_units`` gives them in the units of the column.
    """
    least, most = possible
    rounding, lower, upper = 1e-9 * (most - least), math.inf, -math.inf
    for low, high in pairs:
        lower, upper = min(lower, low), max(upper, high)
        if lower <= most + rounding and upper >= least - rounding and lower <= upper + rounding:
            return lower, upper
    (low, high), (bottom, top) = in_units(lower, upper), in_units(least, most)
    raise LogsError(
        f"{subject}: the bounds contradict each other, at least {low:.6g} and at most {high:.6g}, where only "
        f"[{bottom:.6g}, {top:.6g}] is possible.\nWith right logs one of the two would have to fail. The mean weight is "
        f"{mean_weight:.4g}; it is at most about 1 when everything is right. If other candidates have it near 1, this "
        "column does not hold probabilities of the logged action (scores, or predicted rewards?); otherwise suspect the "
        "propensities: they must be those of the action really taken, from the policy version that took it, after "
        "business rules."
        + (" If only segments contradict, their column is not known before the action." if " in segment " in subject else "")
    )
