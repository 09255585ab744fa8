"""Two policies on the same rounds: the improvement over production, the decline that bounds it, and the difference."""

from collections.abc import Mapping
from dataclasses import dataclass

from surelift.arrays import FloatArray
from surelift.policies.policy import Limits
from surelift.quantities.quantity import Predicted, Quantity, Weights


@dataclass(frozen=True, slots=True)
class Gain(Quantity):
    """(w - 1) r, whose mean is at most V(candidate) - V(production)."""

    paired = True

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].excess * self.earned(reward)

    def offset(self, candidate: str, limits: Mapping[str, Limits]) -> float:
        return limits[candidate].drop

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


@dataclass(frozen=True, slots=True)
class Difference(Quantity):
    """w r + w' (1 - r) - 1, whose mean is at most V(candidate) - V(over); swap the two for an upper bound."""

    over: str
    paired = True
    control_shares = (0.0, 0.5, 1.0)

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].excess * reward + weights[self.over].excess * (1.0 - reward)

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
