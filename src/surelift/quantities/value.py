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

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].weight * reward

    def earned(self, reward: FloatArray) -> FloatArray:
        return reward

    def offset(self, candidate: str, largest_drops: Mapping[str, float]) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class Shortfall:
    """w (1 - r), whose mean is at most 1 - V: a lower bound on it is an upper bound on V."""

    paired: ClassVar[bool] = False

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].weight * self.earned(reward)

    def earned(self, reward: FloatArray) -> FloatArray:
        return 1.0 - reward

    def offset(self, candidate: str, largest_drops: Mapping[str, float]) -> float:
        return 0.0
