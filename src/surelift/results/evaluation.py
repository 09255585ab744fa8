"""What is each policy worth: between bounds, or as a point estimate without a guarantee?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from surelift.bounds.bound import Promise
from surelift.results.provenance import Provenance
from surelift.results.result import OMITTED, Result, dict_key
from surelift.results.several import ByName
from surelift.views.figures import Interval, Intervals
from surelift.views.formats import decimals_for, quoted, rounded
from surelift.views.text import aligned, all_hold, certifies, doubt_lines, figure_lines, lines, moved_estimate, some

Sides = Literal["both", "lower", "upper"]


@dataclass(frozen=True, slots=True, repr=False)
class PolicyValue(Result):
    """The value of one policy, in the units of the reward (or cost) column."""

    policy: str
    estimate: float
    """The mean of the terms that the bound is made of, between the bounds."""
    lower: float | None
    """None where only the other side was asked for."""
    upper: float | None
    delta: float
    """The probability that any bound of the whole evaluation fails."""
    rounds: int
    counted: Literal["rounds", "clusters"]
    method: str
    control: str
    promise: Promise
    mean_weight: float
    kind: Literal["reward", "cost"]
    value_range: tuple[float, float]
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    terms_mean: float = field(metadata=OMITTED)
    """The estimate before it was moved into the bounds."""

    title: ClassVar = "What is the policy worth?"
    together_hold: ClassVar = "bounds"
    columns: ClassVar = ("policy", "estimate", "lower", "upper", "delta", "rounds", "method", "control")

    @property
    def amount(self) -> str:
        """The bounds in words."""
        low, high = self.value_range
        digits = decimals_for((high if self.upper is None else self.upper) - (low if self.lower is None else self.lower))
        sides = (("at least", self.lower, "down"), ("at most", self.upper, "up"))
        bounds = (f"{words} {rounded(end, digits, towards=way)}" for words, end, way in sides if end is not None)
        return f"{' and '.join(bounds)} per round"

    def sentence(self) -> str:
        name = "Production" if self.policy == "production" else quoted(self.policy)
        return f"{name} {'costs' if self.kind == 'cost' else 'is worth'} {self.amount}."

    def text(self) -> str:
        return lines(self.heading(), figure_lines(self.figure()), self.outside(), doubt_lines(self.doubts))

    def heading(self) -> str:
        quantity = "Expected cost" if self.kind == "cost" else "Value"
        hold = all_hold(self.promise, self.delta)
        return f"{quantity} per round, {self.rounds:,} {self.counted}; bounds {hold} ({self.method})"

    def outside(self) -> str:
        """A note about an estimate that was moved."""
        note = moved_estimate("value", self.terms_mean, self.estimate, self.value_range, self.mean_weight)
        return f"{quoted(self.policy)}: {note}" if note else ""

    def bounded(self) -> "Mapping[str, PolicyValue]":
        return {self.policy: self}

    def interval(self, name: str) -> Interval:
        return Interval(name, self.estimate, self.lower, self.upper)

    def figure_of(self, rows: Iterable[Interval], **options: Any) -> Intervals:
        """Values like this one, in one figure."""
        return Intervals(value_label(self.kind), tuple(rows), cost=self.kind == "cost", **options)

    def figure(self) -> Intervals:
        return self.figure_of([self.interval(self.policy)])


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(ByName[PolicyValue]):
    """The values of several policies, whose bounds hold all at once with probability 1 - delta."""

    results: Mapping[str, PolicyValue] = field(metadata=dict_key("policies"))
    delta: float
    rounds: int
    method: str
    control: str
    sides: Sides
    provenance: Provenance = field(compare=False)

    title: ClassVar = "What is each policy worth?"

    def text(self) -> str:
        several = len(self) > 1 and self.sides == "both" and certifies(self.first.promise)
        together = "All bounds hold together." if several else ""
        outside = some((value.outside() for value in self.values()), "such estimates")
        notes = [*outside, together, *doubt_lines(self.all_of("doubts"))]
        return lines(self.first.heading(), figure_lines(self.figure()), notes)

    def figure(self) -> Intervals:
        return self.first.figure_of(value.interval(value.policy) for value in self.values())


def value_label(kind: str) -> str:
    return "expected cost per round" if kind == "cost" else "value per round"


@dataclass(frozen=True, slots=True, repr=False)
class PolicyEstimate(Result):
    """A point estimate of one policy's value, in the units of the reward (or cost) column."""

    policy: str
    estimate: float
    estimator: str
    parameter: Mapping[str, float]
    """The hyper-parameter used, by name."""
    model: Mapping[str, Any] | None
    """The reward model, where one was used."""
    rounds: int
    mean_weight: float
    plug_ins: Mapping[str, float]
    """The paper's expectations for logarithmic smoothing, estimated by sample means, for rewards scaled to [0, 1]."""
    doubts: tuple[str, ...]

    title: ClassVar = "A point estimate"
    columns: ClassVar = ("policy", "estimate", "estimator", "rounds", "mean_weight")

    def sentence(self) -> str:
        return f"{quoted(self.policy)} is estimated at {self.estimate:.6g} by {self.estimator}, with no guarantee."

    def text(self) -> str:
        scaled = "(plug-in, rewards scaled to [0, 1])"
        plug_ins = [f"  {name.replace('_', ' ')} {scaled}: {value:.4g}" for name, value in self.plug_ins.items()]
        return lines(self.table_of([self]), plug_ins, doubt_lines(self.doubts))

    def table_of(self, estimates: Iterable["PolicyEstimate"]) -> list[str]:
        """Estimates like this one, under each other."""
        options = "".join(f", {name} {value:.4g}" for name, value in self.parameter.items())
        rows = [("policy", "estimate", "mean weight")]
        rows += [(quoted(each.policy), f"{each.estimate:.6g}", f"{each.mean_weight:.4g}") for each in estimates]
        head = f"Estimates by {self.estimator}{options}, {self.rounds:,} rounds: no guarantee; for a bound use evaluate"
        return [head, *aligned(rows)]

    def figure(self) -> Intervals:
        return Intervals("estimate, no guarantee", (Interval(self.policy, self.estimate, None, None),))


@dataclass(frozen=True, slots=True, repr=False)
class Estimation(ByName[PolicyEstimate]):
    """Point estimates of several policies, by name."""

    results: Mapping[str, PolicyEstimate] = field(metadata=dict_key("policies"))
    estimator: str
    rounds: int
    notes: tuple[str, ...] = field(metadata=OMITTED, compare=False, default=())

    title: ClassVar = "Point estimates"

    def text(self) -> str:
        if len(self) == 1:
            return self.first.text()
        return lines(self.first.table_of(self.values()), doubt_lines(self.all_of("doubts")))

    def figure(self) -> Intervals:
        rows = tuple(Interval(each.policy, each.estimate, None, None) for each in self.values())
        return Intervals(f"estimate by {self.estimator}, no guarantee", rows)
