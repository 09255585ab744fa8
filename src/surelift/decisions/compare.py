"""Is the new policy better than production, or than any other, and how sure is that?"""

from collections.abc import Sequence
from typing import Any, overload

from surelift.decisions.asking import Progress, require_logs
from surelift.decisions.comparison import comparison_of, one_policy
from surelift.decisions.method import check_delta, choose_method
from surelift.decisions.segments import answer_by, check_by
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION
from surelift.results.improvement import Improvement
from surelift.results.segments import Segments
from surelift.statistics import Plan, Sums


@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float = ..., method: str = ...,
    control: Any = ..., grid: str | Grid = ..., smoothing: float | None = ..., draws: int | None = ..., by: None = ...,
    segments: None = ...,     progress: Progress | None = ...,
) -> Improvement: ...  # fmt: skip


@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float = ..., method: str = ...,
    control: Any = ..., grid: str | Grid = ..., smoothing: float | None = ..., draws: int | None = ..., by: str,
    segments: Sequence[Any] | None = ...,     progress: Progress | None = ...,
) -> Segments[Improvement]: ...  # fmt: skip


def compare(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    method: str = "mixture",
    control: Any = "auto",
    grid: str | Grid = "anytime",
    smoothing: float | None = None,
    draws: int | None = None,
    by: str | None = None,
    segments: Sequence[Any] | None = None,
    progress: Progress | None = None,
) -> Improvement | Segments[Improvement]:
    """Bound the improvement of one policy over production, or over another, on the same rounds.

    It is certified when its lower bound exceeds ``margin``, given in the units of the reward column. With ``by``, a column
    of segments known before the action, each is compared at delta divided by their number; ``segments`` lists them all
    beforehand, without which the answer is good for one look.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> result = compare(logs, {"new": [0.4, 0.6] * 500})
    >>> round(result.estimate, 3), round(result.lower, 3), result.certified
    (0.1, 0.09, True)
    """
    name, candidate = one_policy(policy, logs if isinstance(logs, Logs) else None)
    chosen = choose_method(method, control=control, grid=grid, smoothing=smoothing, draws=draws)
    require_logs(logs)
    parts = check_by(logs, by, segments, {name: candidate, **dict([one_policy(over)])})
    asked = comparison_of(
        logs, {name: candidate}, over=over, margin=margin, method=chosen, question="compare",
        options={"delta": check_delta(delta), **({} if parts is None else parts.describe())},
        one_look=parts is not None and parts.one_look,
    )  # fmt: skip
    if parts is None:
        return asked.improvements(delta=delta, progress=progress)[name]

    def answer(plan: Plan, sums: Sums, share: float, segment: str) -> Improvement:
        return asked.answer(plan, sums, delta=share, segment=segment)[name]

    return answer_by(
        logs, parts, delta=delta, plan=asked.plan, answer=answer, provenance=asked.provenance, progress=progress
    )
