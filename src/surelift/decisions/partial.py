"""Sums of parts of a log, made anywhere, and an answer from their total: for Ray, Dask, or a cluster of one's own."""

from collections.abc import Iterable
from typing import Any

from surelift.decisions.asking import before_sampling
from surelift.decisions.monitor import Monitor
from surelift.engines import collect
from surelift.errors import LogsError
from surelift.logs.faults import refuse_faults
from surelift.logs.logs import Logs
from surelift.results.evaluation import Evaluation
from surelift.results.improvement import Improvement
from surelift.results.selection import Selection
from surelift.statistics import Sums


class Question:
    """A question that can be sent anywhere: the arguments of ``Monitor``, and a ``sample`` batch to look at.

    The sample is needed only with ``logging=``, to see which policies give whole distributions. Whoever has a part of the
    log makes ``partial_sums`` of it; they add up with ``+``, and ``answer`` tells what the total says. The rounds of a
    cluster must lie whole in one batch, and no part may be added twice: sums do not know whose they are.

    >>> question = Question({"new": "p_new"}, reward="click", propensity="p")
    >>> part = {"click": [0, 1] * 500, "p": [0.5] * 1000, "p_new": [0.4, 0.6] * 500}
    >>> question.answer(partial_sums([part], question) + partial_sums([part], question)).certified
    True
    """

    def __init__(self, policies: Any, *, sample: Any = None, **options: Any) -> None:
        self._watch = Monitor(policies, **options)
        self._known = self._watch.known_in(sample)

    def logs_of(self, batch: Any) -> Logs:
        return self._watch.logs_of(batch)

    def sums_of(self, logs: Logs) -> Sums:
        return collect(logs, self._watch.plan_for(logs, self._known))

    def answer(self, sums: Sums) -> Improvement | Selection | Evaluation:
        return self._watch.answer_from(sums, self._known)


def partial_sums(batches: Iterable[Any], plan: Question) -> Sums:
    """Add up the batches of one part of the log, anything that ``Logs`` reads: frames, tables, paths.

    A pure function: a part that is tried again gives the same sums, which must be added once.
    """
    total = Sums()
    for batch in batches:
        logs = plan.logs_of(batch)
        sums = plan.sums_of(logs)
        refuse_faults(sums.invalid, rows=sums.rows)
        if sums.rows:
            total = total + before_sampling(logs, sums)
    if total.rows == 0:
        raise LogsError("this part of the log is empty; leave it out.")
    return total
