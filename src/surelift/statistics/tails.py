"""The weights of one policy by their size, in powers of two, and the rounds with the largest."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, ClassVar

from surelift.batch import Batch
from surelift.kernels.sums import group_largest, group_sizes
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic

TOP = 5
# Weights from 2^-40 to 2^520.
SHIFT, BINS = 40, 560
Heavy = tuple[float, int, float, float | None]
"""A round's weight, row, propensity, and reward on [0, 1]; None without a label."""


@dataclass(frozen=True, slots=True)
class TailSums:
    bins: dict[int, tuple[float, float]] = field(default_factory=dict)
    """By the exponent of the weight: rounds, and their summed weight."""
    top: tuple[Heavy, ...] = ()

    def __add__(self, other: "TailSums") -> "TailSums":
        bins = dict(self.bins)
        for size, (rounds, weight) in other.bins.items():
            before = bins.get(size, (0.0, 0.0))
            bins[size] = (before[0] + rounds, before[1] + weight)
        return TailSums(bins, _largest([*self.top, *other.top]))

    def sizes(self) -> tuple[tuple[float, float, float], ...]:
        """For each power of two that weights stay below: it, the share of rounds and the share of the weight."""
        rounds, weight = self._totals()
        return tuple(
            (2.0 ** (size - SHIFT), count / rounds, total / weight) for size, (count, total) in sorted(self.bins.items())
        )

    def heaviest(self, most: float = 0.01) -> tuple[float, float]:
        """The share of rounds with the largest weights, at most ``most``, and the share of the weight they carry."""
        rounds, weight = self._totals()
        count = total = 0.0
        shares = (0.0, 0.0)
        for _, (in_bin, weight_in_bin) in sorted(self.bins.items(), reverse=True):
            count, total = count + in_bin, total + weight_in_bin
            if count / rounds > most:
                break
            shares = (count / rounds, total / weight)
        return shares

    def _totals(self) -> tuple[float, float]:
        rounds, weight = (sum(pair[column] for pair in self.bins.values()) for column in (0, 1))
        return max(rounds, 1.0), max(weight, 1e-300)


def _number(reward: float) -> float | None:
    """None of a round without a label."""
    return None if isnan(reward) else float(reward)


def _largest(rounds: Sequence[Heavy]) -> tuple[Heavy, ...]:
    return tuple(sorted(rounds, key=lambda heavy: (-heavy[0], heavy[1]))[:TOP])


@dataclass(frozen=True, slots=True)
class Tails(Statistic):
    label: ClassVar[str] = "the sizes of the weights"
    candidate: str

    def of(self, batch: Batch, groups: Groups) -> Sequence[TailSums]:
        weights, propensity, reward = batch.weights[self.candidate].weight, batch.propensity, batch.reward
        by_group = groups.sorted(batch.size)
        sizes = group_sizes(weights, by_group, shift=SHIFT, bins=BINS)
        return [
            TailSums(
                {size: (count, total) for size, (count, total) in enumerate(of_group.tolist()) if count},
                tuple(
                    (float(weights[k]), int(batch.rows.numbered[k]), float(propensity[k]), _number(reward[k]))
                    for k in places
                ),
            )
            for of_group, places in zip(sizes, group_largest(weights, by_group, TOP), strict=True)
        ]

    def encode(self, state: Any) -> Any:
        return [[[size, *pair] for size, pair in state.bins.items()], [list(heavy) for heavy in state.top]]

    def decode(self, content: Any) -> Any:
        bins, top = content
        return TailSums({int(size): (count, total) for size, count, total in bins}, tuple(map(tuple, top)))
