"""What questions check: their options before anything is read, what was declared, and that bounds do not contradict."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from surelift.errors import LogsError, UsageError, exact, is_number, printed
from surelift.logs.declaration import Declaration
from surelift.policies import Policy
from surelift.questions.labels import DRAWS, refuse_labels, tests_labels
from surelift.questions.loggers import refuse_other_loggers
from surelift.questions.telling import TAKEN, knows_actions, refuse_told, tested_splits
from surelift.questions.weights import refuse_mean_weights, weight_tests
from surelift.statistics.plan import Request
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums


def check_delta(delta: float) -> float:
    if not (is_number(delta) and 0.0 < delta < 1.0):
        raise UsageError(
            f"delta, the chance of being wrong, must lie strictly between 0 and 1, but is {printed(delta)}."
        )
    return float(delta)


def check_margin(margin: float) -> float:
    if not (is_number(margin) and abs(exact(margin)) <= sys.float_info.max):
        raise UsageError(f"margin must be a finite number, but is {printed(margin)}.")
    return float(margin)


def test_requests(declared: Declaration, policies: Mapping[str, Policy], by: Segment | None) -> Iterator[Request]:
    """What tests a largest weight that was declared, segments known before the action, and labels."""
    key = () if by is None else (by,)
    for test in weight_tests(declared, policies):
        yield Request(test, key)
    if by is not None and knows_actions(declared):
        for split in tested_splits(by):
            yield Request(TAKEN, (split,))
    if tests_labels(declared):
        yield Request(DRAWS, key)


def refuse_disproved(sums: Sums, declared: Declaration, policies: Mapping[str, Policy], by: Segment | None) -> None:
    """Refuse what these tests disprove; each refuses right logs with probability at most 0.001."""
    if by is not None and knows_actions(declared):
        refuse_told(sums, by)
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
