"""Is the new policy better than production, or than any other, and how sure is that?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

from surelift.bounds import BoundChoice
from surelift.logs.logs import Logs
from surelift.logs.sources.remote import SqlTable
from surelift.policies.resolve import PRODUCTION, one_policy
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import choose_method
from surelift.questions.options import check_segments
from surelift.questions.question import Progress, require_logs
from surelift.results.improvement import Improvement
from surelift.results.segments import Segments

BLOCKS_ADVICE = "For one look at independent rounds without drift, method='blocks' is narrower; name it before looking."


@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float = ...,
    method: str | BoundChoice = ..., control: Any = ..., by: None = ..., segments: None = ...,
    progress: Progress | None = ..., **options: Any,
) -> Improvement: ...  # fmt: skip


@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float = ...,
    method: str | BoundChoice = ..., control: Any = ..., by: str, segments: Sequence[Any] | None = ...,
    progress: Progress | None = ..., **options: Any,
) -> Segments[Improvement]: ...  # fmt: skip


def compare(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    method: str | BoundChoice = "mixture",
    control: Any = "auto",
    by: str | None = None,
    segments: Sequence[Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Improvement | Segments[Improvement]:
    """Bound the improvement of one policy over production, or over another, on the same rounds.

    It is certified when its lower bound exceeds ``margin``, given in the units of the reward column. With ``by``, a column
    of segments known before the action, each is compared at delta divided by their number; ``segments`` lists them all
    in advance, without which the answer is good for one look.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> result = compare(logs, {"new": [0.4, 0.6] * 500})
    >>> round(result.estimate, 3), round(result.lower, 3), result.certified
    (0.1, 0.09, True)
    """
    name, candidate = one_policy(policy, logs if isinstance(logs, Logs) else None)
    chosen = choose_method(method, control, **options)
    require_logs(logs)
    baseline = one_policy(over)
    question = ImprovementQuestion(
        declaration=logs.declaration, policies={name: candidate}, over=baseline, delta=delta, margin=margin,
        method=chosen, by=check_segments(logs, by, segments, {name: candidate, baseline[0]: baseline[1]}),
    )  # fmt: skip
    answer: Improvement | Segments[Improvement] = question.ask(logs, progress=progress)
    can_deal = not isinstance(logs.source, SqlTable) or logs.declaration.id is not None
    if isinstance(answer, Improvement) and chosen.name == "mixture" and chosen.model is None and can_deal:
        return answer if answer.doubts or logs.declaration.balances_counts else replace(answer, advice=BLOCKS_ADVICE)
    return answer
