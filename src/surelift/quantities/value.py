"""The value of a policy, bounded from below, and its shortfall from 1, which bounds it from above."""

from collections.abc import Mapping
from dataclasses import dataclass

from surelift.arrays import FloatArray
from surelift.policies.policy import Limits
from surelift.quantities.quantity import Quantity, Weights


@dataclass(frozen=True, slots=True)
class Value(Quantity):
    """w r, whose mean is at most the value V, and equal to it if production supports every action."""

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        return weights[candidate].weight * self.earned(reward)

    def offset(self, candidate: str, limits: Mapping[str, Limits]) -> float:
        return 0.0

    def counted_from(self, limits: Limits) -> float:
        return 0.0

    def control_caps(self, cap: float, offset: float) -> tuple[float, float]:
        return cap, cap

    def offset_without(self, candidate: str, taken_off: Mapping[str, float], limits: Mapping[str, Limits]) -> float:
        return taken_off[candidate] * limits[candidate].rise


@dataclass(frozen=True, slots=True)
class Shortfall(Value):
    """w (1 - r), whose mean is at most 1 - V: a lower bound on it is an upper bound on V."""

    padding = 1.0

    def earned(self, reward: FloatArray) -> FloatArray:
        return 1.0 - reward
