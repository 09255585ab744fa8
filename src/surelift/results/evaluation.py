"""What is each policy worth, between bounds?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from surelift.bounds.bound import Promise
from surelift.results.provenance import Provenance
from surelift.results.result import OMITTED, Result, dict_key
from surelift.results.several import ByName
from surelift.views.figures import Interval, Intervals
from surelift.views.formats import decimals_for, quoted, rounded
from surelift.views.text import all_hold, certifies, doubt_lines, figure_lines, lines, moved_estimate, some

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
