"""How the bounds moved as the rounds came in."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from surelift.arrays import IntArray
from surelift.bounds.bound import Promise
from surelift.decisions.asking import Progress, before_sampling, count_rounds
from surelift.decisions.comparison import Comparison
from surelift.decisions.improvement import Improvement
from surelift.decisions.result import Result
from surelift.engines import collect_blocks
from surelift.errors import LogsError
from surelift.logs.logs import Logs
from surelift.statistics import Plan, Sums

POINTS = 40


@dataclass(frozen=True, slots=True)
class Point:
    """What the first ``rounds`` rounds of the log say of one policy."""

    policy: str
    rounds: int
    estimate: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Course(Result):
    """The bounds on each policy after more and more rounds, in the order of the log."""

    points: tuple[Point, ...]
    about: str
    """What is bounded: improvement, value or cost."""
    over: str | None
    margin: float
    delta: float
    counted: str
    """What ``rounds`` counts."""
    promise: Promise
    doubts: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "about": self.about, "over": self.over, "margin": self.margin, "delta": self.delta,
            "counted": self.counted, "promise": self.promise, "doubts": list(self.doubts), "points": self.records(),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [asdict(point) for point in self.points]


def collect_course(logs: Logs, plan: Plan, *, points: int = POINTS, progress: Progress | None = None) -> list[Sums]:
    """The sums of the first part of the log, of a longer one, ..., of all of it."""
    total = logs.count() if logs.cluster is None else count_rounds(logs)
    if total == 0:
        raise LogsError("these logs are empty: there is no round to follow.")
    blocks = min(points, total)

    def in_order(places: IntArray, count: int) -> IntArray:
        return np.minimum(places * count // total, count - 1)

    parts = collect_blocks(logs, plan, blocks, deal=in_order, progress=progress)
    return list(accumulate(part for part in parts if part.units))


def course_of(
    asked: Comparison, plan: Plan, parts: list[Sums], *, delta: float, last: Mapping[str, Improvement]
) -> Course:
    """Each bound made at level ``delta``; the last point is the answer."""
    first = next(iter(last.values()))
    points = [
        Point(name, one.rounds, one.estimate, one.lower, one.upper)
        for sums in parts[:-1]
        for name, one in _answered(asked, plan, sums, delta).items()
    ]
    points += [Point(name, one.rounds, one.estimate, one.lower, one.upper) for name, one in last.items()]
    return Course(
        tuple(points), "improvement", first.over, first.margin, delta, first.counted, first.promise, first.doubts
    )


def _answered(asked: Comparison, plan: Plan, sums: Sums, delta: float) -> Mapping[str, Improvement]:
    try:
        return asked.answer(plan, before_sampling(asked.logs, sums), delta=delta)
    except LogsError:
        return {}  # bounds that contradict each other on the way: the answer at the end is what counts
