"""Claims: what a question bounds, and the ends that sums give it. All that is made of a bound is made here, once."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from surelift.batch import RewardColumn
from surelift.errors import LogsError
from surelift.policies import Policy
from surelift.questions.drift import ratio_requests
from surelift.questions.method import Method, control_of, least_of
from surelift.questions.relative import NOT_KEPT, Ratio, Relative, tables_of
from surelift.results.lift import Measured
from surelift.results.provenance import Provenance
from surelift.statistics.plan import MEAN, Request, Term
from surelift.statistics.splits import Key
from surelift.statistics.sums import Sums, requests_of
from surelift.traits.declaration import Declaration


@dataclass(frozen=True, slots=True)
class Place:
    """Where in an answer a result stands: over the whole log, or in one segment at its share of delta."""

    delta: float
    provenance: Provenance
    segment: str | None = None
    planned: int | None = None
    """The rounds its sums were planned for, where they are those of a longer log."""


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
    """Bounded from below, and from above."""
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
        """Weights are counted by reward: bounds in per cent and tipping factors are read off that table."""
        return not (self.no_ratio and self.no_factor) and 0.0 < self.low.needed.offset <= 1.0

    def requests(self, everyone: Mapping[str, Policy], key: Key, declared: Declaration) -> list[Request]:
        """What is added up for it; ``declared`` is the log, whatever column judges."""
        names = [name for name in self.policies if name in everyone]
        found = list(requests_of(names, self.terms, key, self.outcome))
        if self.is_tabulated:
            tables = tables_of(self.low, self.high, plain=self.declaration.plain)
            found += [Request(table, key, self.outcome) for table in tables]
            if declared.times:
                found += ratio_requests(declared, key, self.outcome)
        return found

    def in_units(self, low: float, high: float) -> tuple[float, float]:
        """Two ends in the units of the column."""
        scale = self.declaration.scale
        if not self.most:
            return scale.width * low, scale.width * high
        return (scale.value(high), scale.value(low)) if scale.is_cost else (scale.value(low), scale.value(high))


@dataclass(frozen=True)
class BoundedClaim:
    """A claim and the sums that answer it. Numbers are on the scale of rewards in [0, 1], unless they say otherwise."""

    claim: Claim
    sums: Sums
    place: Place
    levels: tuple[float, float]
    """What is spent on each end."""
    half: float
    """What both ends are held to where they contradict each other."""

    @property
    def mean_weight(self) -> float:
        return self.sums.weights(self.claim.policy).total / self.sums.units

    @property
    def most(self) -> float:
        """The most that it can be: the least is the same below 0 for a difference, and 0 for a value."""
        return self.claim.most or -least_of(self.claim.low)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The lower and the upper bound, which contradict neither each other nor the range."""
        claim, most = self.claim, self.most
        least = 0.0 if claim.most else -most
        lower, upper = self._ends_at(*self.levels)
        if not self.claim.method.believes_contradictions or least <= lower <= upper <= most:
            return lower, upper
        where = "" if self.place.segment is None else f" in segment {self.place.segment!r}"
        return consistent(
            [(lower, upper), self._ends_at(self.half, self.half)], possible=(least, most),
            subject=f"{'value' if claim.most else 'improvement'} of {claim.policy!r}{where}", mean_weight=self.mean_weight,
            in_units=claim.in_units,
        )  # fmt: skip

    def _ends_at(self, low: float, high: float) -> tuple[float, float]:
        claim, method = self.claim, self.claim.method
        lower = method.lower_bound(self.sums, claim.low, delta=low)
        return lower, method.upper_bound(self.sums, claim.low, claim.high, most=claim.most, delta=high)

    def lower_at(self, level: float) -> float:
        return self.claim.method.lower_bound(self.sums, self.claim.low, delta=level)

    @cached_property
    def terms_mean(self) -> float:
        """The mean of the terms that the bounds are made of; of a plain difference, that of w r - w' r."""
        claim, (lower, upper) = self.claim, self.ends
        if claim.most and not claim.shown[0] and control_of(claim.high) != "none":
            return 1.0 - self.claim.method.estimate(self.sums, claim.high, lower=1.0 - upper)
        mean = self.claim.method.estimate(self.sums, claim.low, lower=lower)
        same = claim.low.candidate == claim.high.candidate
        if same or not self.claim.method.bound.certifies or control_of(claim.low) != "none":
            return mean
        own, other = (self.sums.weights(term.candidate).total / self.sums.units for term in (claim.low, claim.high))
        return (mean - self.sums.of(claim.high).mean(MEAN) + own - other) / 2.0

    @property
    def estimate(self) -> float:
        return min(max(self.terms_mean, self.ends[0]), self.ends[1])

    @cached_property
    def control(self) -> str:
        return control_of(self.claim.low, self.claim.high)

    def e_value(self, margin: float) -> float:
        """Evidence against "at most the margin"."""
        return self.claim.method.e_value(self.sums, self.claim.low, margin, delta=self.levels[0])

    def relative(self, margin: float | None) -> tuple[Relative, Ratio | None]:
        """The bounds in per cent, and the evidence against a margin in per cent; and what they were read off."""
        claim, declared = self.claim, self.claim.declaration
        ratio = None
        if claim.is_tabulated:
            ratio = Ratio.of(claim.low, claim.high, self.sums, plain=declared.plain, is_cost=declared.scale.is_cost)
        if not claim.no_ratio and claim.low.needed.offset == 0.0:
            return Relative.of_equals(margin), None
        if claim.no_ratio or ratio is None:
            return Relative(note=claim.no_ratio or NOT_KEPT), ratio
        return ratio.answer(margin, delta=self.levels[0]), ratio

    @property
    def doubts(self) -> tuple[str, ...]:
        """Of the method."""
        claim, (low, high) = self.claim, self.levels
        asked, delta = (claim.low, low) if claim.shown[0] else (claim.high, high)
        return self.claim.method.doubts(self.sums, asked, delta=delta)

    @property
    def measured(self) -> Measured:
        """What it is measured in, for words such as "48% more clicks"."""
        declared = self.claim.declaration
        return Measured(declared.reward.name, "cost" if declared.scale.is_cost else "reward", declared.unit.sums_up)


def bound_together(
    claims: Mapping[str, Claim], sums: Mapping[RewardColumn | None, Sums], place: Place, *, sides_together: bool
) -> dict[str, BoundedClaim]:
    """All claims hold at once: each at delta divided by their number, and by two where both its ends hold together."""
    found, spent = {}, [0.0, 0.0]
    for name, claim in claims.items():
        share = place.delta / len(claims)
        half, low, high = share / 2.0, share, share
        if sides_together:
            both = all(claim.shown)
            low, high = (share if is_shown and not both else half for is_shown in claim.shown)
        spent = [spent[0] + low, spent[1] + high]
        found[name] = BoundedClaim(claim, sums[claim.outcome], place, (low, high), half)
    assert max(spent) <= place.delta * (1.0 + 1e-12), "no more than delta is spent on one side"
    return found


def consistent(
    pairs: Iterable[tuple[float, float]],
    *,
    possible: tuple[float, float],
    subject: str,
    mean_weight: float,
    in_units: Callable[[float, float], tuple[float, float]] = lambda lower, upper: (lower, upper),
) -> tuple[float, float]:
    """The first lower and upper bound that contradict neither each other nor the range; logs without any are refused.

    With right logs a contradiction takes a bound that fails: they are refused with at most the chances of the last pair,
    added up. A later pair only moves the bounds apart: the first alone decides how often one fails. ``possible`` is on the
    scale of the bounds, and ``in_units`` gives them in the units of the column.
    """
    least, most = possible
    rounding, lower, upper = 1e-9 * (most - least), math.inf, -math.inf
    for low, high in pairs:
        lower, upper = min(lower, low), max(upper, high)
        if lower <= most + rounding and upper >= least - rounding and lower <= upper + rounding:
            return lower, upper
    (low, high), (bottom, top) = in_units(lower, upper), in_units(least, most)
    raise LogsError(
        f"{subject}: the bounds contradict each other, at least {low:.6g} and at most {high:.6g}, where only [{bottom:.6g}, "
        f"{top:.6g}] is possible.\nWith right logs one of the two would have to fail. The mean weight is {mean_weight:.4g}; "
        "it is at most about 1 when everything is right. If other candidates have it near 1, this column does not hold "
        "probabilities of the logged action (scores, or predicted rewards?); otherwise suspect the propensities: they must "
        "be those of the action really taken, from the policy version that took it, after business rules."
        + (" If only segments contradict, their column is not known before the action." if " in segment " in subject else "")
    )
