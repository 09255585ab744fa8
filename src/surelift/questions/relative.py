"""Better by how many per cent, and how wrong may the propensities be? Both are read off one table of weights by reward."""

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from surelift import capabilities
from surelift.bounds.relative import RatioEvidence
from surelift.errors import UsageError, printed
from surelift.quantities import Gain
from surelift.statistics.plan import Request, Term
from surelift.statistics.sums import Sums
from surelift.statistics.weight_table import Side, WeightCells, WeightTable
from surelift.traits.declaration import Declaration

NOT_KEPT = "no table of weights was kept where these rounds were added up (a database, or an earlier version)"
CONTRADICTION = "at this delta the bounds in per cent contradict each other, so one of them fails"
STEADY_RATIO = (
    "bounds in per cent: the ratio of the two values does not drift, and production did not adapt to what it saw; a claim "
    "of one margin named beforehand, such as margin='2%', needs neither"
)
IN_PER_CENT, TIPPING_FACTOR = "in per cent", "tipping factor"
MOST_IN_PER_CENT = 20
_LARGEST_LOG = math.log(1.7e308)
# A ratio is made from a scale that was rounded outwards; this covers what the division adds.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class Relative:
    """What is known about the ratio of two values."""

    lower: float | None = None
    upper: float | None = None
    e_value: float = 0.0
    """Against "the lift is at most the margin"."""
    note: str = ""
    """Why there are no bounds."""


def parse_margin(margin: Any) -> tuple[Any, float | None]:
    """A margin in the units of the reward, and one in per cent as a share, of which one is given.

    >>> parse_margin(0.5), parse_margin("2%")
    ((0.5, None), (0.0, 0.02))
    """
    if not isinstance(margin, str):
        return margin, None
    try:
        share = Decimal(margin.strip().removesuffix("%")) / 100
    except InvalidOperation:
        share = Decimal("nan")
    if not margin.strip().endswith("%") or not share.is_finite() or abs(share) > 10**6:
        raise UsageError(f"margin must be a number, or per cent such as '2%', but is {printed(margin)}.")
    return 0.0, float(share)


def check_relative_margin(margin: float, *, is_cost: bool) -> None:
    """Refuse a margin in per cent that cannot be exceeded."""
    if (is_cost and margin >= 1.0) or (not is_cost and margin <= -1.0):
        possible = "below 100%: no cost can fall by more" if is_cost else "above -100%: no reward can fall by more"
        raise UsageError(f"margin in per cent must be {possible}, but is {100.0 * margin:g}%.")


def lacking(wanted: str, features: frozenset[str]) -> str:
    """Why such a question has no bounds in per cent, or no tipping factor; empty where it has."""
    pairs = capabilities.refusals(features | {wanted})
    return next((reason for one, _, reason in pairs if one == wanted), "")


def tables_of(gain: Term, loss: Term, *, plain: bool) -> tuple[WeightTable, WeightTable]:
    """For the lower and the upper side: one and the same where every row stands for itself, beside production."""
    if not isinstance(gain.quantity, Gain):
        return WeightTable(gain.candidate, 1.0, gain.quantity), WeightTable(loss.candidate, 1.0, loss.quantity)
    drop = gain.needed.offset
    if plain:
        return WeightTable(gain.candidate, drop), WeightTable(gain.candidate, drop)
    return WeightTable(gain.candidate, drop, gain.quantity), WeightTable(gain.candidate, drop, loss.quantity)


def has_ratio(term: Term) -> bool:
    """Not where the two policies are one, or weights can be negative."""
    return 0.0 < term.needed.offset <= 1.0


@dataclass(frozen=True, slots=True)
class RelativeQuestion:
    """One policy beside another: what their two tables say."""

    gain: Term
    loss: Term
    declared: Declaration
    delta: float
    note: str
    """Why there is no ratio; empty where there is one."""

    @property
    def drop(self) -> float:
        """Of a blend, its share: its lift is that of what is blended, times the share."""
        return self.gain.needed.offset if isinstance(self.gain.quantity, Gain) else 1.0

    def answer(self, sums: Sums, margin: float | None) -> Relative:
        if not self.note and self.gain.needed.offset == 0.0:
            return Relative(0.0, 0.0, math.exp(_LARGEST_LOG) if (margin or 0.0) < 0.0 else 1.0)
        sides = self._sides(sums)
        if sides is None or self.note:
            return Relative(note=self.note or NOT_KEPT)
        gain, decline = sides
        evidence = 0.0 if margin is None else self._e_value(gain, margin / self.drop)
        for delta in (self.delta, self.delta / 2.0):
            # One-sided bounds may both fail: where they contradict each other at delta, they are held to half of it each.
            lower, upper = self._lower(gain, delta), self._upper(decline, delta)
            if lower is None or upper is None or lower <= upper:
                return Relative(lower, upper, evidence)
        return Relative(e_value=evidence, note=CONTRADICTION)

    def tipping_factor(self, sums: Sums) -> float | None:
        """How many times too large all weights may be, and the improvement would still be certified without control."""
        sides = self._sides(sums)
        if sides is None:
            return None
        gain, _ = sides
        # Weights of two candidates are wrong together, and a mean that may be so many times too large exceeds 1 by less.
        of_two = not isinstance(self.gain.quantity, Gain)
        bound = gain.mean_bound(delta=self.delta) if of_two else 1.0 / gain.least_scale("first", delta=self.delta)
        factor = _down(bound)
        return factor if factor > 1.0 else None

    def _sides(self, sums: Sums) -> tuple[RatioEvidence, RatioEvidence] | None:
        if not has_ratio(self.gain):
            return None
        found = []
        names: tuple[Side, Side] = ("gain", "decline")
        for table, term, name in zip(
            tables_of(self.gain, self.loss, plain=self.declared.plain), (self.gain, self.loss), names, strict=True
        ):
            cells: WeightCells | None = sums.get(table) if Request(table) in sums.states else None
            if cells is None or not cells.complete:
                return None
            side: Side = name if table.quantity is None else "pair"
            found.append(RatioEvidence.of(cells, side, term.needed.components, units=sums.units))
        return found[0], found[1]

    def _lower(self, gain: RatioEvidence, delta: float) -> float | None:
        if self.declared.scale.is_cost:
            scale = gain.least_scale("second", delta=delta)
            return None if math.isinf(scale) else _down(self.drop * (1.0 - scale))
        scale = gain.least_scale("first", delta=delta)
        return max(_down(self.drop * (1.0 / scale - 1.0)), -self.drop) if scale > 0.0 else None

    def _upper(self, decline: RatioEvidence, delta: float) -> float | None:
        if self.declared.scale.is_cost:
            scale = decline.least_scale("second", delta=delta)
            return min(_up(self.drop * (1.0 - 1.0 / scale)), self.drop) if scale > 0.0 else None
        scale = decline.least_scale("first", delta=delta)
        return None if math.isinf(scale) else _up(self.drop * (scale - 1.0))

    def _e_value(self, gain: RatioEvidence, margin: float) -> float:
        if self.declared.scale.is_cost:
            if margin > 1.0:
                return 0.0  # no cost can fall by so much
            log = gain.log_e_value(1.0 - margin, "second")
        elif margin <= -1.0:
            return math.exp(_LARGEST_LOG)  # no blend can be so much worse
        else:
            log = gain.log_e_value(1.0 / (1.0 + margin), "first")
        return math.exp(min(log, _LARGEST_LOG))


def _down(bound: float) -> float:
    return bound - _ROUNDING * (1.0 + abs(bound))


def _up(bound: float) -> float:
    return bound + _ROUNDING * (1.0 + abs(bound))
