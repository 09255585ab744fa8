"""The difference of any two policies, on the same rounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.arrays import FloatArray
from surelift.quantities.quantity import Weights


@dataclass(frozen=True, slots=True)
class Difference:
    """w r + w' (1 - r) - 1, whose mean is at most V(candidate) - V(over); swap the two to bound it from above."""

    paired: ClassVar[bool] = True
    control_shares: ClassVar[tuple[float, ...]] = (0.0, 0.5, 1.0)
    over: str

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].excess * reward + weights[self.over].excess * (1.0 - reward)

    def earned(self, reward: FloatArray) -> FloatArray:
        return reward

    def controlled(self, candidate: str, share: float) -> Mapping[str, float]:
        return {candidate: share, self.over: 1.0 - share}

    def control_caps(self, cap: float, share: float, offset: float) -> tuple[float, float]:
        return cap, 1.0 + cap

    def offset(self, candidate: str, largest_drops: Mapping[str, float]) -> float:
        # A share r of one excess and 1 - r of the other is never below the lower of the two.
        return max(largest_drops[candidate], largest_drops[self.over])
