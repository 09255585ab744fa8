"""Claims: what a question bounds, and the ends that sums give it. All that is made of a bound is made here, once."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from surelift.batch import RewardColumn
from surelift.errors import LogsError
from surelift.policies import Policy
from surelift.questions.method import Method, control_of
from surelift.questions.relative import NOT_KEPT, Ratio, Relative
from surelift.results.provenance import Provenance
from surelift.statistics.plan import MEAN, NOTHING, Term
from surelift.statistics.sums import Sums
from surelift.statistics.weight_table import WeightTable
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
    tables: tuple[WeightTable, ...] = ()
    """Weights counted by reward, for the lower and the upper side: per cent and tipping factors are read off them."""

    def in_units(self, low: float, high: float) -> tuple[float, float]:
        """Two ends in the units of the column."""
        scale = self.declaration.scale
        if not self.most:
            return scale.width * low, scale.width * high
        return (scale.value(high), scale.value(low)) if scale.is_cost else (scale.value(low), scale.value(high))


@dataclass(frozen=True, slots=True)
class BoundedClaim:
    """A claim and what sums say of it. Numbers are on the scale of rewards in [0, 1], unless they say otherwise."""

    claim: Claim
    sums: Sums
    place: Place
    levels: tuple[float, float]
    """What is spent on each end."""
    ends: tuple[float, float]
    """The lower and the upper bound, which contradict neither each other nor the range."""
    control: str
    mean_weight: float
    terms_mean: float
    """The mean of the terms that the bounds are made of; of a plain difference, that of w r - w' r."""
    estimate: float
    """That mean, moved into the bounds."""
    most: float
    """The most that it can be: the least is the same below 0 for a difference, and 0 for a value."""

    def lower_at(self, level: float) -> float:
        return self.claim.method.lower_bound(self.sums, self.claim.low, delta=level)

    def relative(self, margin: float | None) -> tuple[Relative, Ratio | None]:
        """The bounds in per cent, and the evidence against a margin in per cent; and what they were read off."""
        claim = self.claim
        if not claim.no_ratio and claim.low.needed is NOTHING:
            return Relative.of_equals(margin), None
        ratio = Ratio.of(claim.tables, claim.low, claim.high, self.sums, is_cost=claim.declaration.scale.is_cost)
        if claim.no_ratio or ratio is None:
            return Relative(note=claim.no_ratio or NOT_KEPT), ratio
        return ratio.answer(margin, delta=self.levels[0]), ratio


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
        found[name] = _bounded(claim, sums[claim.outcome], place, (low, high), half)
    assert max(spent) <= place.delta * (1.0 + 1e-12), "no more than delta is spent on one side"
    return found


def _bounded(claim: Claim, sums: Sums, place: Place, levels: tuple[float, float], half: float) -> BoundedClaim:
    """Both ends, held to ``half`` where they contradict each other, and the mean of their terms."""
    method, low, high = claim.method, claim.low, claim.high
    mean_weight = sums.weights(claim.policy).total / sums.units
    most = claim.most or min(low.needed.offset, 1.0)
    least = 0.0 if claim.most else -most
    ends = method.ends(sums, low, high, most=claim.most, levels=levels)
    if method.believes_contradictions and not least <= ends[0] <= ends[1] <= most:
        where = "" if place.segment is None else f" in segment {place.segment!r}"
        ends = consistent(
            [ends, method.ends(sums, low, high, most=claim.most, levels=(half, half))], possible=(least, most),
            subject=f"{'value' if claim.most else 'improvement'} of {claim.policy!r}{where}", mean_weight=mean_weight,
            in_units=claim.in_units,
        )  # fmt: skip
    if claim.most and not claim.shown[0] and control_of(high) != "none":
        mean = 1.0 - method.mean(sums, high, lower=1.0 - ends[1])
    else:
        mean = method.mean(sums, low, lower=ends[0])
        if low.candidate != high.candidate and method.bound.certifies and control_of(low) == "none":
            own, other = (sums.weights(term.candidate).total / sums.units for term in (low, high))
            mean = (mean - sums.of(high).mean(MEAN) + own - other) / 2.0
    estimate = min(max(mean, ends[0]), ends[1])
    return BoundedClaim(claim, sums, place, levels, ends, control_of(low, high), mean_weight, mean, estimate, most)


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
