"""Is one policy better than another, and by how much?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from surelift.bounds.bound import Promise
from surelift.results.lift import ZERO_IS_NONE, Measured
from surelift.results.provenance import Provenance
from surelift.results.result import OMITTED, Result
from surelift.views.figures import Interval, Intervals
from surelift.views.formats import at_least, baseline_name, chance, decimals_for, plain, quoted, rounded
from surelift.views.tables import interval_cells
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
    upper: float
    margin: float
    certified: bool
    """The improvement exceeds ``margin``, by its lower bound, from logs without doubts."""
    e_value: float
    """Evidence against "the improvement is at most the margin"; 1/delta certifies."""
    p_value: float
    delta: float
    rounds: int
    counted: Literal["rounds", "clusters"]
    method: str
    control: str
    promise: Promise
    mean_weight: float
    improvement_range: tuple[float, float]
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    provenance: Provenance = field(compare=False)
    terms_mean: float = field(metadata=OMITTED)
    """The estimate before it was moved into the bounds."""
    advice: str = field(metadata=OMITTED, compare=False, default="")
    """A way to make the next answer narrower."""
    relative_lower: float | None = None
    """The lift as a share of the baseline's value (0.02 is 2%), or the saving as a share of its cost; holds with probability
    1 - delta, separately, where the ratio of the two values does not drift. Without control. None where there is none."""
    relative_upper: float | None = None
    relative_margin: float | None = None
    """The margin, where it was given in per cent: then it decides, and ``margin`` is 0."""
    relative_note: str = ""
    """The reason why there are no bounds in per cent."""
    relative_doubt: str = ""
    """A doubt of the bounds in per cent: rewards that drift, where ``time=`` is declared. The claim of a margin in per cent
    that was named beforehand is not in doubt, nor is the improvement in units."""
    measured: Measured = field(metadata=OMITTED, compare=False, default=Measured())
    """The column it is about, and whether less of it is better."""
    tipping_factor: float | None = None
    """Weights may all be up to so many times too large (propensities logged too small), and it would still be certified
    better. None where that is not certified without control."""

    title: ClassVar = "Is it better?"
    together_hold: ClassVar = "lower bounds"
    columns: ClassVar = (
        "policy", "over", "estimate", "lower", "upper", "margin", "relative_margin", "certified", "e_value", "p_value",
        "delta", "rounds", "method", "control", "relative_lower", "relative_upper", "tipping_factor",
    )  # fmt: skip

    @property
    def claim(self) -> str:
        """What would be certified: better, by more than a margin; or, for a negative margin, not much worse."""
        return f"{quoted(self.policy)} is {self.claim_over}"

    @property
    def claim_over(self) -> str:
        """The claim, without the name of the policy."""
        much = f" by more than {self.amount_of_margin.lstrip('-')}" if self.asked_margin else ""
        better = "not worse" if self.asked_margin < 0.0 else "better"
        return f"{better} than {baseline_name(self.over)}{much}"

    @property
    def asked_margin(self) -> float:
        """The margin, in units or as a share."""
        return self.margin if self.relative_margin is None else self.relative_margin

    @property
    def amount_of_margin(self) -> str:
        return plain(self.margin) if self.relative_margin is None else f"{plain(100.0 * self.relative_margin)}%"

    @property
    def e_value_that_certifies(self) -> float:
        return 1.0 / self.delta

    @property
    def exceeds_margin(self) -> bool:
        """It would be certified, were there no doubts."""
        lower = self.lower if self.relative_margin is None else self.relative_lower
        return lower is not None and lower > self.asked_margin

    @property
    def bounded_by(self) -> str:
        return self.method

    @property
    def ruled_out(self) -> bool:
        """The upper bound excludes the claim, from logs without doubts."""
        upper = self.upper if self.relative_margin is None else self.relative_upper
        return upper is not None and upper < self.asked_margin and not self.doubts

    @property
    def verdict(self) -> str:
        if self.certified or not self.ruled_out:
            return "certified" if self.certified else "not certified"
        return "ruled out" if self.asked_margin else "worse"

    @property
    def lift(self) -> str:
        """The bounds in per cent of the baseline, where both say something."""
        low, high = self.relative_lower, self.relative_upper
        if low is None or high is None or low <= -1.0:
            return ""
        decimals = max(decimals_for(100.0 * (high - low)) - 1, 0)
        down, up = (rounded(100.0 * end, decimals, towards=way, sign=True) for end, way in ((low, "down"), (high, "up")))
        return f"{down}% to {up}%"

    @property
    def survives(self) -> str:
        """How wrong the propensities may be, in a sentence."""
        if self.tipping_factor is None:
            return ""
        factor = rounded(self.tipping_factor, 2 if self.tipping_factor < 10.0 else 0, towards="down")
        if factor == "1.00":
            return "would not hold if weights were too large by 1%"
        return f"would hold even if weights were too large by up to a factor of {factor}"

    @property
    def certified_lift(self) -> str:
        """What is certified in per cent, in the words of the reward; empty where that is nothing, or in doubt."""
        surely = self.certified and not self.relative_doubt
        return self.measured.lift(self.relative_lower, self.over) if surely else ""

    @property
    def _whole(self) -> str:
        """What per cent are of."""
        return f"the {'cost' if self.measured.kind == 'cost' else 'value'} of {baseline_name(self.over)}"

    def sentence(self) -> str:
        claim = self.claim
        if self.exceeds_margin and not self.certified:
            return f"Not certified: it looks as if {claim}, but this is in doubt: {'; '.join(self.doubts)}."
        return {
            "certified": f"Certified: {claim}.",
            "not certified": f"Not certified: these rounds do not show that {claim}; they do not rule it out either.",
            "ruled out": f"Not certified: these rounds rule out that {claim}.",
            "worse": f"Worse: {quoted(self.policy)} performs worse than {baseline_name(self.over)}.",
        }[self.verdict]

    def text(self) -> str:
        numbers = interval_cells(self.interval(self.policy), sign=True)
        estimate, lower, upper = (number.rjust(max(map(len, numbers))) for number in numbers)
        e_value = f"  evidence      e-value {at_least(self.e_value)}; {self.e_value_that_certifies:.3g} certifies"
        percent = float(chance(self.delta)) * 100  # never overstated
        outside = moved_estimate("improvement", self.terms_mean, self.estimate, self.improvement_range, self.mean_weight)
        without = self.relative_note and f"no bounds in per cent: {self.relative_note}"
        return lines(
            f"Improvement of {quoted(self.policy)} over {baseline_name(self.over)}, {self.rounds:,} {self.counted}",
            f"  estimate      {estimate}",
            f"  lower bound   {lower}   {one_holds(self.promise, self.delta, self.bounded_by)}",
            f"  upper bound   {upper}   also {percent:.12g}%, separately",
            f"  relative      {self.lift}   of {self._whole}, {STEADY}" if self.lift else "",
            f"  in doubt, the bounds in per cent: {self.relative_doubt}" if self.relative_doubt else "",
            e_value if certifies(self.promise) else "",
            [f"  {note}" for note in (outside, self.survives, without) if note],
            doubt_lines(self.doubts),
            self.sentence(),
            self.advice,
        )

    def lead(self) -> tuple[str, ...]:
        lift, survives = self.certified_lift, self.survives
        certified = f"{lift[:1].upper()}{lift[1:]}, {STEADY} (a separate bound, at the same level)." if lift else ""
        relative = f"In per cent of {self._whole}: {self.lift}, each side separately, {STEADY}." if self.lift else ""
        doubt = f"The bounds in per cent are in doubt: {self.relative_doubt}." if self.relative_doubt else ""
        tipping = f"The certificate {survives}." if survives else ""
        return (*Result.lead(self), *filter(None, (certified, relative, doubt, tipping)))

    def besides(self) -> tuple[str, ...]:
        return (ZERO_IS_NONE.format(kind=self.measured.kind),) if self.certified_lift else ()

    def bounded(self) -> "Mapping[str, Improvement]":
        return {self.policy: self}

    def interval(self, name: str) -> Interval:
        return Interval(name, self.estimate, self.lower, self.upper, self.verdict, self.certified, self.margin)

    def figure_of(self, rows: Iterable[Interval], **options: Any) -> Intervals:
        """Improvements over the same baseline, in one figure."""
        label = f"improvement over {baseline_name(self.over)}"
        return Intervals(label, tuple(rows), self.margin, signed=True, **options)

    def figure(self) -> Intervals:
        return self.figure_of([self.interval(self.policy)])


@dataclass(frozen=True, slots=True, repr=False)
class JointImprovement(Improvement):
    """One of several improvements that were judged together by e-Holm: all their lower bounds hold at once.

    Where it is certified, ``lower`` is the margin, unless all of them are: then it may lie above.
    """

    e_value_needed: float = field(kw_only=True)
    """The e-value that certifies it beside the others: from 1/delta to their number over delta."""

    @property
    def e_value_that_certifies(self) -> float:
        return self.e_value_needed

    @property
    def exceeds_margin(self) -> bool:
        return self.e_value >= self.e_value_needed

    @property
    def bounded_by(self) -> str:
        return f"{self.method}, with the other candidates by e-Holm"
