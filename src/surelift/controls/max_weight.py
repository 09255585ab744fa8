r"""Control by a known largest weight: weights average to 1, and none exceeds W.

Where production can take every action of the policy, w - 1 has mean zero, and phi = w r - rho (w - 1) the mean of w r; and
phi >= -rho (W - 1). It needs the logged probabilities only, and a W that follows from how the policy is built. Without
full support it would be false, not loose: a policy that gives no action more than W times its chance in production has it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray
from surelift.quantities import Weights


@dataclass(frozen=True, slots=True)
class MaxWeightControl:
    """The share of each policy's weights minus 1 that is taken off."""

    shares: tuple[tuple[str, float], ...]

    def adjustment(self, weights: Mapping[str, Weights]) -> FloatArray:
        return sum((-share * weights[name].excess for name, share in self.shares), start=np.zeros(1))
