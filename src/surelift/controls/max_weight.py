r"""Control by a known maximum weight: weights average to 1, and none exceeds W.

If production supports every action of the policy, w - 1 has mean zero, so phi = w r - rho (w - 1) has the mean of w r, and
phi >= -rho (W - 1). It needs only the logged probabilities, and a W that follows from how the policy is built. Without
full support it would be false, not loose; giving no action more than W times production's probability ensures it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray
from surelift.quantities import Weights


@dataclass(frozen=True, slots=True)
class MaxWeightControl:
    """The share of each policy's excess weight (the weight minus 1) that is subtracted."""

    shares: tuple[tuple[str, float], ...]

    def adjustment(self, weights: Mapping[str, Weights]) -> FloatArray:
        return sum((-share * weights[name].excess for name, share in self.shares), start=np.zeros(1))
