"""How often does each method hold on simulated logs?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.bounds.bound import Promise
from surelift.results.result import Result
from surelift.views.figures import Dot, Dots
from surelift.views.formats import quoted
from surelift.views.text import aligned, certifies, lines


@dataclass(frozen=True, slots=True)
class SimulatedMethod:
    """One method, over the simulated logs of one policy."""

    policy: str
    method: str
    promise: Promise
    coverage: float
    width: float
    """The mean width of the interval, in the units of the column."""
    empty: float
    """How often the lower bound was trivial."""


@dataclass(frozen=True, slots=True, repr=False)
class Simulation(Result):
    """Every method on the same simulated logs."""

    outcomes: tuple[SimulatedMethod, ...]
    rounds: int
    runs: int
    delta: float
    truth: Mapping[str, float]
    """The true value of each policy in the simulation, in the units of the column."""

    title: ClassVar = "How do the methods perform on these weights?"
    rows: ClassVar = "outcomes"

    def sentence(self) -> str:
        least = min((each.coverage for each in self.outcomes if certifies(each.promise)), default=0.0)
        held = f"Methods that certify held in at least {least:.1%} of {self.runs:,} simulated logs"
        return f"{held}; {100 - 100 * self.delta:.6g}% is promised."

    def text(self) -> str:
        rows = [("policy", "method", "held", "width", "empty", "promise")]
        for each in self.outcomes:
            numbers = f"{each.coverage:.1%}", f"{each.width:.4g}", f"{each.empty:.0%}"
            rows.append((quoted(each.policy), each.method, *numbers, each.promise))
        head = f"{self.runs:,} simulated logs of {self.rounds:,} rounds with these weights"
        return lines(f"{head}; {100 - 100 * self.delta:.6g}% should hold", aligned(rows))

    def figure(self) -> Dots:
        dots = (Dot(each.policy, each.method, each.coverage, each.width, certifies(each.promise)) for each in self.outcomes)
        return Dots(tuple(dots), 1.0 - self.delta)
