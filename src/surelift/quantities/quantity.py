"""What every quantity is: a number a round, and the offset that makes it nonnegative."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from surelift.arrays import FloatArray
from surelift.policies.policy import Limits

Predicted = FloatArray | None
"""What a reward model says of some actions, on [0, 1]; None where there is no model."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much more often than production one policy takes the logged actions."""

    weight: FloatArray
    excess: FloatArray
    """The weight minus 1, without the rounding of that subtraction."""


class Quantity(Protocol):
    """Frozen and hashable: a quantity is part of the key under which its sums are kept."""

    paired: ClassVar[bool]
    """Whether two policies are compared round by round, which asks for another grid."""

    control_shares: ClassVar[tuple[float, ...]]
    """The shares of the weight that control may take off."""

    padding: ClassVar[float]
    """Its number for a round that a cluster never had: there every policy does as production does, and nothing is earned."""

    def terms(self, candidate: str, weights: Mapping[str, Weights], reward: FloatArray) -> FloatArray:
        """The number of each round; given the past, its mean is at most what is to be bounded."""
        ...

    def earned(self, reward: FloatArray) -> FloatArray:
        """What of the reward the quantity is about: the reward, or what it falls short of 1."""
        ...

    def offset(self, candidate: str, limits: Mapping[str, Limits]) -> float:
        """How far below zero a term can be."""
        ...

    def taken_off(self, candidate: str, share: float, predicted: Predicted) -> Mapping[str, float | FloatArray]:
        """Whose weights a control takes off, and how much of each: a share, or a share of the predicted reward."""
        ...

    def counted_from(self, limits: Limits) -> float:
        """From where up a control takes off a weight: from 0, or from the smallest it can be."""
        ...

    def control_caps(self, cap: float, offset: float) -> tuple[float, float]:
        """From a wanted cap to the cap used, and the offset that a controlled term then needs."""
        ...

    def offset_without(self, candidate: str, taken_off: Mapping[str, float], limits: Mapping[str, Limits]) -> float:
        """How far below zero a term can be once these shares of the weights minus 1 are taken off."""
        ...
