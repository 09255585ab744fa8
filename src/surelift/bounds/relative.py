r"""Bounds on the ratio of two values, made without dividing one bound by another.

To claim that V exceeds g times V', its opposite is refuted: were V at most g V', the mean of z = X/g + Y would be at most 1,
with X = w r and Y = 1 - r (or w' (1 - r)). The evidence against it,

.. math:: e = \sum_j p_j \prod_i \frac{1 + \lambda_j z_i}{1 + \lambda_j},

falls with g, so that the claims that are certified form an interval. All six claims, on rewards and on costs, scale one of
two parts of z by a number s: those of :class:`~surelift.statistics.weight_table.WeightTable`.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from surelift.arrays import FloatArray
from surelift.bounds.bound import rounded_down
from surelift.bounds.mixture import root
from surelift.statistics.plan import Component
from surelift.statistics.weight_table import Side, WeightCells

Part = Literal["first", "second"]
"""Which of the two parts of z a claim scales."""
# Of log sums, relative to their size; it is taken off the evidence.
ROUNDING = 1e-14
# No logarithm of a scale is looked for beyond this one.
_FARTHEST = math.log(81704290213807.25)
# Newton's steps end with one of at most the tolerance, and the scale found is rounded up by a little more.
_STEPS, _TOLERANCE, _ROUNDED_UP = 100, 1e-13, 4e-13
# Components with so much less evidence than is needed, as a logarithm, are left out, which only lowers it.
_NEGLIGIBLE = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class RatioEvidence:
    """The evidence of one side, as a function of the scale of a part of z."""

    first: FloatArray
    second: FloatArray
    rounds: FloatArray
    units: int
    """All rounds, also those that sampling dropped."""
    smoothings: FloatArray
    log_prior: FloatArray

    @classmethod
    def of(cls, cells: WeightCells, side: Side, components: tuple[Component, ...], *, units: int) -> "RatioEvidence":
        """The evidence by the plain components of a bound, their smoothings in units of what a term can fall by."""
        plain = [(part.prior, part.smoothing * part.offset) for part in components if part.control is None]
        prior, smoothings = np.array(plain).T
        return cls(*cells.pairs(side), cells.rounds, units, smoothings, np.log(prior / prior.sum()))

    def log_e_value(self, scale: float, part: Part) -> float:
        return float(np.logaddexp.reduce(self._of_components(scale, part)[0]))

    def least_scale(self, part: Part, *, delta: float) -> float:
        """The smallest scale with evidence of 1/delta, rounded up; infinite where none has it.

        A factor is a + b exp(u) in the logarithm u of the scale, so the log evidence is convex in it and rises. Newton's
        steps therefore come down to the root from above, after one step at most from below.
        """
        few, target, log_scale, least, crossed = self, math.log(1.0 / delta), 0.0, math.inf, False
        for _ in range(_STEPS):
            exponents, slopes = few._of_components(math.exp(log_scale), part)
            log_e_value = float(np.logaddexp.reduce(exponents))
            slope = float(np.exp(exponents - log_e_value) @ slopes)
            step = (log_e_value - target) / max(slope, 1e-300)
            if step >= 0.0:
                least = math.exp(log_scale)
                if crossed or step <= _TOLERANCE or log_scale <= -_FARTHEST:
                    break
                # Every component falls with the scale, so what is negligible here stays so down to the root.
                kept = exponents > target - _NEGLIGIBLE
                few = replace(few, smoothings=few.smoothings[kept], log_prior=few.log_prior[kept])
            elif log_scale >= _FARTHEST:
                break
            else:
                # Rounding alone takes a step from above to below the root, and may keep one there.
                crossed, step = least < math.inf, step - _TOLERANCE / 2.0
            log_scale = min(max(log_scale - step, -_FARTHEST), _FARTHEST)
        return least * (1.0 + _ROUNDED_UP)

    def mean_bound(self, *, delta: float) -> float:
        """A lower bound on the mean of z, with both parts as they are."""
        sums = np.log1p(self.smoothings[:, None] * (self.first + self.second)) @ self.rounds
        weighted, offsets = self.log_prior + sums * (1.0 - ROUNDING), np.zeros(len(sums))
        mean = root(weighted, self.smoothings, offsets, rounds=self.units, target=math.log(1.0 / delta), floor=0.0)
        return rounded_down(mean)

    def _of_components(self, scale: float, part: Part) -> tuple[FloatArray, FloatArray]:
        """The log evidence of every component with its prior, rounded down; its slope in the logarithm of the scale."""
        scaled, other = (self.first, self.second) if part == "first" else (self.second, self.first)
        smoothings, scaled = self.smoothings[:, None], scale * scaled
        growth = smoothings * (scaled + other)
        sums, shrunk = np.log1p(growth) @ self.rounds, self.units * np.log1p(self.smoothings)
        slopes = (smoothings * scaled / (1.0 + growth)) @ self.rounds
        return np.asarray(self.log_prior + sums - shrunk - ROUNDING * (sums + shrunk)), np.asarray(slopes)
