"""One pass over the logs for one plan, refused where the rounds, or the answer, are not fit."""

from collections.abc import Callable
from typing import Any

from surelift.engines import collect
from surelift.errors import LogsError, UsageError
from surelift.logs.faults import refuse_faults
from surelift.logs.logs import Logs
from surelift.statistics import Plan, Sums

Progress = Callable[[int], None]
EMPTY = "these logs are empty: there is no round to learn from. Check the path or the filter."


def require_logs(logs: Any) -> None:
    if not isinstance(logs, Logs):
        raise UsageError(
            f"logs must be given as Logs, not as a {type(logs).__name__}; wrap it: "
            "Logs(source, reward='column', propensity='column')."
        )


def count_rounds(logs: Logs) -> int:
    """The number of rounds, for what depends on it beforehand."""
    rounds = logs.count()
    if rounds == 0:
        raise LogsError(EMPTY)
    return rounds


def ask(logs: Logs, plan: Plan, *, progress: Progress | None = None) -> Sums:
    sums = collect(logs, plan, progress=progress)
    if sums.rows == 0:
        raise LogsError(EMPTY)
    refuse_faults(sums.invalid, rows=sums.rows)
    return sums


def refuse_contradiction(
    lower: float, upper: float, *, possible: tuple[float, float], subject: str, mean_weight: float
) -> None:
    """Raise where bounds contradict each other or the range: with right logs that takes a bound that fails."""
    least, most = possible
    rounding = 1e-9 * (most - least)
    if lower <= most + rounding and upper >= least - rounding and lower <= upper + rounding:
        return
    raise LogsError(
        f"{subject}: the bounds contradict each other, at least {lower:.6g} and at most {upper:.6g}, where only "
        f"[{least:.6g}, {most:.6g}] is possible.\nWith right logs one of the two would have to fail, so suspect the "
        f"propensities first: the mean weight is {mean_weight:.4g} and should be near 1. Check that they are those of the "
        "action really taken, from the policy version that took it, after business rules."
    )
