"""What is each policy worth? An estimate, a lower and an upper bound."""

from collections.abc import Sequence
from typing import Any, overload

from surelift.decisions.asking import Progress, ask, count_rounds, require_logs
from surelift.decisions.method import check_delta, choose_method
from surelift.decisions.segments import answer_by, check_by
from surelift.decisions.valuation import Valuation
from surelift.errors import UsageError
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies.resolve import name_policies
from surelift.results.evaluation import Evaluation, Sides
from surelift.results.segments import Segments


@overload
def evaluate(
    logs: Logs, policies: Any, *, delta: float = ..., method: str = ..., control: Any = ..., grid: str | Grid = ...,
    sides: Sides = ..., smoothing: float | None = ..., order: int | None = ..., regularizer: Any = ...,
    clip: float | None = ..., draws: int | None = ..., by: None = ...,
    segments: None = ..., progress: Progress | None = ...,
) -> Evaluation: ...  # fmt: skip


@overload
def evaluate(
    logs: Logs, policies: Any, *, delta: float = ..., method: str = ..., control: Any = ..., grid: str | Grid = ...,
    sides: Sides = ..., smoothing: float | None = ..., order: int | None = ..., regularizer: Any = ...,
    clip: float | None = ..., draws: int | None = ..., by: str,
    segments: Sequence[Any] | None = ..., progress: Progress | None = ...,
) -> Segments[Evaluation]: ...  # fmt: skip


def evaluate(
    logs: Logs,
    policies: Any,
    *,
    delta: float = 0.05,
    method: str = "mixture",
    control: Any = "auto",
    grid: str | Grid = "anytime",
    sides: Sides = "both",
    smoothing: float | None = None,
    order: int | None = None,
    regularizer: Any = None,
    clip: float | None = None,
    draws: int | None = None,
    by: str | None = None,
    segments: Sequence[Any] | None = None,
    progress: Progress | None = None,
) -> Evaluation | Segments[Evaluation]:
    """Bound the value of each policy; all bounds hold at once with probability 1 - delta.

    ``policies`` is a column, a list of columns, or a dict from names to policies. m policies and two sides are made at
    delta/(2m) each; ``sides="lower"`` or ``"upper"`` spends delta on one side. The other options belong to the methods
    of ``BOUNDS``; one that the method does not use is an error. ``control`` is a name, or a reward model: an object with
    ``fit`` and ``predict``, or one of ``surelift.models``. With ``by``, a column of segments known before the action, each
    segment is evaluated at delta divided by their number, and the answer is a mapping from segments to evaluations;
    ``segments`` lists them all beforehand, without which it is good for one look.

    >>> logs = Logs(reward=[0, 1, 1, 0] * 50, propensity=[0.5, 0.5, 0.25, 0.5] * 50)
    >>> result = evaluate(logs, {"new": [0.25, 0.75, 0.25, 0.25] * 50})["new"]
    >>> result.estimate, round(result.lower, 3), round(result.upper, 3)
    (0.625, 0.468, 0.814)
    """
    require_logs(logs)
    if sides not in ("both", "lower", "upper"):
        raise UsageError(f"sides must be 'both', 'lower' or 'upper', but is {sides!r}.")
    delta = check_delta(delta)
    chosen = choose_method(
        method, control=control, grid=grid, smoothing=smoothing, order=order, regularizer=regularizer, clip=clip,
        draws=draws,
    )  # fmt: skip
    named = name_policies(policies)
    parts = check_by(logs, by, segments, named)
    asked = Valuation(
        logs=logs, policies=named, sides=sides, method=chosen, known=chosen.known(logs, named),
        options={"delta": delta, **({} if parts is None else parts.describe())},
        one_look=parts is not None and parts.one_look,
    )  # fmt: skip
    if parts is not None:
        return answer_by(
            logs,
            parts,
            delta=delta,
            plan=asked.plan,
            answer=asked.answer,
            provenance=asked.provenance,
            progress=progress,
        )
    planned = asked.plan(lambda: count_rounds(logs))
    return asked.answer(planned, ask(logs, planned, progress=progress), delta)
