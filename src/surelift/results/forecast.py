"""How many more rounds would certify an improvement?"""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.results.result import OMITTED, Result
from surelift.views.figures import Curve
from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import approximate, decimals_for, plain, rounded


@dataclass(frozen=True, slots=True)
class Growth:
    """How the evidence of each mixture component grows: its prior, and the mean and deviation of its log per round."""

    prior: FloatArray
    mean: FloatArray
    deviation: FloatArray
    gained: FloatArray
    """The log evidence that the rounds so far have brought."""

    def log_wealth(self, rounds: float, quantile: float, *, from_now: bool) -> float:
        """The log evidence after so many rounds, or so many more, at a quantile of its normal approximation."""
        grown = rounds * self.mean + quantile * math.sqrt(rounds) * self.deviation
        return float(np.logaddexp.reduce(np.log(self.prior) + grown + (self.gained if from_now else 0.0)))


@dataclass(frozen=True, slots=True, repr=False)
class Forecast(Result):
    """How much data would certify an improvement if future rounds are like past ones: a forecast, not a guarantee."""

    policy: str
    over: str
    estimate: float
    lower: float
    certified: bool
    """Whether the rounds so far certify it already."""
    improvement: float
    """The true improvement that is assumed: the one asked for, or the estimate."""
    margin: float
    delta: float
    power: float
    rounds: int
    rounds_needed: int | None
    """In a new log, to certify with probability ``power``; None where no number would."""
    more_rounds: int | None
    """In addition to the rounds so far, with the evidence they have brought."""
    counted: str = field(metadata=OMITTED)
    method: str
    control: str
    doubts: tuple[str, ...]
    """Why no number of rounds would certify it."""
    growth: Growth = field(metadata=OMITTED)

    title: ClassVar = "How much more data is needed?"
    columns: ClassVar = (
        "policy", "over", "estimate", "lower", "certified", "improvement", "margin", "delta", "power", "rounds",
        "rounds_needed", "more_rounds", "method", "control",
    )  # fmt: skip

    def power_at(self, rounds: int) -> float:
        """The probability that so many rounds of a new log certify it."""
        target = math.log(1.0 / self.delta)
        low, high = -8.0, 8.0
        for _ in range(60):
            middle = (low + high) / 2.0
            enough = self.growth.log_wealth(rounds, middle, from_now=False) >= target
            low, high = (low, middle) if enough else (middle, high)
        return 0.5 * math.erfc(low / math.sqrt(2.0))

    def sentence(self) -> str:
        by = f" by more than {plain(self.margin)}" if self.margin else ""
        if self.certified:
            name, over = quoted(self.policy), baseline_name(self.over)
            return f"Certified: {name} is better than {over}{by}; no more rounds are needed."
        if self.doubts:
            return f"Not certified, and no number of rounds would change that: {'; '.join(self.doubts)}."
        if self.more_rounds is None:
            short = f"an improvement of {self.improvement:.4g} does not exceed {plain(self.margin)}"
            return f"Not certified, and no number of rounds like these would change that: {short}."
        return (
            f"Not certified: about {approximate(self.more_rounds)} more {self.counted} like these would certify an "
            f"improvement of {self.improvement:.4g}{by} with power {self.power:g}. This is a forecast, not a guarantee."
        )

    def text(self) -> str:
        lower = rounded(self.lower, decimals_for(self.estimate - self.lower), towards="down", sign=True)
        facts = f"{self.rounds:,} {self.counted}, estimate {self.estimate:+.4g}, lower bound {lower}"
        return f"{quoted(self.policy)} over {baseline_name(self.over)}: {facts}\n{self.sentence()}"

    def figure(self) -> Curve:
        end = max(10 * self.rounds, 3 * (self.rounds_needed or 0))
        rounds = np.unique(np.geomspace(max(self.rounds / 100, 1), end, 60).astype(np.int64))
        power = tuple(self.power_at(int(count)) for count in rounds)
        return Curve(
            f"{self.counted} of a new log", f"probability of certifying an improvement of {self.improvement:.3g}",
            tuple(map(float, rounds)), power, self.power, f"power {self.power:g}", float(self.rounds),
            f"{self.rounds:,} {self.counted} so far", percent=True,
        )  # fmt: skip
