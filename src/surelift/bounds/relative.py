r"""By how many per cent is one value above another? A bound on their ratio, made without dividing one bound by another.

To claim that V exceeds g times V', its opposite is refuted: were V at most g V', the mean of z = X/g + Y would be at most 1,
with X = w r and Y = 1 - r (or w' (1 - r)). The evidence against it,

.. math:: e = \sum_j p_j \prod_i \frac{1 + \lambda_j z_i}{1 + \lambda_j},

falls with g, so that the claims that are certified form an interval. All six claims, on rewards and on costs, scale one of
two parts of z by a number s: those of :class:`~surelift.statistics.weight_table.WeightTable`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surelift.arrays import FloatArray
from surelift.bounds.mixture import root, rounded_down
from surelift.statistics.plan import Component
from surelift.statistics.weight_table import Side, WeightCells

Part = Literal["first", "second"]
"""Which of the two parts of z a claim scales."""
# Of log sums, relative to their size; it is taken off the evidence.
ROUNDING = 1e-14
_FARTHEST = 2.0**40
_STEPS, _TOLERANCE = 100, 1e-12
# Components with so much less evidence than the best, as logarithms, are left out: evidence that is left out only lowers it.
_NEAR, _NEGLIGIBLE = 3.0, 30.0


@dataclass(frozen=True, slots=True, eq=False)
class RatioEvidence:
    """The evidence of one side, as a function of the scale of a part of z."""

    first: FloatArray
    second: FloatArray
    rounds: FloatArray
    """At every corner of the table."""
    units: int
    """All of them, also those that sampling dropped."""
    smoothings: FloatArray
    log_prior: FloatArray

    @classmethod
    def of(cls, cells: WeightCells, side: Side, components: tuple[Component, ...], *, units: int) -> "RatioEvidence":
        """With the plain components of a bound, their smoothings in units of what a term can fall by."""
        plain = [part for part in components if part.control is None]
        prior = np.array([part.prior for part in plain])
        smoothings = np.array([part.smoothing * part.offset for part in plain])
        return cls(*cells.pairs(side), cells.rounds, units, smoothings, np.log(prior / prior.sum()))

    def log_sums(self, scale: float, part: Part) -> FloatArray:
        scaled, other = (self.first, self.second) if part == "first" else (self.second, self.first)
        return np.asarray(np.log1p(self.smoothings[:, None] * (scale * scaled + other)) @ self.rounds)

    def _exponents(self, scale: float, part: Part) -> FloatArray:
        sums, shrunk = self.log_sums(scale, part), self.units * np.log1p(self.smoothings)
        return np.asarray(self.log_prior + sums - shrunk - ROUNDING * (sums + shrunk))

    def log_e_value(self, scale: float, part: Part) -> float:
        """The logarithm of the evidence, rounded down."""
        return float(np.logaddexp.reduce(self._exponents(scale, part)))

    def least_scale(self, part: Part, *, delta: float) -> float:
        """The smallest scale with evidence of 1/delta, rounded up; infinite where none has it."""
        target = math.log(1.0 / delta)
        bracket = _bracket(lambda scale: self.log_e_value(scale, part) - target)
        if bracket is None:
            return math.inf
        low, high = _met(lambda scale: self.log_e_value(scale, part) - target, *bracket, close=_NEAR)
        # Every component falls with the scale, so what is negligible here stays so down to the scale looked for.
        exponents = self._exponents(high, part)
        few = self._without(exponents < exponents.max() - _NEGLIGIBLE)
        return _met(lambda scale: few.log_e_value(scale, part) - target, low, high, close=0.0)[1]

    def _without(self, negligible: FloatArray) -> "RatioEvidence":
        kept = ~np.asarray(negligible, dtype=np.bool_)
        return RatioEvidence(self.first, self.second, self.rounds, self.units, self.smoothings[kept], self.log_prior[kept])

    def mean_bound(self, *, delta: float) -> float:
        """A lower bound on the mean of z, with both parts as they are."""
        weighted = self.log_prior + self.log_sums(1.0, "first") * (1.0 - ROUNDING)
        offsets = np.zeros(len(weighted))
        target = math.log(1.0 / delta)
        return rounded_down(root(weighted, self.smoothings, offsets, rounds=self.units, target=target, floor=0.0))


def _bracket(excess: Callable[[float], float]) -> tuple[float, float] | None:
    """Two scales with too little and enough evidence, which rises with the scale; None where none has enough."""
    step, found = 0.02, 1.0
    if excess(1.0) >= 0.0:
        while found > 1.0 / _FARTHEST:
            last, found = found, found / (1.0 + step)
            if excess(found) < 0.0:
                return found, last
            step *= 4.0
        return 1.0 / _FARTHEST**2, found
    while found < _FARTHEST:
        last, found = found, found * (1.0 + step)
        if excess(found) >= 0.0:
            return last, found
        step *= 4.0
    return None


def _met(excess: Callable[[float], float], low: float, high: float, *, close: float) -> tuple[float, float]:
    """Two scales that are nearer to the one with just enough evidence: that of the second is enough, and in excess by no
    more than ``close`` unless the two are next to each other. By regula falsi (Illinois), in the logarithm of the scale.
    """
    below, above = excess(low), excess(high)
    enough = above
    if not below < 0.0 <= above:
        return low, high
    for _ in range(_STEPS):
        if enough <= close or high <= low * (1.0 + _TOLERANCE):
            break
        share = above / (above - below)
        tried = low**share * high ** (1.0 - share)
        found = excess(tried)
        if found >= 0.0:
            above, below, high, enough = found, below / 2.0, tried, found
        else:
            above, below, low = above / 2.0, found, tried
    return low, high
