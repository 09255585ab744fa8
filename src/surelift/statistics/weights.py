"""The health of one policy's weights: their sum, their squares, the largest, and the mass production cannot reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.kernels.sums import group_extremes, group_sums
from surelift.quantities.prefixes import in_sequence
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic
from surelift.statistics.units import Units


@dataclass(frozen=True, slots=True)
class WeightSums:
    total: float = 0.0
    squares: float = 0.0
    largest: float = 0.0
    unsupported: float | None = 0.0
    """Summed probability of actions that production could not take; None where the vectors are not known."""

    def __add__(self, other: "WeightSums") -> "WeightSums":
        unknown = self.unsupported is None or other.unsupported is None
        return WeightSums(
            self.total + other.total,
            self.squares + other.squares,
            max(self.largest, other.largest),
            None if unknown else (self.unsupported or 0.0) + (other.unsupported or 0.0),
        )


@dataclass(frozen=True, slots=True)
class PolicyWeights(Statistic):
    label: ClassVar[str] = "the sums of the weights"
    state: ClassVar[type] = WeightSums
    candidate: str

    def of(self, reading: Reading, groups: Groups) -> Sequence[WeightSums]:
        rounds, weight = reading.rounds, reading.weights[self.candidate].weight
        units = Units.of(rounds)
        logging, vectors = rounds.logging, reading.probabilities[self.candidate].vectors
        unsupported: Sequence[float | None] = [None] * len(groups)
        if logging is not None and vectors is not None:
            beyond = vectors.fold(np.add, np.where(logging.values == 0.0, vectors.values, 0.0), empty=0.0)
            unsupported = groups.units.sums(units.scaled_up(units.mean(beyond))).tolist()
        clusters = in_sequence(rounds)
        after = 1.0 if clusters is None else weight[clusters.starts[1:] - 1]
        scaled = units.scaled_up(units.mean(weight, padded_with=after))
        largest = group_extremes(weight, groups.sorted(rounds.size))[:, 1]
        totals, squares = group_sums(scaled, groups.units.sorted(units.count)).T
        return list(map(WeightSums, totals.tolist(), squares.tolist(), largest.tolist(), unsupported))
