"""The improvement over production on the same rounds, and the decline that bounds it from above."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.arrays import FloatArray
from surelift.policies.policy import Limits
from surelift.quantities.quantity import Predicted, Weights


@dataclass(frozen=True, slots=True)
class Gain:
    """(w - 1) r, whose mean is at most V(candidate) - V(production)."""

    paired: ClassVar[bool] = True
    padding: ClassVar[float] = 0.0
    control_shares: ClassVar[tuple[float, ...]] = (0.5, 1.0)

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].excess * self.earned(reward)

    def earned(self, reward: FloatArray) -> FloatArray:
        return reward

    def offset(self, candidate: str, limits: Mapping[str, Limits]) -> float:
        return limits[candidate].drop

    def taken_off(self, candidate: str, share: float, predicted: Predicted) -> Mapping[str, float | FloatArray]:
        return {candidate: share if predicted is None else share * self.earned(predicted)}

    def counted_from(self, limits: Limits) -> float:
        return 1.0 - limits.drop

    def control_caps(self, cap: float, offset: float) -> tuple[float, float]:
        # If t is at most w - w_min, (w - 1) r - t is at least -(1 - w_min) at r = 1, and at least -t at r = 0.
        return max(cap, offset), max(cap, offset)

    def offset_without(self, candidate: str, taken_off: Mapping[str, float], limits: Mapping[str, Limits]) -> float:
        # (w - 1)(r - share): the worst case is the smallest weight at r = 1, and the largest at r = 0.
        share, candidate_limits = taken_off[candidate], limits[candidate]
        return max((1.0 - share) * candidate_limits.drop, share * candidate_limits.rise)


@dataclass(frozen=True, slots=True)
class Decline(Gain):
    """(w - 1)(1 - r), whose mean is at most V(production) - V(candidate)."""

    def earned(self, reward: FloatArray) -> FloatArray:
        return 1.0 - reward
