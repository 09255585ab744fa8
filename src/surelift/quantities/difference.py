"""The difference of any two policies, on the same rounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.arrays import FloatArray
from surelift.policies.policy import Limits
from surelift.quantities.quantity import Predicted, Weights


@dataclass(frozen=True, slots=True)
class Difference:
    """w r + w' (1 - r) - 1, whose mean is at most V(candidate) - V(over); swap the two to bound it from above."""

    paired: ClassVar[bool] = True
    padding: ClassVar[float] = 0.0
    control_shares: ClassVar[tuple[float, ...]] = (0.0, 0.5, 1.0)
    over: str

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].excess * reward + weights[self.over].excess * (1.0 - reward)

    def earned(self, reward: FloatArray) -> FloatArray:
        return reward

    def offset(self, candidate: str, limits: Mapping[str, Limits]) -> float:
        # A share r of one excess and 1 - r of the other is never below the lower of the two.
        return max(limits[candidate].drop, limits[self.over].drop)

    def taken_off(self, candidate: str, share: float, predicted: Predicted) -> Mapping[str, float | FloatArray]:
        if predicted is None:
            return {candidate: share, self.over: 1.0 - share}
        return {candidate: share * predicted, self.over: share * (1.0 - predicted)}

    def counted_from(self, limits: Limits) -> float:
        return 1.0 - limits.drop

    def control_caps(self, cap: float, offset: float) -> tuple[float, float]:
        return cap, offset + cap

    def offset_without(self, candidate: str, taken_off: Mapping[str, float], limits: Mapping[str, Limits]) -> float:
        # At r = 1 the candidate's smallest weight with the other's largest is worst, at r = 0 the other way round.
        own, other = limits[candidate], limits[self.over]
        share, rest = taken_off[candidate], taken_off[self.over]
        return max((1.0 - share) * own.drop + rest * other.rise, share * own.rise + (1.0 - rest) * other.drop)
