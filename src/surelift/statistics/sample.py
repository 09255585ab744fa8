"""A sample of the rounds: propensities and every policy's probabilities, for simulation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.kernels.columns import scramble
from surelift.statistics.groups import Groups
from surelift.statistics.splits import row_numbers
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class SampledRounds:
    """The rounds whose numbers have the smallest hashes, ``most`` of them: rows are hash, propensity, probabilities."""

    rows: FloatArray
    most: int

    def __add__(self, other: "SampledRounds") -> "SampledRounds":
        both = np.concatenate([self.rows, other.rows], axis=1)
        return SampledRounds(both[:, np.argsort(both[0], kind="stable")[: self.most]], self.most)


@dataclass(frozen=True, slots=True)
class Sample(Statistic):
    label: ClassVar[str] = "a sample of the rounds"
    candidates: tuple[str, ...]
    most: int

    def of(self, batch: Batch, groups: Groups) -> Sequence[SampledRounds]:
        hashes = scramble(row_numbers(batch)).astype(np.float64)
        probabilities = [batch.policies[name].logged for name in self.candidates]
        rows = np.stack([hashes, batch.propensity, *probabilities], axis=1)
        nothing = SampledRounds(np.zeros((rows.shape[1], 0)), self.most)
        return [nothing + SampledRounds(part.T, self.most) for part in groups.split(rows)]

    def encode(self, state: Any) -> Any:
        return state.rows.tolist()

    def decode(self, content: Any) -> Any:
        return SampledRounds(np.array(content), self.most)
