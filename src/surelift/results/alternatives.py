"""What each single smoothing would have given, and how often each method holds on simulated logs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surelift.bounds.bound import Promise
from surelift.results.result import OMITTED, Result
from surelift.views.figures import Curve, Dot, Dots
from surelift.views.formats import baseline_name, decimals_for, quoted, rounded
from surelift.views.text import aligned, certifies, doubt_lines, figure_lines, lines


@dataclass(frozen=True, slots=True, repr=False)
class Profile(Result):
    """The lower bound on an improvement from each smoothing of the grid, had it been the only one, fixed in advance.

    The best one was not known in advance: the profile is for illustration, and only ``lower`` is a valid bound.
    """

    policy: str
    over: str
    estimate: float
    lower: float
    """The lower bound from the mixture, which did not need to know the best smoothing."""
    smoothings: tuple[float, ...]
    bounds: tuple[float, ...]
    delta: float
    rounds: int
    doubts: tuple[str, ...]
    notes: tuple[str, ...] = field(metadata=OMITTED, compare=False, default=())

    title: ClassVar = "What would each smoothing alone have given?"

    @property
    def best(self) -> tuple[float, float]:
        """The smoothing that would have been best, and its bound."""
        index = int(np.argmax(self.bounds))
        return self.smoothings[index], self.bounds[index]

    def sentence(self) -> str:
        smoothing, best = self.best
        decimals = decimals_for(abs(self.estimate - self.lower))
        lower, alone = (rounded(bound, decimals, towards="down", sign=True) for bound in (self.lower, best))
        return (
            f"Without knowing the best smoothing, the mixture bounds the improvement of {quoted(self.policy)} from below at "
            f"{lower}; the best of {len(self.smoothings)} single smoothings, {smoothing:.3g}, would have given {alone}."
        )

    def text(self) -> str:
        return lines(figure_lines(self.figure(), name=str), doubt_lines(self.doubts), self.sentence())

    def figure(self) -> Curve:
        # Bounds that say next to nothing would squeeze the others together.
        least = self.lower - 4.0 * max(self.estimate - self.lower, 0.0)
        informative = [pair for pair in zip(self.smoothings, self.bounds, strict=True) if pair[1] >= least]
        smoothings, bounds = zip(*(informative or [self.best]), strict=True)
        return Curve(
            "smoothing, if used alone", f"lower bound on the improvement over {baseline_name(self.over)}", smoothings,
            bounds, self.lower, "the mixture of all", columns=("smoothing", "lower bound"),
        )  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        pairs = zip(self.smoothings, self.bounds, strict=True)
        return [{"policy": self.policy, "smoothing": smoothing, "lower": bound} for smoothing, bound in pairs]


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
