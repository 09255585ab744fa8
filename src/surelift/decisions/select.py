"""Which of several policies should replace production, if any?"""

from collections.abc import Sequence
from typing import Any, Literal

from surelift.bounds import BoundChoice
from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.logs.segments import By
from surelift.policies.resolve import PRODUCTION, name_policies, one_policy
from surelift.questions.method import choose_method
from surelift.questions.question import Progress, Question, require_logs
from surelift.questions.segments import check_segments
from surelift.questions.selection import SelectionQuestion, ValueSelectionQuestion
from surelift.results.selection import Many


def select(
    logs: Logs,
    policies: Any,
    *,
    choose: Literal["improvement", "value"] = "improvement",
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    many: Many | None = None,
    method: str | BoundChoice = "mixture",
    control: Any = "auto",
    by: By | None = None,
    segments: Sequence[Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Any:
    """Pick a policy that is certified to be better than production; if none is, keep production.

    ``many`` says how several candidates share delta, chosen before looking. ``"e-holm"``, the default, certifies whatever
    ``"simultaneous"`` does, and often more; it needs rounds that are independent, and is good for one look where something
    drifts. It says by how much a candidate is better only if all of them are. ``"simultaneous"`` bounds each improvement
    at delta divided by their number, at any number of looks. With ``"e-bh"``, for dozens of candidates and more, nothing is
    chosen: ``discoveries`` lists the candidates found to be better, of which on average at most a share delta is not (the
    false discovery rate); candidates that are added later need a new log.

    ``choose="value"`` is the selection of the paper: the policy, of the candidates and production, whose value has the
    largest lower bound. It always chooses one, a ``ValueSelection``, and does not certify that it is better than
    production. With ``by``, a column of segments known before the action, or several for their combinations, there is an
    answer for each, at delta divided by their number.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> select(logs, {"new": [0.4, 0.6] * 500, "worse": [0.6, 0.4] * 500}).chosen
    'new'
    """
    named = name_policies(policies)
    chosen = choose_method(method, control, **options)
    require_logs(logs)
    question: Question
    if choose == "value":
        refuse_comparing(over, margin, many)
        question = ValueSelectionQuestion(
            declaration=logs.declaration, policies=named, delta=delta, method=chosen,
            by=check_segments(logs, by, segments, named),
        )  # fmt: skip
    elif choose == "improvement":
        baseline = one_policy(over)
        question = SelectionQuestion(
            declaration=logs.declaration, policies=named, over=baseline, delta=delta, margin=margin, many=many,
            method=chosen, by=check_segments(logs, by, segments, {**named, baseline[0]: baseline[1]}),
        )  # fmt: skip
    else:
        raise UsageError(f"choose must be 'improvement' or 'value', but is {choose!r}.")
    return question.ask(logs, progress=progress)


def refuse_comparing(over: Any, margin: float, many: Many | None) -> None:
    """Of values nothing is compared: refuse the options of a comparison."""
    given = {
        "over": not (isinstance(over, str) and over == PRODUCTION),
        "margin": margin != 0,
        "many": many is not None,
    }
    if unused := [name for name, is_given in given.items() if is_given]:
        raise UsageError(
            f"choose='value' takes the largest lower bound of a value, and compares with nothing: it does not use "
            f"{unused[0]}=. Remove it, or choose='improvement'."
        )
