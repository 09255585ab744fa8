"""One pass over the logs for one plan, refused where the rounds, or the answer, are not fit."""

from collections.abc import Callable

from surelift.engines import collect
from surelift.errors import LogsError
from surelift.logs.faults import refuse_faults
from surelift.logs.logs import Logs
from surelift.statistics import Plan, Sums

Progress = Callable[[int], None]


def ask(logs: Logs, plan: Plan, *, progress: Progress | None = None) -> Sums:
    sums = collect(logs, plan, progress=progress)
    if sums.rows == 0:
        raise LogsError("these logs are empty: there is no round to learn from. Check the path or the filter.")
    refuse_faults(sums.invalid, rows=sums.rows)
    return sums


def refuse_contradiction(
    lower: float, upper: float, *, possible: tuple[float, float], subject: str, mean_weight: float
) -> None:
    """Raise where bounds contradict each other or the range: right logs do that with probability delta at most."""
    least, most = possible
    if lower <= most + 1e-9 and upper >= least - 1e-9 and lower <= upper + 1e-9:
        return
    raise LogsError(
        f"{subject}: the bounds contradict each other, at least {lower:.6g} and at most {upper:.6g}, where only "
        f"[{least:.6g}, {most:.6g}] is possible.\nRight logs do that with probability delta at most, so the propensities "
        f"are almost surely wrong: the mean weight is {mean_weight:.4g} and should be near 1. Check that they belong to "
        "the action really taken, from the policy version that took it, after business rules."
    )
