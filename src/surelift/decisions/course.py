"""How the bounds moved as the rounds came in."""

from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from surelift.arrays import IntArray
from surelift.decisions.asking import Progress, before_sampling, count_rounds
from surelift.decisions.comparison import Comparison
from surelift.engines import collect_blocks
from surelift.errors import LogsError
from surelift.logs.logs import Logs
from surelift.results.history import History, Point
from surelift.results.improvement import Improvement
from surelift.statistics import Plan, Sums

POINTS = 40


def collect_course(logs: Logs, plan: Plan, *, points: int = POINTS, progress: Progress | None = None) -> list[Sums]:
    """The sums of the first part of the log, of a longer one, ..., of all of it."""
    total = logs.count() if logs.declaration.cluster is None else count_rounds(logs)
    if total == 0:
        raise LogsError("these logs are empty: there is no round to follow.")
    blocks = min(points, total)

    def in_order(places: IntArray, count: int) -> IntArray:
        return np.minimum(places * count // total, count - 1)

    parts = collect_blocks(logs, plan, blocks, deal=in_order, progress=progress)
    return list(accumulate(part for part in parts if part.units))


def course_of(
    asked: Comparison, plan: Plan, parts: list[Sums], *, delta: float, last: Mapping[str, Improvement]
) -> History:
    """Each bound made at level ``delta``; the last point is the answer."""
    first = next(iter(last.values()))
    points = [
        Point(name, one.rounds, one.estimate, one.lower, one.upper)
        for sums in parts[:-1]
        for name, one in _answered(asked, plan, sums, delta).items()
    ]
    points += [Point(name, one.rounds, one.estimate, one.lower, one.upper) for name, one in last.items()]
    return History(
        tuple(points), "improvement", first.over, first.margin, delta, first.counted, first.promise, first.doubts
    )


def _answered(asked: Comparison, plan: Plan, sums: Sums, delta: float) -> Mapping[str, Improvement]:
    try:
        return asked.answer(plan, before_sampling(asked.logs, sums), delta=delta)
    except LogsError:
        return {}  # bounds that contradict each other on the way: the answer at the end is what counts
