"""Answers of processes that learn together: each adds up its share of the rounds, and all answer from the total."""

from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

from surelift.engines import collect, count_units
from surelift.learning.training.processes import process_group
from surelift.questions.question import Question
from surelift.statistics.plan import Plan
from surelift.statistics.sums import Sums
from surelift.traits.logs import Logs

Q = TypeVar("Q", bound=Question)


def ask_together(question: Question, logs: Logs) -> Any:
    """``question.ask(logs)``, where each process reads its share of the logs; what needs their order is asked by each."""
    processes = process_group()
    if processes.count == 1:
        return question.ask(logs)
    resolved, plan = _planned(question, logs)
    if plan.needs_order is not None:
        return processes.together(lambda: question.ask(logs))
    return resolved.answer(_collected(plan, logs))


def sums_together(question: Q, logs: Logs) -> tuple[Q, Sums]:
    """The question, resolved, and the sums that would answer it, over all rounds."""
    resolved, plan = _planned(question, logs)
    return resolved, _collected(plan, logs)


def _planned(question: Q, logs: Logs) -> tuple[Q, Plan]:
    processes = process_group()
    resolved: Any = processes.together(lambda: question.resolved(logs))
    plan = processes.together(lambda: resolved.plan(partial(count_units, logs) if resolved.counts_rounds else None))
    return resolved, plan


def _collected(plan: Plan, logs: Logs) -> Sums:
    processes = process_group()
    if processes.count == 1:
        return collect(logs, plan)
    share = processes.share(logs.count())
    return reduce(add, processes.gather(lambda: collect(logs.part(share.start, share.stop), plan)))
