"""What is kept of single rounds: the weights of a policy by their size, the heaviest of them, and a sample."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.kernels.columns import scramble
from surelift.kernels.sums import group_largest, group_sizes
from surelift.statistics.splits import row_numbers
from surelift.statistics.statistic import Groups, Statistic

TOP = 5
# Weights from 2^-40 to 2^520.
SHIFT, BINS = 40, 560
Heavy = tuple[float, int, float, float | None]
"""A round's weight, row, propensity, and reward on [0, 1], which is None without a label."""


@dataclass(frozen=True, slots=True)
class TailSums:
    bins: dict[int, tuple[float, float]] = field(default_factory=dict)
    """The rounds and their summed weight, by the exponent of the weight."""
    top: tuple[Heavy, ...] = ()

    def __add__(self, other: "TailSums") -> "TailSums":
        bins = dict(self.bins)
        for size, (rounds, weight) in other.bins.items():
            before = bins.get(size, (0.0, 0.0))
            bins[size] = (before[0] + rounds, before[1] + weight)
        heaviest = sorted([*self.top, *other.top], key=lambda heavy: (-heavy[0], heavy[1]))
        return TailSums(bins, tuple(heaviest[:TOP]))

    def sizes(self) -> tuple[tuple[float, float, float], ...]:
        """Each power of two that weights stay below, with the share of rounds and the share of the weight."""
        (rounds, weight), bins = self._totals(), sorted(self.bins.items())
        return tuple((2.0 ** (size - SHIFT), count / rounds, total / weight) for size, (count, total) in bins)

    def heaviest(self, most: float = 0.01) -> tuple[float, float]:
        """The share of rounds with the largest weights, at most ``most``, and the share of the weight they carry."""
        (rounds, weight), count, total = self._totals(), 0.0, 0.0
        for _, (in_bin, weight_in_bin) in sorted(self.bins.items(), reverse=True):
            if (count + in_bin) / rounds > most:
                break
            count, total = count + in_bin, total + weight_in_bin
        return count / rounds, total / weight

    def _totals(self) -> tuple[float, float]:
        rounds, weight = (sum(pair[column] for pair in self.bins.values()) for column in (0, 1))
        return max(rounds, 1.0), max(weight, 1e-300)


@dataclass(frozen=True, slots=True)
class Tails(Statistic):
    label: ClassVar[str] = "the sizes of the weights"
    candidate: str

    def of(self, batch: Batch, groups: Groups) -> Sequence[TailSums]:
        weights, by_group = batch.weights[self.candidate].weight, groups.sorted(batch.size)
        columns, states = (weights, batch.rows.numbered, batch.propensity, batch.reward), []
        tops = group_largest(weights, by_group, TOP)
        for sizes, places in zip(group_sizes(weights, by_group, shift=SHIFT, bins=BINS), tops, strict=True):
            bins = {size: (count, total) for size, (count, total) in enumerate(sizes.tolist()) if count}
            rows = zip(*(column[places].tolist() for column in columns), strict=True)
            states.append(TailSums(bins, tuple((*row, None if isnan(reward) else reward) for *row, reward in rows)))
        return states

    def encode(self, state: Any) -> Any:
        return [[[size, *pair] for size, pair in state.bins.items()], [list(heavy) for heavy in state.top]]

    def decode(self, content: Any) -> Any:
        bins, top = content
        return TailSums({int(size): (count, total) for size, count, total in bins}, tuple(map(tuple, top)))


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
