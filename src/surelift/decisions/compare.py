"""Is the new policy better than production, or than any other, and how sure is that?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from surelift import capabilities
from surelift.bounds import BoundChoice
from surelift.engines import engine_features
from surelift.errors import UsageError
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import choose_method
from surelift.questions.outcomes import OutcomesQuestion
from surelift.questions.question import Progress
from surelift.questions.stored import made
from surelift.results.improvement import Improvement
from surelift.results.outcomes import Outcome, Outcomes
from surelift.results.segments import Segments
from surelift.traits.logs import Logs

BLOCKS_ADVICE = "For one look at independent rounds without drift, method='blocks' is narrower; name it before looking."

Compared = Improvement | Outcomes | Segments[Improvement] | Segments[Outcomes]


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
) -> Compared:
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
    options |= {"over": over, "delta": delta, "margin": margin, "method": method, "control": control}
    kind, judged = (ImprovementQuestion, {}) if outcomes is None else (OutcomesQuestion, {"outcomes": outcomes})
    question = made(kind, logs, policy, by=by, segments=segments, **judged, **options)
    answer: Compared = question.ask(logs, progress=progress)
    if isinstance(answer, Improvement) and not answer.doubts and _could_bet_in_blocks(question, logs):
        return replace(answer, advice=BLOCKS_ADVICE)
    return answer


def _could_bet_in_blocks(question: ImprovementQuestion, logs: Logs) -> bool:
    if question.method.name != "mixture" or question.model is not None:
        return False
    try:
        in_blocks = replace(question, method=choose_method("blocks"))
    except UsageError:
        return False
    return not any(capabilities.refusals(in_blocks.features | engine_features(logs)))
