"""What every quantity is: a number a round, and the offset that makes it nonnegative."""

from collections.abc import Mapping
from typing import ClassVar, Protocol

from surelift.arrays import FloatArray


class Quantity(Protocol):
    """Frozen and hashable: a quantity is part of the key under which its sums are kept."""

    paired: ClassVar[bool]
    """Whether two policies are compared round by round, which asks for another grid."""

    def terms(self, candidate: str, weights: Mapping[str, FloatArray], reward: FloatArray) -> FloatArray:
        """The number of each round; given the past, its mean is at most what is to be bounded."""
        ...

    def offset(self, candidate: str, smallest_weights: Mapping[str, float]) -> float:
        """How far below zero a term can be, given what the weights cannot fall below."""
        ...
