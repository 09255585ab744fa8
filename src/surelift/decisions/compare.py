"""Is the new policy better than production, or than any other, and how sure is that?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

from surelift import capabilities
from surelift.decisions.options import Options
from surelift.engines import engine_features
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import choose_method
from surelift.questions.outcomes import OutcomesQuestion
from surelift.questions.stored import made
from surelift.results.improvement import Improvement
from surelift.results.outcomes import Outcome, Outcomes
from surelift.results.segments import Segments
from surelift.traits.logs import Logs

BLOCKS_ADVICE = "For one look at independent rounds without drift, method='blocks' is narrower; name it before looking."

Judges = Mapping[str, Outcome] | Sequence[Outcome]


@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float | str = ..., by: None = ...,
    segments: None = ..., outcomes: None = ..., **options: Unpack[Options],
) -> Improvement: ...  # fmt: skip
@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float | str = ..., by: By,
    segments: Sequence[Any] | None = ..., outcomes: None = ..., **options: Unpack[Options],
) -> Segments[Improvement]: ...  # fmt: skip
@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float = ..., by: None = ...,
    segments: None = ..., outcomes: Judges, **options: Unpack[Options],
) -> Outcomes: ...  # fmt: skip
@overload
def compare(
    logs: Logs, policy: Any, *, over: Any = ..., delta: float = ..., margin: float = ..., by: By,
    segments: Sequence[Any] | None = ..., outcomes: Judges, **options: Unpack[Options],
) -> Segments[Outcomes]: ...  # fmt: skip
def compare(
    logs: Logs, policy: Any, *, over: Any = PRODUCTION, delta: float = 0.05, margin: float | str = 0.0,
    by: By | None = None, segments: Sequence[Any] | None = None, outcomes: Judges | None = None,
    **options: Unpack[Options],
) -> Improvement | Outcomes | Segments[Improvement] | Segments[Outcomes]:  # fmt: skip
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
            Each segment is answered at delta divided by their number.
        segments: All segments that can occur, listed in advance; without them the answer is good for one
            look at independent rounds.
        outcomes: Columns that judge instead of the reward, all in one pass: a dict from names to ``Outcome``. Each is
            bounded at delta divided by their number, and certified means that every claim holds.
        progress: Called with the number of rounds read so far.
        options: Options of the method, such as ``grid="planned"`` or ``smoothing=0.1``.

    Returns:
        An ``Improvement``; with ``outcomes``, ``Outcomes``; with ``by``, ``Segments`` of them.
    """
    asked: dict[str, Any] = {"over": over, "delta": delta, "margin": margin, "by": by, "segments": segments, **options}
    progress = asked.pop("progress", None)
    if outcomes is None:
        question = made(ImprovementQuestion, logs, policy, **asked)
    else:
        question = made(OutcomesQuestion, logs, policy, outcomes=outcomes, **asked)
    answer: Improvement | Outcomes | Segments[Any] = question.ask(logs, progress=progress)
    plain = question.method.name == "mixture" and question.method.model is None
    if plain and isinstance(answer, Improvement) and not answer.doubts:
        dealt = frozenset() if question.features & {"id", "clusters"} else {"dealt by rows"}
        others = (question.features - question.method.features) | choose_method("blocks").features | dealt
        if not capabilities.refusals(others | engine_features(logs)):
            return replace(answer, advice=BLOCKS_ADVICE)
    return answer
