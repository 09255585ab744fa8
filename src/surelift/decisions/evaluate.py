"""What is each policy worth? An estimate, a lower and an upper bound."""

from collections.abc import Sequence
from typing import Any, Unpack, overload

from surelift.decisions.options import Options, ask
from surelift.logs.segments import By
from surelift.questions.value import ValueQuestion
from surelift.results.evaluation import Evaluation, Sides
from surelift.results.segments import Segments
from surelift.traits.logs import Logs


@overload
def evaluate(
    logs: Logs, policies: Any, *, delta: float = ..., sides: Sides = ..., by: None = ..., segments: None = ...,
    **options: Unpack[Options],
) -> Evaluation: ...  # fmt: skip
@overload
def evaluate(
    logs: Logs, policies: Any, *, delta: float = ..., sides: Sides = ..., by: By,
    segments: Sequence[Any] | None = ..., **options: Unpack[Options],
) -> Segments[Evaluation]: ...  # fmt: skip
def evaluate(
    logs: Logs, policies: Any, *, delta: float = 0.05, sides: Sides = "both", by: By | None = None,
    segments: Sequence[Any] | None = None, **options: Unpack[Options],
) -> Evaluation | Segments[Evaluation]:  # fmt: skip
    """Bound the value of each policy; all bounds hold at once with probability 1 - delta.

    With m policies and two sides, each bound is made at delta/(2m).

    >>> logs = Logs(reward=[0, 1, 1, 0] * 50, propensity=[0.5, 0.5, 0.25, 0.5] * 50)
    >>> result = evaluate(logs, {"new": [0.25, 0.75, 0.25, 0.25] * 50})["new"]
    >>> result.estimate, round(result.lower, 3), round(result.upper, 3)
    (0.625, 0.468, 0.814)

    Args:
        logs: The logged decisions.
        policies: The policies: a column, a list of columns, or a dict from names to policies.
        delta: The probability that you accept of any bound being wrong.
        sides: Which bounds to make; delta is spent on one side, or shared by both.
        by: A column of segments known before the action, ``bins`` of one, or a list of these for their combinations.
            Each segment is evaluated at delta divided by their number.
        method, control, segments, progress, options: As in ``compare``.

    Returns:
        An ``Evaluation``, a mapping from names to ``PolicyValue``; with ``by``, ``Segments`` of them.
    """
    answer: Evaluation | Segments[Evaluation] = ask(
        ValueQuestion, logs, policies, delta=delta, sides=sides, by=by, segments=segments, **options
    )
    return answer
