"""What each single smoothing would have given."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.results.result import Result


@dataclass(frozen=True, slots=True, repr=False)
class Profile(Result):
    """The lower bound on an improvement by each smoothing of the grid, had it been the only one, fixed beforehand.

    The best of them was not known beforehand: it is a picture, and only ``lower`` is a bound.
    """

    policy: str
    over: str
    estimate: float
    lower: float
    """Of the mixture, which did not have to know the best smoothing."""
    smoothings: tuple[float, ...]
    bounds: tuple[float, ...]
    delta: float
    rounds: int
    doubts: tuple[str, ...]

    @property
    def best(self) -> tuple[float, float]:
        """The smoothing that would have been best, and its bound."""
        place = int(np.argmax(self.bounds))
        return self.smoothings[place], self.bounds[place]

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "over": self.over, "estimate": self.estimate, "lower": self.lower,
            "smoothings": list(self.smoothings), "bounds": list(self.bounds), "delta": self.delta, "rounds": self.rounds,
            "doubts": list(self.doubts),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        pairs = zip(self.smoothings, self.bounds, strict=True)
        return [{"policy": self.policy, "smoothing": smoothing, "lower": bound} for smoothing, bound in pairs]
