"""How many more rounds would certify an improvement?"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.results.result import Result


@dataclass(frozen=True, slots=True)
class Growth:
    """How the evidence of each component grows: its prior, and mean and standard deviation of its logarithm a round."""

    prior: FloatArray
    mean: FloatArray
    deviation: FloatArray
    gained: FloatArray
    """The logarithm that the rounds at hand have brought it to."""

    def log_wealth(self, rounds: float, quantile: float, *, from_now: bool) -> float:
        """The evidence after so many rounds, or so many more, at a quantile of the normal distribution that it nears."""
        grown = rounds * self.mean + quantile * math.sqrt(rounds) * self.deviation
        return float(np.logaddexp.reduce(np.log(self.prior) + grown + (self.gained if from_now else 0.0)))


@dataclass(frozen=True, slots=True, repr=False)
class Forecast(Result):
    """What it would take to certify an improvement, if rounds go on as they did: a forecast, without a promise."""

    policy: str
    over: str
    estimate: float
    lower: float
    certified: bool
    """Whether the rounds at hand certify it already."""
    improvement: float
    """The true improvement that is assumed: the one asked for, or the estimate."""
    margin: float
    delta: float
    power: float
    rounds: int
    rounds_needed: int | None
    """Of a log begun anew, to certify with probability ``power``; None where no number of them would."""
    more_rounds: int | None
    """Beyond those at hand, with the evidence that these have brought."""
    counted: str
    method: str
    control: str
    doubts: tuple[str, ...]
    """What keeps any number of rounds from certifying it."""
    growth: Growth

    def power_at(self, rounds: int) -> float:
        """The chance that so many rounds of a log begun anew certify it."""
        target = math.log(1.0 / self.delta)
        low, high = -8.0, 8.0
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (
                (low, middle) if self.growth.log_wealth(rounds, middle, from_now=False) >= target else (middle, high)
            )
        return 0.5 * math.erfc(low / math.sqrt(2.0))

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "over": self.over, "estimate": self.estimate, "lower": self.lower,
            "certified": self.certified, "improvement": self.improvement, "margin": self.margin, "delta": self.delta,
            "power": self.power, "rounds": self.rounds, "rounds_needed": self.rounds_needed,
            "more_rounds": self.more_rounds, "method": self.method, "control": self.control,
            "doubts": list(self.doubts),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [{name: value for name, value in self.to_dict().items() if name != "doubts"}]
