"""Is the new policy better than production, or than any other, and how sure is that?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from surelift.bounds import BoundChoice
from surelift.logs.logs import Logs
from surelift.logs.segments import By
from surelift.logs.sources.remote import SqlTable
from surelift.policies.resolve import PRODUCTION, one_policy
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import choose_method
from surelift.questions.outcomes import OutcomesQuestion, named_outcomes
from surelift.questions.question import Progress, require_logs
from surelift.questions.segments import check_segments
from surelift.results.improvement import Improvement
from surelift.results.outcomes import Outcome, Outcomes
from surelift.results.segments import Segments

BLOCKS_ADVICE = "For one look at independent rounds without drift, method='blocks' is narrower; name it before looking."


@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float | str = ...,
    method: str | BoundChoice = ..., control: Any = ..., by: None = ..., segments: None = ...,
    progress: Progress | None = ..., outcomes: None = ..., **options: Any,
) -> Improvement: ...  # fmt: skip


@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float | str = ...,
    method: str | BoundChoice = ..., control: Any = ..., by: By, segments: Sequence[Any] | None = ...,
    progress: Progress | None = ..., outcomes: None = ..., **options: Any,
) -> Segments[Improvement]: ...  # fmt: skip


@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float = ...,
    method: str | BoundChoice = ..., control: Any = ..., by: None = ..., segments: None = ...,
    progress: Progress | None = ..., outcomes: Mapping[str, Outcome] | Sequence[Outcome], **options: Any,
) -> Outcomes: ...  # fmt: skip


@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float = ...,
    method: str | BoundChoice = ..., control: Any = ..., by: By, segments: Sequence[Any] | None = ...,
    progress: Progress | None = ..., outcomes: Mapping[str, Outcome] | Sequence[Outcome], **options: Any,
) -> Segments[Outcomes]: ...  # fmt: skip


def compare(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float | str = 0.0,
    method: str | BoundChoice = "mixture",
    control: Any = "auto",
    by: By | None = None,
    segments: Sequence[Any] | None = None,
    progress: Progress | None = None,
    outcomes: Mapping[str, Outcome] | Sequence[Outcome] | None = None,
    **options: Any,
) -> Improvement | Outcomes | Segments[Improvement] | Segments[Outcomes]:
    """Bound the improvement of one policy over production, or over another, on the same rounds.

    It is certified when its lower bound exceeds ``margin``.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> result = compare(logs, {"new": [0.4, 0.6] * 500})
    >>> round(result.estimate, 3), round(result.lower, 3), result.certified
    (0.1, 0.09, True)

    Args:
        logs: The logged decisions.
        policy: The candidate: a column, or a dict from its name to a policy.
        over: The baseline: "production", or another policy.
        delta: The probability that you accept of a bound being wrong.
        margin: What the improvement must exceed, in the units of the reward column, or in per cent of the baseline's
            value, such as "2%"; a negative one certifies "not much worse".
        method: The name of a bound, or a bound with its options, such as ``bounds.mixture(grid="planned")``.
        control: What narrows the bound. "auto" uses the whole distributions of production and the candidate, or the
            score, where the logs have them; "none", "weights", "score" or "model" say which; or a reward model: an
            object with ``fit`` and ``predict``, or one of ``surelift.models``.
        by: A column of segments known before the action, ``bins`` of one, or a list of these for their combinations.
            Each segment is compared at delta divided by their number.
        segments: All segments that can occur, listed in advance; without them the answer is good for one
            look at independent rounds.
        progress: Called with the number of rounds read so far.
        outcomes: Columns that judge instead of the reward, all in one pass: a dict from names to ``Outcome``. Each is
            bounded at delta divided by their number, and certified means that every claim holds.
        options: Options of the method, such as ``grid="planned"`` or ``smoothing=0.1``.

    Returns:
        An ``Improvement``; with ``outcomes``, ``Outcomes``; with ``by``, ``Segments`` of them.
    """
    name, candidate = one_policy(policy, logs if isinstance(logs, Logs) else None)
    chosen = choose_method(method, control, **options)
    require_logs(logs)
    baseline = one_policy(over)
    asked: dict[str, Any] = {
        "declaration": logs.declaration, "policies": {name: candidate}, "over": baseline, "delta": delta, "margin": margin,
        "method": chosen, "by": check_segments(logs, by, segments, {name: candidate, baseline[0]: baseline[1]}),
    }  # fmt: skip
    if outcomes is not None:
        judged: Outcomes | Segments[Outcomes] = OutcomesQuestion(**asked, outcomes=named_outcomes(outcomes)).ask(
            logs, progress=progress
        )
        return judged
    answer: Improvement | Segments[Improvement] = ImprovementQuestion(**asked).ask(logs, progress=progress)
    can_deal = not isinstance(logs.source, SqlTable) or logs.declaration.id is not None
    can_deal = can_deal and logs.declaration.score is None
    if isinstance(answer, Improvement) and chosen.name == "mixture" and chosen.model is None and can_deal:
        return answer if answer.doubts or logs.declaration.balances_counts else replace(answer, advice=BLOCKS_ADVICE)
    return answer
