"""Which of several policies should replace production, if any?"""

from collections.abc import Sequence
from typing import Any, Literal, Unpack

from surelift.decisions.options import Options, ask
from surelift.errors import UsageError, printed
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION
from surelift.questions.selection import SelectionQuestion, ValueSelectionQuestion
from surelift.results.selection import Many
from surelift.traits.logs import Logs


def select(
    logs: Logs, policies: Any, *, choose: Literal["improvement", "value"] = "improvement", over: Any = PRODUCTION,
    delta: float = 0.05, margin: float | str = 0.0, many: Many | None = None, by: By | None = None,
    segments: Sequence[Any] | None = None, **options: Unpack[Options],
) -> Any:  # fmt: skip
    """Pick a policy that is certified to be better than production; if none is, keep production.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> select(logs, {"new": [0.4, 0.6] * 500, "worse": [0.6, 0.4] * 500}).chosen
    'new'

    Args:
        logs: The logged decisions.
        policies: The candidates: a list of columns, or a dict from names to policies.
        choose: "improvement" certifies. "value" is the selection of the paper: of the candidates and production, the
            policy whose value has the largest lower bound; it always chooses one, and does not certify that it is
            better.
        delta: The probability that you accept of any candidate being falsely certified; upper bounds, and with them
            "worse", are a separate statement at the same delta.
        margin: What an improvement must exceed, in the units of the reward column, or in per cent, such as "2%".
        many: How several candidates share delta, chosen before looking. "e-holm", the default, certifies whatever
            "simultaneous" does and often more, but says by how much only if all are certified; it needs independent
            rounds, and one look where something drifts. "simultaneous" bounds each improvement at delta divided by
            their number, at any number of looks. "e-bh", for dozens of candidates, chooses none: ``discoveries`` lists
            those found to be better, of which on average a share of at most delta is not; candidates that are added
            later need a new log.
        by: A column of segments known before the action, ``bins`` of one, or a list of these for their combinations.
            Each segment is answered at delta divided by their number.
        segments: All segments that can occur, listed in advance; without them, or by e-Holm, the answer is good for one
            look.
        over, method, control, progress, options: As in ``compare``.

    Returns:
        A ``Selection``; with ``choose="value"``, a ``ValueSelection``; with ``by``, ``Segments`` of them.
    """
    if choose not in ("improvement", "value"):
        raise UsageError(f"choose must be 'improvement' or 'value', but is {printed(choose)}.")
    asked: dict[str, Any] = {"delta": delta, "by": by, "segments": segments, **options}
    if choose == "improvement":
        return ask(SelectionQuestion, logs, policies, over=over, margin=margin, many=many, **asked)
    compares = {"over": not (isinstance(over, str) and over == PRODUCTION), "margin": margin != 0, "many": many is not None}
    for name, is_given in compares.items():
        if is_given:
            raise UsageError(
                "choose='value' takes the largest lower bound of a value, and compares with nothing: it does not use "
                f"{name}=. Remove it, or choose='improvement'."
            )
    return ask(ValueSelectionQuestion, logs, policies, **asked)
