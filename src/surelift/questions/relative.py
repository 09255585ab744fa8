"""Better by how many per cent, and how wrong may the propensities be? Both are read off one table of weights by reward."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from surelift.bounds.relative import Part, RatioEvidence
from surelift.errors import UsageError, printed
from surelift.quantities import Gain
from surelift.statistics.plan import Request, Term
from surelift.statistics.sums import Sums
from surelift.statistics.weight_table import Side, WeightTable

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
_LEAST_SCALE = 1e-12


@dataclass(frozen=True, slots=True)
class Relative:
    """What is known about the ratio of two values."""

    lower: float | None = None
    upper: float | None = None
    e_value: float = 0.0
    """Against "the lift is at most the margin"."""
    note: str = ""
    """Why there are no bounds."""

    @classmethod
    def of_equals(cls, margin: float | None) -> "Relative":
        """Where the two policies are one."""
        return cls(0.0, 0.0, math.exp(_LARGEST_LOG) if (margin or 0.0) < 0.0 else 1.0)


def parse_margin(margin: str) -> float:
    """A margin in per cent, as a share.

    >>> parse_margin("2%")
    0.02
    """
    try:
        share = Decimal(margin.strip().removesuffix("%")) / 100
    except InvalidOperation:
        share = Decimal("nan")
    if not margin.strip().endswith("%") or not share.is_finite() or abs(share) > 10**6:
        raise UsageError(f"margin must be a number, or per cent such as '2%', but is {printed(margin)}.")
    return float(share)


def check_relative_margin(margin: float, *, is_cost: bool) -> None:
    """Refuse a margin in per cent that cannot be exceeded."""
    if (is_cost and margin >= 1.0) or (not is_cost and margin <= -1.0):
        possible = "below 100%: no cost can fall by more" if is_cost else "above -100%: no reward can fall by more"
        raise UsageError(f"margin in per cent must be {possible}, but is {100.0 * margin:g}%.")


@dataclass(frozen=True, slots=True)
class Ratio:
    """One policy beside another: what the two tables of a claim say."""

    gain: RatioEvidence
    decline: RatioEvidence
    drop: float
    """The share of a blend: its lift is that of what is blended, times the share. Else 1."""
    is_cost: bool
    of_two: bool
    """Weights of two candidates are wrong together."""

    @classmethod
    def of(cls, tables: Sequence[WeightTable], gain: Term, loss: Term, sums: Sums, *, is_cost: bool) -> "Ratio | None":
        """None where no tables were kept."""
        sides = []
        names: tuple[Side, Side] = ("gain", "decline")
        for table, term, name in zip(tables, (gain, loss), names, strict=False):
            cells = sums.get(table) if Request(table) in sums.states else None
            if cells is None or not cells.complete:
                return None
            side: Side = name if table.quantity is None else "pair"
            sides.append(RatioEvidence.of(cells, side, term.needed.components, units=sums.units))
        if not sides:
            return None
        of_two = not isinstance(gain.quantity, Gain)
        return cls(sides[0], sides[1], 1.0 if of_two else gain.needed.offset, is_cost, of_two)

    def answer(self, margin: float | None, *, delta: float) -> Relative:
        """Bounds on the lift, each at delta and rounded outwards, and the evidence against a margin."""
        part: Part = "second" if self.is_cost else "first"
        drop, evidence = self.drop, 0.0 if margin is None else self.e_value(margin / self.drop)
        for level in (delta, delta / 2.0):
            # One-sided bounds may both fail: where they contradict each other at delta, they are held to half of it each.
            low, high = self.gain.least_scale(part, delta=level), self.decline.least_scale(part, delta=level)
            if self.is_cost:
                lower = None if math.isinf(low) else drop * (1.0 - low)
                upper = drop * (1.0 - 1.0 / high) if high > 0.0 else None
            else:
                lower = drop * (1.0 / low - 1.0) if low > 0.0 else None
                upper = None if math.isinf(high) else drop * (high - 1.0)
            if lower is not None:
                lower -= _ROUNDING * (1.0 + abs(lower))
                lower = lower if self.is_cost else max(lower, -drop)
            if upper is not None:
                upper += _ROUNDING * (1.0 + abs(upper))
                upper = min(upper, drop) if self.is_cost else upper
            if lower is None or upper is None or lower <= upper:
                return Relative(lower, upper, evidence)
        return Relative(e_value=evidence, note=CONTRADICTION)

    def tipping_factor(self, *, delta: float) -> float | None:
        """How many times too large all weights may be, and the improvement would still be certified without control."""
        # Weights of two are wrong together, and a mean that may be so many times too large exceeds 1 by less.
        bound = self.gain.mean_bound(delta=delta) if self.of_two else 1.0 / self.gain.least_scale("first", delta=delta)
        factor = bound - _ROUNDING * (1.0 + abs(bound))
        return factor if factor > 1.0 else None

    def e_value(self, margin: float) -> float:
        if self.is_cost:
            if margin > 1.0:
                return 0.0  # no cost can fall by so much
            log = self.gain.log_e_value(1.0 - margin, "second")
        elif margin < -1.0 - _ROUNDING:
            return math.exp(_LARGEST_LOG)  # no blend can be so much worse
        else:
            # At exactly that, what is blended may earn nothing at all, which any reward of it refutes.
            log = self.gain.log_e_value(1.0 / max(1.0 + margin, _LEAST_SCALE), "first")
        return math.exp(min(log, _LARGEST_LOG))
