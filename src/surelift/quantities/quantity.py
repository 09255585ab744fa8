"""The quantity protocol: one number per round, and the offset that makes it nonnegative."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from surelift.arrays import FloatArray
from surelift.policies.policy import Limits

Predicted = FloatArray | None
"""A reward model's predictions for some actions, on [0, 1]; None without a model."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A policy's importance weights of the logged actions."""

    weight: FloatArray
    excess: FloatArray
    """The weight minus 1, computed without the rounding of that subtraction."""


class Quantity(Protocol):
    """Frozen and hashable: a quantity is part of the key of its sums."""

    paired: ClassVar[bool] = False
    """Whether two policies are compared round by round, which needs another grid."""
    control_shares: ClassVar[tuple[float, ...]] = (0.5, 1.0)
    """The shares of the weight that control may subtract."""
    padding: ClassVar[float] = 0.0
    """Its value for a padded round of a cluster, where every policy acts like production and the reward is 0."""

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        """The number of each round; given the past, its mean is at most the target of the bound."""
        ...

    def earned(self, reward: FloatArray) -> FloatArray:
        """The part of the reward the quantity is about: the reward, or 1 minus the reward."""
        return reward

    def offset(self, candidate: str, limits: Mapping[str, Limits]) -> float:
        """How far below zero a term can be."""
        ...

    def taken_off(self, candidate: str, share: float, predicted: Predicted) -> Mapping[str, float | FloatArray]:
        """The share of each policy's weight that control subtracts, possibly times the predicted reward."""
        return {candidate: share if predicted is None else share * self.earned(predicted)}

    def counted_from(self, limits: Limits) -> float:
        """The origin from which control measures a weight: 0, or the smallest possible weight."""
        ...

    def control_caps(self, cap: float, offset: float) -> tuple[float, float]:
        """Turn a desired cap into the cap used and the offset a controlled term then needs."""
        ...

    def offset_without(self, candidate: str, taken_off: Mapping[str, float], limits: Mapping[str, Limits]) -> float:
        """How far below zero a term can be after subtracting these shares of the excess weights."""
        ...
