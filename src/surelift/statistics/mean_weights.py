r"""Bets that the mean weight of a policy is not 1, where the smallest and the largest weight were declared.

With right propensities, and production able to take every action of the policy, E[w] = 1 given the past. Where w - 1 lies
in [-drop, rise], each factor 1 + beta (w - 1) with beta in [-1/rise, 1/drop] is nonnegative and has mean 1, so their
product, mixed over beta = 2^-j/drop and -2^-j/rise, is evidence in both directions. A cluster is one factor, made from its
mean weight, which lies in the same range and has mean 1 too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.kernels.log_products import log_products
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic

HALVINGS = 10


@dataclass(frozen=True, slots=True)
class MeanWeight(Statistic):
    """The state is an array: the logarithm of each bet's wealth, the number of units, and their summed w - 1."""

    label: ClassVar[str] = "the test of a largest weight"
    candidate: str
    drop: float
    rise: float

    @property
    def rates(self) -> FloatArray:
        halves = 0.5 ** np.arange(1, HALVINGS + 1)
        return np.concatenate([halves / self.drop, -halves / self.rise])

    def of(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        units = batch.units
        excess = units.mean(batch.weights[self.candidate].excess, 0.0)
        won = log_products(excess, self.rates, groups.units.sorted(units.count))
        counts, totals = groups.units.counts(units.count), groups.units.sums(excess)
        # Where vectors and propensities differ a little, the mean of right weights is that far from 1.
        slack = batch.policies[self.candidate].short_of_one + float(batch.overstated.max(initial=0.0))
        return list(np.column_stack([won - slack * np.outer(counts, np.abs(self.rates)), counts, totals]))
