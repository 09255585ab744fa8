"""What questions check: their options before anything is read, what was declared, and that bounds do not contradict."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from surelift.errors import LogsError, UsageError, exact, is_number, printed
from surelift.logs.declaration import Declaration
from surelift.logs.where import REMEDY
from surelift.policies import Policy
from surelift.questions.labels import DRAWS, refuse_labels, tests_labels
from surelift.questions.loggers import refuse_other_loggers
from surelift.questions.segments import check_segments
from surelift.questions.telling import (
    TAKEN,
    about_condition,
    condition_requests,
    knows_actions,
    refuse_told,
    tested_splits,
)
from surelift.questions.weights import refuse_mean_weights, weight_tests
from surelift.statistics.plan import Request
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums


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
    scale, kind = declared.scale, "reward" if declared.cost is None else "cost"
    if not -scale.width <= margin < scale.width:
        raise UsageError(
            f"margin is {printed(margin)}, but no improvement can be that large: each {kind} lies in [{scale.low:g}, "
            f"{scale.high:g}]. A margin is in the units of the {kind}; in per cent of production, compare and gate take "
            f"margin='{margin:g}%'."
        )


def check_known(logs: Any, policies: Mapping[str, Policy], model: Any, by: Segment | None) -> None:
    """Refuse segments, and a condition, by what a candidate or a reward model says of the action."""
    if by is not None:
        check_segments(logs, by.by, by.declared, policies)
    declared = logs.declaration
    if declared.where is None:
        return
    models = set() if model is None else set(model.needs(logs).read)
    said = (_read_by(policies, logs) | models) - {declared.time, *(declared.contexts or ())}
    for name in declared.chosen_by:
        if name in said:
            raise UsageError(f"where= names {name!r}, a column of a candidate or a reward model: {REMEDY}.")


def _read_by(policies: Mapping[str, Policy], logs: Any) -> set[str]:
    return {name for policy in policies.values() for name in policy.needs(logs).read}


def test_requests(declared: Declaration, policies: Mapping[str, Policy], by: Segment | None) -> Iterator[Request]:
    """What tests a largest weight that was declared, segments known before the action, and labels."""
    key = () if by is None else (by,)
    for test in weight_tests(declared, policies):
        yield Request(test, key)
    if by is not None and knows_actions(declared):
        for split in tested_splits(by):
            yield Request(TAKEN, (split,))
    yield from condition_requests(declared)
    if tests_labels(declared):
        yield Request(DRAWS, key)


def refuse_disproved(sums: Sums, declared: Declaration, policies: Mapping[str, Policy], by: Segment | None) -> None:
    """Refuse what these tests disprove; each refuses right logs with probability at most 0.001."""
    if by is not None and knows_actions(declared):
        refuse_told(sums, by)
    for finding in about_condition(sums, declared):
        raise LogsError(f"{finding.statement}.\n{finding.remedy}")
    refuse_labels(sums, declared, by)
    refuse_mean_weights(sums, weight_tests(declared, policies), by)
    refuse_other_loggers(declared, sums)


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
        + (
            " If only segments contradict, their column is not known before the action."
            if " in segment " in subject
            else ""
        )
    )
