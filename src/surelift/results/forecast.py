"""How many more rounds would certify an improvement."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surelift.bounds import BOUNDS
from surelift.evidence.growth import PowerCurve
from surelift.results.result import OMITTED, Result
from surelift.views.figures import Curve
from surelift.views.formats import approximate, baseline_name, decimals_for, plain, quoted, rounded

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
    """The rounds so far certify it already."""
    improvement: float
    """The true improvement that is assumed: the one asked for, or the estimate."""
    margin: float
    delta: float
    power: float
    rounds: int
    rounds_needed: int | None
    """The rounds of a new log that certify with probability ``power``; None where no number would."""
    rounds_needed_range: Range
    """A bootstrap range: what is needed lies there in about 80% of forecasts; None where no number would do."""
    more_rounds: int | None
    """The rounds beside those so far, with the evidence they have brought; None also where only one look is allowed."""
    more_rounds_range: Range
    counted: str = field(metadata=OMITTED)
    method: str
    control: str
    any_looks: bool
    """The log may grow and be looked at again; otherwise a new one is needed."""
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    """Why no number of rounds would certify it."""
    growth: PowerCurve = field(metadata=OMITTED)
    notes: tuple[str, ...] = field(metadata=OMITTED, compare=False, default=())

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
        number, (least, most), more = self.rounds_needed, self.rounds_needed_range, ""
        if self.any_looks:
            number, (least, most), more = self.more_rounds, self.more_rounds_range, "more "
        improvement = f"an improvement of {self.improvement:.4g}"
        small = "would take too many" if self.improvement > self.margin else f"does not exceed {plain(self.margin)}"
        if least is None:
            return f"Not certified, and no number of {self.counted} like these would change that: {improvement} {small}."
        up_to = "to no number at all" if most is None else f"and {approximate(most)}"
        spread = f"({RANGE:.0%} range: {'from' if most is None else 'between'} {approximate(least)} {up_to})"
        if number is None:
            few = f"these {self.counted} are too few to tell how many {more}would be needed"
            return f"Not certified, and {few}: {improvement} {small}, but that is uncertain {spread}."
        needed = f"about {approximate(number)} {more}{self.counted} like these {spread}"
        sentences = [
            f"Not certified: {'' if self.any_looks else 'a new log of '}{needed} would certify {improvement}{by} with power "
            f"{self.power:g}."
        ]
        if most is None:
            sentences.append(f"These {self.counted} are too few to tell.")
        if not self.any_looks:
            once = f"method {self.method!r} allows one look, so the {self.counted} so far do not count towards it"
            sentences.append(f"Fix their number in advance: {once}.")
            sentences += [f"It assumes that {assumed}." for assumed in BOUNDS[self.method].assumes]
        return " ".join([*sentences, "This is a forecast, not a guarantee."])

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
