"""Claims: what is bounded, and its two ends, held against each other.

A question says which quantities it bounds. Here their ends are made, at shares of delta that its base has counted,
with everything that follows from the same sums: estimates, evidence, per cent, how wrong the propensities may be.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from surelift.batch import RewardColumn
from surelift.policies import Policy
from surelift.questions.method import Method, control_of, least_of
from surelift.questions.options import consistent
from surelift.questions.relative import Relative, RelativeQuestion, has_ratio
from surelift.results.lift import Measured
from surelift.results.provenance import Provenance
from surelift.statistics.plan import MEAN, Term
from surelift.statistics.sums import Sums
from surelift.traits.declaration import Declaration

if TYPE_CHECKING:
    from surelift.logs.scale import Scale


@dataclass(frozen=True, slots=True)
class Place:
    """Where in an answer a result stands: over the whole log, or in one segment at its share of delta."""

    delta: float
    provenance: Provenance
    segment: str | None = None
    planned: int | None = None
    """The rounds its sums were planned for, where they are those of a longer log."""

    @property
    def words(self) -> str:
        return "" if self.segment is None else f" in segment {self.segment!r}"


@dataclass(frozen=True, slots=True)
class Claim:
    """What is bounded of one policy: a quantity from below, and its mirror image, which bounds it from above."""

    policy: str
    low: Term
    high: Term
    most: float
    """What the two add up to at most: 1 for a value, 0 for a difference."""
    policies: Mapping[str, Policy]
    """Those that it is about."""
    declaration: Declaration
    method: Method
    shown: tuple[bool, bool] = (True, True)
    """Whether it is bounded from below, and from above."""
    outcome: RewardColumn | None = None
    """What it is judged by, where that is not the reward."""
    no_ratio: str = "a value has none"
    """Why there are no bounds in per cent; empty where there are."""
    no_factor: str = no_ratio
    """Why there is no tipping factor."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """What is added up for it: of usual intervals both ends are made from one."""
        return (self.low, self.high) if self.method.believes_contradictions else (self.low,)

    @property
    def is_tabulated(self) -> bool:
        """Whether weights are counted by reward: bounds in per cent and tipping factors are read off that table."""
        return not (self.no_ratio and self.no_factor) and has_ratio(self.low)

    @property
    def scale(self) -> "Scale":
        return self.declaration.scale

    @property
    def subject(self) -> str:
        return f"{'value' if self.most else 'improvement'} of {self.policy!r}"


class Levels(NamedTuple):
    """What is spent on each end of a claim; and what both are held to where they contradict each other."""

    low: float
    high: float
    half: float


class BoundedClaim:
    """A claim and the sums that answer it. Numbers are on the scale of rewards in [0, 1], unless they say otherwise."""

    def __init__(self, claim: Claim, sums: Sums, place: Place, levels: Levels) -> None:
        self.claim, self.method, self.sums, self.place, self.levels = claim, claim.method, sums, place, levels

    @property
    def delta(self) -> float:
        """What one end was made at."""
        return self.levels.low

    @cached_property
    def mean_weight(self) -> float:
        return self.sums.weights(self.claim.policy).total / self.sums.units

    @property
    def most(self) -> float:
        """The most that it can be: the least is the same below 0 for a difference, and 0 for a value."""
        return self.claim.most or -least_of(self.claim.low)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The lower and the upper bound, which contradict neither each other nor the range."""
        claim, scale, most = self.claim, self.claim.scale, self.most
        pairs = (
            (
                self.method.lower_bound(self.sums, claim.low, delta=low),
                self.method.upper_bound(self.sums, claim.low, claim.high, most=claim.most, delta=high),
            )
            for low, high in ((self.levels.low, self.levels.high), (self.levels.half, self.levels.half))
        )
        if not self.method.believes_contradictions:
            return next(pairs)
        least = 0.0 if claim.most else -most

        def in_units(low: float, high: float) -> tuple[float, float]:
            if not claim.most:
                return scale.improvement(low), scale.improvement(high)
            ends = scale.value(low), scale.value(high)
            return ends[::-1] if scale.is_cost else ends

        return consistent(
            pairs, possible=(least, most), subject=f"{claim.subject}{self.place.words}", mean_weight=self.mean_weight,
            in_units=in_units,
        )  # fmt: skip

    def lower_at(self, level: float) -> float:
        return self.method.lower_bound(self.sums, self.claim.low, delta=level)

    @cached_property
    def terms_mean(self) -> float:
        """The mean of the terms that the bounds are made of; of a plain difference, that of w r - w' r."""
        claim, (lower, upper) = self.claim, self.ends
        if claim.most and not claim.shown[0] and control_of(claim.high) != "none":
            return 1.0 - self.method.estimate(self.sums, claim.high, lower=1.0 - upper)
        mean = self.method.estimate(self.sums, claim.low, lower=lower)
        same = claim.low.candidate == claim.high.candidate
        if same or not self.method.bound.certifies or control_of(claim.low) != "none":
            return mean
        own, other = (self.sums.weights(term.candidate).total / self.sums.units for term in (claim.low, claim.high))
        return (mean - self.sums.of(claim.high).mean(MEAN) + own - other) / 2.0

    @property
    def estimate(self) -> float:
        return min(max(self.terms_mean, self.ends[0]), self.ends[1])

    @property
    def control(self) -> str:
        return control_of(self.claim.low, self.claim.high)

    def e_value(self, margin: float) -> float:
        """Evidence against "at most the margin"."""
        return self.method.e_value(self.sums, self.claim.low, margin, delta=self.delta)

    @cached_property
    def _ratio(self) -> RelativeQuestion:
        claim = self.claim
        return RelativeQuestion(claim.low, claim.high, claim.declaration, self.delta, claim.no_ratio)

    def relative(self, margin: float | None) -> Relative:
        """The bounds in per cent, and the evidence against a margin in per cent."""
        return self._ratio.answer(self.sums, margin)

    @property
    def tipping_factor(self) -> float | None:
        return self._ratio.tipping_factor(self.sums)

    @property
    def method_doubts(self) -> tuple[str, ...]:
        claim = self.claim
        asked, delta = (claim.low, self.levels.low) if claim.shown[0] else (claim.high, self.levels.high)
        return self.method.doubts(self.sums, asked, delta=delta)

    @property
    def measured(self) -> Measured:
        """What it is measured in, for words such as "48% more clicks"."""
        declared = self.claim.declaration
        return Measured(declared.reward.name, "cost" if self.claim.scale.is_cost else "reward", declared.unit.sums_up)
