"""Sums of parts of a log, made anywhere, and an answer from their total: for Ray, Dask, or a cluster of one's own."""

from collections.abc import Iterable
from typing import Any

from surelift.engines import collect
from surelift.errors import LogsError, UsageError
from surelift.logs.logs import Logs
from surelift.logs.where import refuse_torn_clusters
from surelift.questions.question import Question
from surelift.statistics.sums import Sums


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
    total, plan = Sums(), question.plan()
    if plan.needs_order is not None:
        raise UsageError(
            f"parts have no order, so partial_sums cannot add up {plan.needs_order}; ask(logs) answers of the whole log."
        )
    refuse_torn_clusters(question.declaration, "partial_sums")
    if question.method.bound.in_blocks and question.declaration.id is None and question.declaration.cluster is None:
        raise UsageError(
            "every part numbers its rows anew, so method 'blocks' needs id= here: a column that tells rounds apart. By row "
            "number the first rows of all parts would lie in one block."
        )
    for batch in batches:
        logs = Logs.of(batch, question.declaration)
        question.check(logs)
        sums = collect(logs, plan)
        if sums.rows:
            question.refuse_unfit(sums)
        total = total + sums
    if total.rows == 0 and not (total.left_out or total.excluded):
        raise LogsError("this part of the log is empty; leave it out.")
    return total
