"""Answers of processes that learn together: each adds up its share of the rounds, and all answer from the total."""

from functools import reduce
from operator import add
from typing import Any

from surelift.engines import collect, count_units
from surelift.learning.training.processes import process_group
from surelift.logs.logs import Logs
from surelift.questions.question import Question
from surelift.statistics.sums import Sums


def ask_together(question: Question, logs: Logs) -> Any:
    """``question.ask(logs)``, where each process reads its share of the logs; what needs their order is asked by each."""
    processes = process_group()
    if processes.count == 1:
        return question.ask(logs)
    resolved: Question = processes.together(lambda: question.resolved(logs))
    plan = processes.together(lambda: resolved.plan(count_units(logs) if resolved.counts_rounds else None))
    if plan.needs_order is not None:
        return processes.together(lambda: question.ask(logs))
    share = processes.share(logs.count())

    def sums() -> Sums:
        return collect(logs.part(share.start, share.stop), plan)

    return resolved.answer(reduce(add, processes.gather(sums)))
