"""Is one policy better than another, and by how much?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from surelift.bounds.bound import Promise
from surelift.results.lift import ZERO_IS_NONE, Measured
from surelift.results.provenance import Provenance
from surelift.results.result import OMITTED, Result
from surelift.views.figures import Interval, Intervals
from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import at_least, chance, decimals_for, plain, rounded
from surelift.views.text import certifies, doubt_lines, lines, moved_estimate, one_holds

STEADY = "if that ratio does not drift"


@dataclass(frozen=True, slots=True, repr=False)
class Improvement(Result):
    """How much better one policy is than another, in the units of the reward (or cost) column; positive is better."""

    policy: str
    over: str
    estimate: float
    """The mean of the terms that the lower bound is made of, between the bounds."""
    lower: float
    """Holds with probability 1 - delta."""
    upper: float
    """Also holds with probability 1 - delta, separately."""
    margin: float
    certified: bool
    """Whether the improvement exceeds ``margin``, by its lower bound, from logs without doubts."""
    e_value: float
    """Evidence against "the improvement is at most the margin"; 1/delta certifies."""
    p_value: float
    delta: float
    rounds: int
    counted: Literal["rounds", "clusters"]
    """What ``rounds`` counts."""
    method: str
    control: str
    promise: Promise
    """Whether it holds at any number of looks, at one look, or only asymptotically."""
    mean_weight: float
    improvement_range: tuple[float, float]
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    provenance: Provenance = field(compare=False)
    terms_mean: float = field(metadata=OMITTED)
    """The estimate before it was moved into the bounds."""
    advice: str = field(metadata=OMITTED, compare=False, default="")
    """What could make the next answer narrower."""
    relative_lower: float | None = None
    """The lift as a share of the baseline's value (0.02 is 2%), or the saving as a share of its cost; holds with probability
    1 - delta, separately, where the ratio of the two values does not drift. Without control. None where there is none."""
    relative_upper: float | None = None
    relative_margin: float | None = None
    """The margin, where it was given in per cent: then it decides, and ``margin`` is 0."""
    relative_note: str = ""
    """Why there are no bounds in per cent."""
    relative_doubt: str = ""
    """What puts the bounds in per cent in doubt: rewards that drift, where ``time=`` is declared. The claim of a margin in
    per cent that was named beforehand is not in doubt, nor is the improvement in units."""
    measured: Measured = field(metadata=OMITTED, compare=False, default=Measured())
    """The column it is about, and whether less of it is better."""
    tipping_factor: float | None = None
    """Weights may all be up to so many times too large (propensities logged too small), and it would still be certified
    better. None where that is not certified without control."""

    title: ClassVar = "Is it better?"
    columns: ClassVar = (
        "policy", "over", "estimate", "lower", "upper", "margin", "relative_margin", "certified", "e_value", "p_value",
        "delta", "rounds", "method", "control", "relative_lower", "relative_upper", "tipping_factor",
    )  # fmt: skip

    @property
    def claim(self) -> str:
        """What would be certified: better, by more than a margin; or, for a negative margin, not much worse."""
        name, over = quoted(self.policy), baseline_name(self.over)
        asked = self.asked_margin
        much = plain(abs(asked)) if self.relative_margin is None else f"{plain(100.0 * abs(asked))}%"
        if asked < 0.0:
            return f"{name} is not worse than {over} by more than {much}"
        return f"{name} is better than {over}{f' by more than {much}' if asked else ''}"

    @property
    def asked_margin(self) -> float:
        """What it must exceed, in units or as a share."""
        return self.margin if self.relative_margin is None else self.relative_margin

    @property
    def e_value_that_certifies(self) -> float:
        return 1.0 / self.delta

    @property
    def exceeds_margin(self) -> bool:
        """Whether it would be certified, were there no doubts."""
        if self.relative_margin is not None:
            return self.relative_lower is not None and self.relative_lower > self.relative_margin
        return self.lower > self.margin

    @property
    def bounded_by(self) -> str:
        """The method, as it is named beside the lower bound."""
        return self.method

    @property
    def ruled_out(self) -> bool:
        """Whether the upper bound excludes the claim, from logs without doubts."""
        if self.relative_margin is not None:
            excluded = self.relative_upper is not None and self.relative_upper < self.relative_margin
        else:
            excluded = self.upper < self.margin
        return excluded and not self.doubts

    @property
    def lift(self) -> str:
        """The bounds in per cent, where both say something."""
        low, high = self.relative_lower, self.relative_upper
        if low is None or high is None or low <= -1.0:
            return ""
        decimals = max(decimals_for(100.0 * (high - low)) - 1, 0)
        return f"{_per_cent(low, decimals, 'down')} to {_per_cent(high, decimals, 'up')}"

    @property
    def survives(self) -> str:
        """How wrong the propensities may be, in a sentence."""
        if self.tipping_factor is None:
            return ""
        factor = rounded(self.tipping_factor, 2 if self.tipping_factor < 10.0 else 0, towards="down")
        if factor == "1.00":
            return "would not hold if propensities were logged too small by 1%"
        return f"would hold even if propensities were logged too small by up to a factor of {factor}"

    def sentence(self) -> str:
        if self.certified:
            return f"Certified: {self.claim}."
        if self.exceeds_margin:
            return f"Not certified: it looks as if {self.claim}, but this is in doubt: {'; '.join(self.doubts)}."
        if self.ruled_out and self.margin == 0.0 and not self.relative_margin:
            return f"Worse: {quoted(self.policy)} performs worse than {baseline_name(self.over)}."
        if self.ruled_out:
            return f"Not certified: these rounds rule out that {self.claim}."
        return f"Not certified: these rounds do not show that {self.claim}; they do not rule it out either."

    def text(self) -> str:
        decimals = decimals_for(self.upper - self.lower)
        numbers = [
            rounded(self.estimate, decimals, sign=True),
            rounded(self.lower, decimals, towards="down", sign=True),
            rounded(self.upper, decimals, towards="up", sign=True),
        ]
        estimate, lower, upper = (number.rjust(max(map(len, numbers))) for number in numbers)
        e_value = f"  evidence      e-value {at_least(self.e_value)}; {self.e_value_that_certifies:.3g} certifies"
        percent = float(chance(self.delta)) * 100  # never overstated
        outside = moved_estimate("improvement", self.terms_mean, self.estimate, self.improvement_range, self.mean_weight)
        return lines(
            f"Improvement of {quoted(self.policy)} over {baseline_name(self.over)}, {self.rounds:,} {self.counted}",
            f"  estimate      {estimate}",
            f"  lower bound   {lower}   {one_holds(self.promise, self.delta, self.bounded_by)}",
            f"  upper bound   {upper}   also {percent:.12g}%, separately",
            f"  relative      {self.lift}   of {self._whole}, {STEADY}" if self.lift else "",
            f"  in doubt, the bounds in per cent: {self.relative_doubt}" if self.relative_doubt else "",
            e_value if certifies(self.promise) else "",
            f"  {outside}" if outside else "",
            f"  {self.survives}" if self.survives else "",
            f"  no bounds in per cent: {self.relative_note}" if self.relative_note else "",
            doubt_lines(self.doubts),
            self.sentence(),
            self.advice,
        )

    def lead(self) -> tuple[str, ...]:
        told = []
        if self.certified_lift:
            told.append(
                f"{self.certified_lift[0].upper()}{self.certified_lift[1:]}, {STEADY} (a separate bound, at the same level)."
            )
        if self.lift:
            told.append(f"In per cent of {self._whole}: {self.lift}, each side separately, {STEADY}.")
        if self.relative_doubt:
            told.append(f"The bounds in per cent are in doubt: {self.relative_doubt}.")
        if self.survives:
            told.append(f"The certificate {self.survives}.")
        return (*Result.lead(self), *told)

    @property
    def certified_lift(self) -> str:
        """What is certified in per cent, in the words of the reward; empty where that is nothing, or in doubt."""
        surely = self.certified and not self.relative_doubt
        return self.measured.lift(self.relative_lower, self.over) if surely else ""

    def besides(self) -> tuple[str, ...]:
        return (ZERO_IS_NONE.format(kind=self.measured.kind),) if self.certified_lift else ()

    @property
    def _whole(self) -> str:
        """What per cent are of."""
        return f"the {'cost' if self.measured.kind == 'cost' else 'value'} of {baseline_name(self.over)}"

    def bounded(self) -> "Mapping[str, Improvement]":
        return {self.policy: self}

    def interval(self, name: str) -> Interval:
        refuted = "worse" if self.margin == 0.0 and not self.relative_margin else "ruled out"
        verdict = "certified" if self.certified else refuted if self.ruled_out else "not certified"
        return Interval(name, self.estimate, self.lower, self.upper, verdict, self.certified, self.margin)

    def figure(self) -> Intervals:
        return improvements_figure([self], over=self.over, margin=self.margin)


@dataclass(frozen=True, slots=True, repr=False)
class JointImprovement(Improvement):
    """One of several improvements that were judged together by e-Holm: all their lower bounds hold at once.

    Where it is certified, ``lower`` is the margin, unless all of them are: then it may lie above.
    """

    e_value_needed: float = field(kw_only=True)
    """The e-value that certifies it beside the others: from 1/delta to their number over delta."""

    @property
    def asked_margin(self) -> float:
        """What it must exceed, in units or as a share."""
        return self.margin if self.relative_margin is None else self.relative_margin

    @property
    def e_value_that_certifies(self) -> float:
        return self.e_value_needed

    @property
    def exceeds_margin(self) -> bool:
        return self.e_value >= self.e_value_needed

    @property
    def bounded_by(self) -> str:
        return f"{self.method}, with the other candidates by e-Holm"


def _per_cent(share: float, decimals: int, towards: str) -> str:
    return f"{rounded(100.0 * share, decimals, towards=towards, sign=True)}%"


def improvements_figure(improvements: Iterable[Improvement], *, over: str, margin: float) -> Intervals:
    rows = tuple(improvement.interval(improvement.policy) for improvement in improvements)
    return Intervals(f"improvement over {baseline_name(over)}", rows, margin, signed=True)
