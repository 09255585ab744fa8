"""The difference between two policies, on the same rounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.arrays import FloatArray
from surelift.policies.policy import Limits
from surelift.quantities.quantity import Predicted, Weights


@dataclass(frozen=True, slots=True)
class Difference:
    """w r + w' (1 - r) - 1, whose mean is at most V(candidate) - V(over); swap the two for an upper bound."""

    paired: ClassVar[bool] = True
    padding: ClassVar[float] = 0.0
    control_shares: ClassVar[tuple[float, ...]] = (0.0, 0.5, 1.0)
    over: str

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].excess * reward + weights[self.over].excess * (1.0 - reward)

    def earned(self, reward: FloatArray) -> FloatArray:
        return reward

    def offset(self, candidate: str, limits: Mapping[str, Limits]) -> float:
        # A weighted average of two excesses is never below the smaller one.
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
        # At r = 1 the worst case is the candidate's smallest weight with the other's largest, at r = 0 the reverse.
        new, over = limits[candidate], limits[self.over]
        share, rest = taken_off[candidate], taken_off[self.over]
        return max((1.0 - share) * new.drop + rest * over.rise, share * new.rise + (1.0 - rest) * over.drop)
