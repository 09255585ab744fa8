"""What there is to see of a result, as plain numbers: drawn by matplotlib, by Vega-Lite, and written as a table."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.results.embedding import EmbeddingHealth, EmbeddingTrial
from surelift.results.estimation import Estimation, PolicyEstimate
from surelift.results.evaluation import Evaluation, PolicyValue
from surelift.results.forecast import Forecast
from surelift.results.gate import Gate
from surelift.results.guarantee import Guarantee
from surelift.results.health import Health
from surelift.results.history import History
from surelift.results.improvement import Improvement
from surelift.results.profile import Profile
from surelift.results.report import Report
from surelift.results.segments import Segments
from surelift.results.selection import Selection
from surelift.results.simulation import Simulation
from surelift.results.verification import Verification
from surelift.views.names import quoted


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate between its bounds; None where a side was not bounded."""

    name: str
    estimate: float
    lower: float | None
    upper: float | None
    verdict: str = ""
    certified: bool = False
    mark: float | None = None
    """What its lower bound has to exceed, where that differs from one to the next."""


@dataclass(frozen=True, slots=True)
class Intervals:
    label: str
    rows: tuple[Interval, ...]
    reference: float | None = None
    """What a lower bound has to exceed."""
    signed: bool = False
    column: str = "policy"


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    x: tuple[float, ...]
    lower: tuple[float | None, ...]
    estimate: tuple[float | None, ...]
    upper: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Growing:
    """Bounds against the number of rounds."""

    label: str
    counted: str
    lines: tuple[Line, ...]
    reference: float | None


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    below: float
    rounds: float
    weight: float


@dataclass(frozen=True, slots=True)
class Weights:
    """For sizes of weights, the share of the rounds that have them and the share of the weight these carry."""

    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line over a logarithmic axis, with a level to reach and a place to mark."""

    x_label: str
    y_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    level: float
    level_name: str
    mark: float | None = None
    mark_name: str = ""
    percent: bool = False
    columns: tuple[str, str] = ("rounds", "chance")
    """What x and y are called over a table."""


@dataclass(frozen=True, slots=True)
class Dot:
    name: str
    method: str
    held: float
    width: float
    certifies: bool


@dataclass(frozen=True, slots=True)
class Dots:
    """How often methods held, and how wide they were."""

    rows: tuple[Dot, ...]
    level: float


Picture = Intervals | Growing | Weights | Curve | Dots


@singledispatch
def picture(result: Any) -> Picture:
    raise TypeError(f"no picture of a {type(result).__name__}")


@picture.register
def _(result: Improvement) -> Picture:
    return _improvements([result], over=result.over, margin=result.margin)


@picture.register
def _(result: Selection) -> Picture:
    found = [] if result.many == "simultaneous" else list(result.discoveries)
    verdicts = {name: "found better" if name in found else "not found" for name in result.improvements}
    rows = _improvements(result.improvements.values(), over=result.over, margin=result.margin)
    if result.many == "simultaneous":
        return rows
    told = (
        Interval(r.name, r.estimate, r.lower, r.upper, verdicts[r.name], r.name in found, r.mark) for r in rows.rows
    )
    return Intervals(rows.label, tuple(told), rows.reference, signed=True)


@picture.register
def _(result: Gate) -> Picture:
    if result.improvement is None:
        return picture(result.health)
    first = result.improvement
    if not result.guardrails:
        return picture(first)
    rows = [row_of(first, first.policy), *(row_of(one, column) for column, one in result.guardrails.items())]
    label = f"improvement over {over_words(first.over)}, in the units of each"
    return Intervals(label, tuple(rows), None, signed=True, column="claim")


@picture.register
def _(result: Segments) -> Picture:  # type: ignore[type-arg]
    improves = isinstance(next(iter(result.values())), Improvement)
    several = any(isinstance(answer, Evaluation) and len(answer) > 1 for answer in result.values())
    rows = []
    for segment, answer in result.items():
        found = answer.values() if isinstance(answer, Evaluation) else [answer]
        rows += [row_of(one, f"{segment}, {one.policy}" if several else segment) for one in found]
    first = next(iter(result.values()))
    if improves:
        return Intervals(
            f"improvement over {over_words(first.over)}", tuple(rows), first.margin, signed=True, column=result.by
        )
    return Intervals(_value_label(next(iter(first.values())).kind), tuple(rows), column=result.by)


@picture.register
def _(result: PolicyValue) -> Picture:
    return Intervals(_value_label(result.kind), (row_of(result, result.policy),))


@picture.register
def _(result: Evaluation) -> Picture:
    first = next(iter(result.values()))
    return Intervals(
        _value_label(first.kind),
        tuple(row_of(one, one.policy) for one in result.values()),
    )


@picture.register
def _(result: PolicyEstimate) -> Picture:
    return Intervals("estimate, without a promise", (Interval(result.policy, result.estimate, None, None),))


@picture.register
def _(result: Estimation) -> Picture:
    rows = tuple(Interval(one.policy, one.estimate, None, None) for one in result.values())
    return Intervals(f"estimate by {result.estimator}, without a promise", rows)


@picture.register
def _(result: Guarantee) -> Picture:
    improves = result.about == "improvement"
    verdict = ("certified" if result.certified else "not certified") if improves else ""
    row = Interval(result.policy, result.estimate, result.lower, result.upper, verdict, result.certified)
    label = "improvement over production" if improves else "value"
    return Intervals(label, (row,), 0.0 if improves else None, signed=improves)


@picture.register
def _(result: Health) -> Picture:
    if not result.weights:
        raise UsageError(
            "there are no weights to show: the logs are not fit, or give check the policies, check(logs, policies)."
        )
    return Weights(
        tuple(
            Bar(health.policy, size.below, size.rounds, size.weight)
            for health in result.weights.values()
            for size in health.sizes
        )
    )


@picture.register
def _(result: History) -> Picture:
    names = list(dict.fromkeys(point.policy for point in result.points))
    lines = []
    for name in names:
        own = [point for point in result.points if point.policy == name]
        columns = zip(*((p.rounds, p.lower, p.estimate, p.upper) for p in own), strict=True)
        lines.append(Line(name, *(tuple(column) for column in columns)))
    improves = result.about == "improvement"
    label = f"improvement over {over_words(result.over)}" if improves and result.over else _value_label(result.about)
    return Growing(label, result.counted, tuple(lines), result.margin if improves else None)


@picture.register
def _(result: Profile) -> Picture:
    # Those that would have said next to nothing would leave no room for the others.
    least = result.lower - 4.0 * max(result.estimate - result.lower, 0.0)
    found = [pair for pair in zip(result.smoothings, result.bounds, strict=True) if pair[1] >= least]
    smoothings, bounds = zip(*(found or [result.best]), strict=True)
    return Curve(
        "smoothing, had it been the only one", f"lower bound on the improvement over {over_words(result.over)}",
        smoothings, bounds, result.lower, "the mixture of all", columns=("smoothing", "lower bound"),
    )  # fmt: skip


@picture.register
def _(result: Forecast) -> Picture:
    end = max(10 * result.rounds, 3 * (result.rounds_needed or 0))
    rounds = np.unique(np.geomspace(max(result.rounds / 100, 1), end, 60).astype(np.int64))
    power = tuple(result.power_at(int(n)) for n in rounds)
    return Curve(
        f"{result.counted}, of a log begun anew", f"chance to certify an improvement of {result.improvement:.3g}",
        tuple(map(float, rounds)), power, result.power, f"power {result.power:g}", float(result.rounds),
        f"{result.rounds:,} {result.counted} at hand", percent=True,
    )  # fmt: skip


@picture.register
def _(result: Simulation) -> Picture:
    return Dots(
        tuple(
            Dot(one.policy, one.method, one.coverage, one.width, one.promise in ("any number of looks", "one look"))
            for one in result.outcomes
        ),
        1.0 - result.delta,
    )


@picture.register
def _(result: EmbeddingTrial) -> Picture:
    return _trials([result])


@picture.register
def _(result: EmbeddingHealth) -> Picture:
    return _trials(result.values())


def _trials(found: Iterable[EmbeddingTrial]) -> Intervals:
    rows = []
    for one in found:
        sides = ((one.plain, "by actions"), (one.marginal, "by embeddings"), (one.difference, "difference of the two"))
        rows += [
            Interval(f"{one.policy}, {how}", side.estimate, side.lower, side.upper, certified=side is one.marginal)
            for side, how in sides
        ]
    return Intervals("improvement over production", tuple(rows), 0.0, signed=True)


@picture.register
def _(result: Report) -> Picture:
    return picture(result.health if result.selection is None else result.selection)


@picture.register
def _(result: Verification) -> Picture:
    return picture(result.answer)


def over_words(over: str) -> str:
    """Production by the name that people use, another policy by its own, in quotes."""
    return "production" if over == "production" else quoted(over)


def _improvements(found: Iterable[Improvement], *, over: str, margin: float) -> Intervals:
    rows = tuple(row_of(one, one.policy) for one in found)
    return Intervals(f"improvement over {over_words(over)}", rows, margin, signed=True)


def row_of(one: Improvement | PolicyValue, name: str) -> Interval:
    if isinstance(one, PolicyValue):
        return Interval(name, one.estimate, one.lower, one.upper)
    worse = one.upper < one.margin and not one.doubts
    verdict = (
        "certified" if one.certified else ("worse" if one.margin == 0.0 else "surely not") if worse else "not certified"
    )
    return Interval(name, one.estimate, one.lower, one.upper, verdict, one.certified, one.margin)


def _value_label(kind: str) -> str:
    return "expected cost of a round" if kind == "cost" else "value of a round"
