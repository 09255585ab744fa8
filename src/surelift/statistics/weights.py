"""The health of one policy's weights: their sum, their squares, the largest, and the mass production cannot reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.batch import Batch
from surelift.kernels.loop import LoopSums
from surelift.logs.units import Piece
from surelift.statistics.groups import Groups
from surelift.statistics.looped import Looped, Wanted


@dataclass(frozen=True, slots=True)
class WeightSums:
    total: float = 0.0
    squares: float = 0.0
    largest: float = 0.0
    unsupported: float | None = 0.0
    """Summed probability of actions that production could not take; None where the vectors are not known."""

    @property
    def effective_sample_size(self) -> float:
        """The number of equally weighted rounds that carry about as much information."""
        return self.total * self.total / self.squares if self.squares > 0.0 else 0.0

    def __add__(self, other: "WeightSums") -> "WeightSums":
        unknown = self.unsupported is None or other.unsupported is None
        return WeightSums(
            self.total + other.total,
            self.squares + other.squares,
            max(self.largest, other.largest),
            None if unknown else (self.unsupported or 0.0) + (other.unsupported or 0.0),
        )


@dataclass(frozen=True, slots=True)
class PolicyWeights(Looped):
    label: ClassVar[str] = "the sums of the weights"
    state: ClassVar[type] = WeightSums
    candidate: str

    def wanted(self, simple: bool) -> Sequence[Wanted]:
        return [Wanted((Piece(self.candidate, False, 1.0, 1.0),))]

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[WeightSums]:
        totals, squares, largest = sums.moments[:, places[0]].T.tolist()
        return list(map(WeightSums, totals, squares, largest, self._unsupported(batch, groups)))

    def _unsupported(self, batch: Batch, groups: Groups) -> Sequence[float | None]:
        vectors = batch.vectors_of(self.candidate)
        if vectors is None:
            return [None] * len(groups)
        logging = batch.decisions.logging
        assert logging is not None
        beyond = vectors.fold(np.add, np.where(logging.values == 0.0, vectors.values, 0.0), empty=0.0)
        found: list[float | None] = groups.units.sums(batch.scaled(batch.units.mean(beyond, 0.0))).tolist()
        return found
