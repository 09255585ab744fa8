"""How many more rounds would certify an improvement?"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surelift.bounds import BOUNDS
from surelift.evidence.growth import PowerCurve
from surelift.results.result import OMITTED, Result
from surelift.views.figures import Curve
from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import approximate, decimals_for, plain, rounded

Range = tuple[int | None, int | None]
RANGE = 0.8
"""How often the number that is needed lies in the range of a forecast."""


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
    rounds_needed_range: Range
    """From a bootstrap of the log: what is needed lies there in about 80% of forecasts; None where no number would do."""
    more_rounds: int | None
    """In addition to the rounds so far, with the evidence they have brought; None also where only one look is allowed."""
    more_rounds_range: Range
    counted: str = field(metadata=OMITTED)
    method: str
    control: str
    any_looks: bool
    """Whether the log may grow and be looked at again; otherwise a new one is needed."""
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    """Why no number of rounds would certify it."""
    growth: PowerCurve = field(metadata=OMITTED)
    said: tuple[str, ...] = field(metadata=OMITTED, compare=False, default=())

    title: ClassVar = "How much more data is needed?"
    columns: ClassVar = {
        **{name: name for name in (
            "policy", "over", "estimate", "lower", "certified", "improvement", "margin", "delta", "power", "rounds",
            "rounds_needed", "more_rounds", "method", "control",
        )},
        "rounds_needed_lower": "rounds_needed_range.0", "rounds_needed_upper": "rounds_needed_range.1",
        "more_rounds_lower": "more_rounds_range.0", "more_rounds_upper": "more_rounds_range.1",
    }  # fmt: skip

    def power_at(self, rounds: int) -> float:
        """The probability that so many rounds of a new log certify it."""
        return self.growth.power_at(rounds)

    def sentence(self) -> str:
        by = f" by more than {plain(self.margin)}" if self.margin else ""
        if self.certified:
            name, over = quoted(self.policy), baseline_name(self.over)
            return f"Certified: {name} is better than {over}{by}; no more rounds are needed."
        if self.doubts:
            return f"Not certified, and no number of rounds would change that: {'; '.join(self.doubts)}."
        number, (least, most) = self._asked
        more = "more " if self.any_looks else ""
        if least is None:
            return f"Not certified, and no number of {self.counted} like these would change that: {self._too_small}."
        if number is None:
            few = f"these {self.counted} are too few to tell how many {more}would be needed"
            return f"Not certified, and {few}: {self._too_small}, but that is uncertain ({self._range})."
        claim = f"an improvement of {self.improvement:.4g}{by} with power {self.power:g}"
        told = [
            f"Not certified: {'' if self.any_looks else 'a new log of '}about {approximate(number)} {more}{self.counted} "
            f"like these ({self._range}) would certify {claim}."
        ]
        if most is None:
            told.append(f"These {self.counted} are too few to tell.")
        if not self.any_looks:
            told.append(
                f"Fix their number in advance: method {self.method!r} allows one look, so the {self.counted} so far do "
                "not count towards it."
            )
            told += [f"It assumes that {assumed}." for assumed in BOUNDS[self.method].assumes]
        return " ".join([*told, "This is a forecast, not a guarantee."])

    @property
    def _asked(self) -> tuple[int | None, Range]:
        if self.any_looks:
            return self.more_rounds, self.more_rounds_range
        return self.rounds_needed, self.rounds_needed_range

    @property
    def _range(self) -> str:
        least, most = (None if end is None else approximate(end) for end in self._asked[1])
        ends = f"from {least} to no number at all" if most is None else f"between {least} and {most}"
        return f"{RANGE:.0%} range: {ends}"

    @property
    def _too_small(self) -> str:
        if self.improvement > self.margin:
            return f"an improvement of {self.improvement:.4g} would take too many"
        return f"an improvement of {self.improvement:.4g} does not exceed {plain(self.margin)}"

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
