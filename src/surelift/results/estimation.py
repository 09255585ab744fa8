"""What is each policy worth, as a point estimate without a guarantee?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from surelift.results.result import OMITTED, Result, dict_key
from surelift.results.several import ByName
from surelift.views.figures import Interval, Intervals
from surelift.views.formats import quoted
from surelift.views.text import aligned, doubt_lines, lines


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
    """For logarithmic smoothing, the paper's expectations estimated by sample means, for rewards scaled to [0, 1]."""
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
