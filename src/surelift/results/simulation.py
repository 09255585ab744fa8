"""How often does each method hold on simulated logs, and how wide is it?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.bounds.bound import Promise
from surelift.results.result import Result
from surelift.views.figures import Dot, Dots
from surelift.views.names import quoted
from surelift.views.text import aligned, certifies, lines


@dataclass(frozen=True, slots=True)
class SimulatedMethod:
    """One method, over the simulated logs of one policy."""

    policy: str
    method: str
    promise: Promise
    coverage: float
    """How often both bounds held."""
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

    @property
    def promised(self) -> str:
        """The coverage that methods should have."""
        return f"{100 - 100 * self.delta:.6g}%"

    def sentence(self) -> str:
        coverage = [outcome.coverage for outcome in self.outcomes if certifies(outcome.promise)]
        return (
            f"Methods that certify held in at least {min(coverage, default=0.0):.1%} of {self.runs:,} simulated logs; "
            f"{self.promised} is promised."
        )

    def text(self) -> str:
        rows = [("policy", "method", "held", "width", "empty", "promise")]
        rows += [
            (quoted(each.policy), each.method, f"{each.coverage:.1%}", f"{each.width:.4g}", f"{each.empty:.0%}",
             each.promise)
            for each in self.outcomes
        ]  # fmt: skip
        head = f"{self.runs:,} simulated logs of {self.rounds:,} rounds with these weights; {self.promised} should hold"
        return lines(head, aligned(rows))

    def figure(self) -> Dots:
        dots = (Dot(each.policy, each.method, each.coverage, each.width, certifies(each.promise)) for each in self.outcomes)
        return Dots(tuple(dots), 1.0 - self.delta)
