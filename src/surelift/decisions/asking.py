"""One pass over the logs for one plan, refused where the rounds, or the answer, are not fit."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from surelift.engines import collect
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import Batch
from surelift.logs.clusters import cluster_starts
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
    """The number of rounds (or clusters), for what depends on it beforehand."""
    if logs.declaration.rounds_before_sampling is not None:
        return logs.declaration.rounds_before_sampling
    rounds = (
        logs.count()
        if logs.declaration.cluster is None
        else sum(_clusters(batch, logs.declaration.cluster) for batch in logs.batches())
    )
    if rounds == 0:
        raise LogsError(EMPTY)
    return rounds


def ask(logs: Logs, plan: Plan, *, progress: Progress | None = None) -> Sums:
    sums = collect(logs, plan, progress=progress)
    if sums.rows == 0:
        raise LogsError(EMPTY)
    refuse_faults(sums.invalid, rows=sums.rows)
    return before_sampling(logs, sums)


def before_sampling(logs: Logs, sums: Sums) -> Sums:
    """The sums of the rounds that were kept, with the number of those there were."""
    if logs.declaration.keep_probability is None:
        return sums
    before = logs.declaration.rounds_before_sampling
    if before is not None:
        if before < sums.units:
            raise LogsError(
                f"rounds_before_sampling is {before:,}, but {sums.units:,} rounds were kept: it must count them all, also "
                "those that were dropped."
            )
        return replace(sums, units=before)
    kept = sums.logging
    if kept.smallest_keep != kept.largest_keep:
        raise LogsError(
            f"keep_probability {logs.declaration.keep_probability!r} varies from {kept.smallest_keep:.4g} to {kept.largest_keep:.4g}, "
            "and rounds_before_sampling is not known.\nIf it depended on the reward or the action (all clicks, 1% of the "
            "rest), nothing can be certified from these rounds alone: find the number of rounds before sampling. If it "
            "depended only on what was known before the action, leave keep_probability out: the rounds that were kept are "
            "then a log as they stand, of the kept population."
        )
    return sums


def _clusters(batch: Batch, column: str) -> int:
    return len(cluster_starts(batch.table[column])) - 1


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
        f"[{least:.6g}, {most:.6g}] is possible.\nWith right logs one of the two would have to fail. The mean weight is "
        f"{mean_weight:.4g}, and at most about 1 where all is right. If other candidates have it near 1, this column holds "
        "no probabilities of the logged action (scores, or predicted rewards?); else suspect the propensities: they must be "
        "those of the action really taken, from the policy version that took it, after business rules."
    )
