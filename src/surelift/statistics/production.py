"""What production itself did: its rewards, its smallest propensity, how rounds were sampled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.kernels.loop import LoopSums
from surelift.kernels.sums import group_extremes, group_sums
from surelift.statistics.groups import Groups
from surelift.statistics.looped import Looped, Wanted
from surelift.statistics.statistic import Statistic

INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class ProductionSums:
    rewards: float = 0.0
    """On [0, 1], one for each unit."""
    smallest_propensity: float = INFINITE
    largest_slack: float = 0.0
    """By how much, relatively, a propensity exceeded its entry in production's vector."""
    largest_shortfall: float = 0.0
    """By how much, at most, the vectors of a policy fall short of summing to 1."""
    smallest_keep: float = INFINITE
    """The smallest probability with which a round was kept, where the log was sampled."""
    largest_keep: float = 0.0

    def __add__(self, other: "ProductionSums") -> "ProductionSums":
        return ProductionSums(
            self.rewards + other.rewards,
            min(self.smallest_propensity, other.smallest_propensity),
            max(self.largest_slack, other.largest_slack),
            max(self.largest_shortfall, other.largest_shortfall),
            min(self.smallest_keep, other.smallest_keep),
            max(self.largest_keep, other.largest_keep),
        )


@dataclass(frozen=True, slots=True)
class ProductionTotals(Looped):
    label: ClassVar[str] = "what production earned"
    state: ClassVar[type] = ProductionSums

    def wanted(self, simple: bool) -> Sequence[Wanted]:
        return [Wanted((), (0.0, 1.0))]

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[ProductionSums]:
        totals, slack, kept = (
            sums.moments[:, places[0], 0],
            np.zeros(len(groups)),
            np.tile([INFINITE, 0.0], (len(groups), 1)),
        )
        if batch.keep is not None:
            kept = group_extremes(batch.keep, groups.units.sorted(batch.units.count))
        if batch.is_read and batch.shares is not None:
            slack = group_extremes(batch.overstated, groups.units.sorted(batch.units.count))[:, 1]
        shortfall = max((found.short_of_one for found in batch.policies.values()), default=0.0) if batch.is_read else 0.0
        columns = zip(totals.tolist(), sums.smallest.tolist(), slack.tolist(), kept.tolist(), strict=True)
        return [ProductionSums(total, least, over, shortfall, *keep) for total, least, over, keep in columns]


@dataclass(frozen=True, slots=True)
class RoundMoments(Statistic):
    """The state is an array: rounds, the sum of a number in [0, 1], the sum of its squares. Clusters are not averaged."""

    label: ClassVar[str] = "the squares of rewards and propensities"
    number: Literal["reward", "propensity"]

    def of(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        values = batch.judged.earned if self.number == "reward" else batch.propensity
        by_group = groups.sorted(len(values))
        return list(np.column_stack([np.diff(by_group.edges), group_sums(values, by_group)]))


@dataclass(frozen=True, slots=True)
class RewardMoments(RoundMoments):
    """Those of the reward, for bounds in per cent, which a drift of it puts in doubt; a database keeps neither."""

    optional: ClassVar[bool] = True
    number: Literal["reward", "propensity"] = "reward"
