"""Sums of parts of a log, made anywhere, and an answer from their total: for Ray, Dask, or a cluster of one's own."""

from collections.abc import Iterable
from typing import Any

from surelift import capabilities
from surelift.engines import collect
from surelift.errors import LogsError, UsageError
from surelift.questions.question import Question
from surelift.questions.soundness import refuse_unfit
from surelift.statistics.sums import Sums
from surelift.traits.logs import Logs


def partial_sums(batches: Iterable[Any], question: Question) -> Sums:
    """Add up the batches of one part of the log, for any cluster; sums add up with ``+``.

    A pure function: a part that is tried again gives the same sums, which must be added once. The rounds of a cluster
    must lie whole in one batch; a cluster that comes again in another part is refused when the total is answered.
    ``question.answer(total)`` says what the total says.

    >>> question = Question.of("compare", {"reward": "click", "propensity": "p"}, {"new": "p_new"})
    >>> part = {"click": [0, 1] * 500, "p": [0.5] * 1000, "p_new": [0.4, 0.6] * 500}
    >>> question.answer(partial_sums([part], question) + partial_sums([part], question)).certified
    True

    Args:
        batches: Anything that ``Logs`` reads: frames, tables, paths.
        question: What is asked; it can be sent to other machines as JSON.
    """
    if not isinstance(question, Question):
        raise UsageError(
            f"a question is made by Question.of(kind, logs, policies), but this is a {type(question).__name__}."
        )
    plan = question.plan()
    unordered = {} if plan.needs_order is None else {"what needs the order of the rows": plan.needs_order}
    capabilities.check(question.features | {"parts"} | unordered.keys(), named=unordered)
    total = Sums(asked=plan.asked)
    for batch in batches:
        logs = Logs.of(batch, question.declaration)
        question.check(logs)
        sums = collect(logs, plan)
        if sums.rows:
            refuse_unfit(question, sums)
        total = total + sums
    if not (total.rows or total.left_out or total.excluded):
        raise LogsError("this part of the log is empty; leave it out.")
    return total
