"""The improvement over production, on the same rounds, and the decline that bounds it from above."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.arrays import FloatArray
from surelift.quantities.quantity import Weights


@dataclass(frozen=True, slots=True)
class Improvement:
    """(w - 1) r, whose mean is at most V(candidate) - V(production)."""

    paired: ClassVar[bool] = True
    control_shares: ClassVar[tuple[float, ...]] = (0.5, 1.0)

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].excess * self.earned(reward)

    def earned(self, reward: FloatArray) -> FloatArray:
        return reward

    def controlled(self, candidate: str, share: float) -> Mapping[str, float]:
        return {candidate: share}

    def control_caps(self, cap: float, share: float, offset: float) -> tuple[float, float]:
        # At least a share of the smallest weight is always given back, so the cap may be as much larger.
        floor = max(cap, offset)
        return floor + share * (1.0 - offset), floor

    def offset(self, candidate: str, largest_drops: Mapping[str, float]) -> float:
        return largest_drops[candidate]


@dataclass(frozen=True, slots=True)
class Decline(Improvement):
    """(w - 1)(1 - r), whose mean is at most V(production) - V(candidate)."""

    def earned(self, reward: FloatArray) -> FloatArray:
        return 1.0 - reward
