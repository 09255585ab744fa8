"""The value of a policy, and its shortfall from the best possible: what bounds it from below and from above."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.arrays import FloatArray
from surelift.quantities.quantity import Weights


@dataclass(frozen=True, slots=True)
class Value:
    """w r, whose mean is at most the value V, and equal to it where production could play every action."""

    paired: ClassVar[bool] = False
    control_shares: ClassVar[tuple[float, ...]] = (0.5, 1.0)

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].weight * self.earned(reward)

    def earned(self, reward: FloatArray) -> FloatArray:
        return reward

    def controlled(self, candidate: str, share: float) -> Mapping[str, float]:
        return {candidate: share}

    def control_caps(self, cap: float, share: float, offset: float) -> tuple[float, float]:
        return cap, cap

    def offset(self, candidate: str, largest_drops: Mapping[str, float]) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class Shortfall(Value):
    """w (1 - r), whose mean is at most 1 - V: a lower bound on it is an upper bound on V."""

    def earned(self, reward: FloatArray) -> FloatArray:
        return 1.0 - reward
