"""What is each policy worth? An estimate, a lower and an upper bound."""

from collections.abc import Sequence
from typing import Any, overload

from surelift.bounds import BoundChoice
from surelift.logs.segments import By
from surelift.questions.question import Progress
from surelift.questions.stored import made
from surelift.questions.value import ValueQuestion
from surelift.results.evaluation import Evaluation, Sides
from surelift.results.segments import Segments
from surelift.traits.logs import Logs


@overload
def evaluate(
    logs: Logs, policies: Any, *, delta: float = ..., method: str | BoundChoice = ..., control: Any = ...,
    sides: Sides = ..., by: None = ..., segments: None = ..., progress: Progress | None = ..., **options: Any,
) -> Evaluation: ...  # fmt: skip


@overload
def evaluate(
    logs: Logs, policies: Any, *, delta: float = ..., method: str | BoundChoice = ..., control: Any = ...,
    sides: Sides = ..., by: By, segments: Sequence[Any] | None = ..., progress: Progress | None = ..., **options: Any,
) -> Segments[Evaluation]: ...  # fmt: skip


def evaluate(
    logs: Logs,
    policies: Any,
    *,
    delta: float = 0.05,
    method: str | BoundChoice = "mixture",
    control: Any = "auto",
    sides: Sides = "both",
    by: By | None = None,
    segments: Sequence[Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Evaluation | Segments[Evaluation]:
    """Bound the value of each policy; all bounds hold at once with probability 1 - delta.

    With m policies and two sides, each bound is made at delta/(2m).

    >>> logs = Logs(reward=[0, 1, 1, 0] * 50, propensity=[0.5, 0.5, 0.25, 0.5] * 50)
    >>> result = evaluate(logs, {"new": [0.25, 0.75, 0.25, 0.25] * 50})["new"]
    >>> result.estimate, round(result.lower, 3), round(result.upper, 3)
    (0.625, 0.468, 0.814)

    Args:
        logs: The logged decisions.
        policies: A column, a list of columns, or a dict from names to policies.
        delta: The probability that you accept of any bound being wrong.
        method: The name of a bound, or a bound with its options, such as ``bounds.moments(order=2)``.
        control: What narrows the bound. "auto" uses the whole distributions of production and the candidate, or the
            score, where the logs have them; "none", "weights", "score" or "model" say which; or a reward model: an
            object with ``fit`` and ``predict``, or one of ``surelift.models``.
        sides: Which bounds to make; delta is spent on one side, or shared by both.
        by: A column of segments known before the action, ``bins`` of one, or a list of these for their combinations.
            Each segment is evaluated at delta divided by their number.
        segments: All segments that can occur, listed in advance; without them the answer is good for one
            look at independent rounds.
        progress: Called with the number of rounds read so far.
        options: Options of the method, such as ``grid="planned"`` or ``smoothing=0.1``.

    Returns:
        An ``Evaluation``, a mapping from names to ``PolicyValue``; with ``by``, ``Segments`` of them.
    """
    options |= {"delta": delta, "method": method, "control": control, "sides": sides}
    question = made(ValueQuestion, logs, policies, by=by, segments=segments, **options)
    answer: Evaluation | Segments[Evaluation] = question.ask(logs, progress=progress)
    return answer
