"""The difference of any two policies, on the same rounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Difference:
    """w r + w' (1 - r) - 1, whose mean is at most V(candidate) - V(over); swap the two to bound it from above."""

    paired: ClassVar[bool] = True
    over: str

    def terms(self, candidate: str, weights: Mapping[str, FloatArray], reward: FloatArray) -> FloatArray:
        return weights[candidate] * reward + weights[self.over] * (1.0 - reward) - 1.0

    def offset(self, candidate: str, smallest_weights: Mapping[str, float]) -> float:
        # r times one weight and 1 - r times the other is never below the smaller of the two.
        return 1.0 - min(smallest_weights[candidate], smallest_weights[self.over])
