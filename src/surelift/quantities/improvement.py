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

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].excess * reward

    def earned(self, reward: FloatArray) -> FloatArray:
        return reward

    def offset(self, candidate: str, largest_drops: Mapping[str, float]) -> float:
        return largest_drops[candidate]


@dataclass(frozen=True, slots=True)
class Decline:
    """(w - 1)(1 - r), whose mean is at most V(production) - V(candidate)."""

    paired: ClassVar[bool] = True

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].excess * self.earned(reward)

    def earned(self, reward: FloatArray) -> FloatArray:
        return 1.0 - reward

    def offset(self, candidate: str, largest_drops: Mapping[str, float]) -> float:
        return largest_drops[candidate]
