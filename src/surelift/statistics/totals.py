"""What every answer adds up beside its terms: units, the weights of each policy, and what production itself did."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.kernels.loop import LoopSums, LoopTerm
from surelift.kernels.sums import group_extremes, group_sums
from surelift.logs.units import Piece
from surelift.statistics.looped import Looped
from surelift.statistics.statistic import INFINITE, Groups, Statistic


@dataclass(frozen=True, slots=True)
class Count(Looped):
    label: ClassVar[str] = "the number of rounds"
    state: ClassVar[type] = int

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[int]:
        return [batch.units.count] if groups.codes is None else groups.units.counts(batch.units.count).tolist()


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
        lacking, total, squares = None, self.total + other.total, self.squares + other.squares
        if self.unsupported is not None and other.unsupported is not None:
            lacking = self.unsupported + other.unsupported
        return WeightSums(total, squares, max(self.largest, other.largest), lacking)


@dataclass(frozen=True, slots=True)
class PolicyWeights(Looped):
    label: ClassVar[str] = "the sums of the weights"
    state: ClassVar[type] = WeightSums
    candidate: str

    def wanted(self, simple: bool) -> Sequence[LoopTerm]:
        return [LoopTerm((Piece(self.candidate, False, 1.0, 1.0),))]

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[WeightSums]:
        totals, squares, largest = sums.moments[:, places[0]].T.tolist()
        unsupported: list[float | None] = [None] * len(totals)
        logging = batch.decisions.logging if batch.is_read else None
        vectors = None if logging is None else batch.policies[self.candidate].vectors
        if logging is not None and vectors is not None:
            beyond = vectors.fold(np.add, np.where(logging.values == 0.0, vectors.values, 0.0), empty=0.0)
            unsupported = groups.units.sums(batch.scaled(batch.units.mean(beyond, 0.0))).tolist()
        return list(map(WeightSums, totals, squares, largest, unsupported))


@dataclass(frozen=True, slots=True)
class ProductionSums:
    rewards: float = 0.0
    smallest_propensity: float = INFINITE
    largest_slack: float = 0.0
    """The largest relative excess of a propensity over its entry in production's vector."""
    largest_shortfall: float = 0.0
    """The most by which a vector of a policy falls short of summing to 1."""
    smallest_keep: float = INFINITE
    """The smallest probability with which a round was kept, where the log was sampled."""
    largest_keep: float = 0.0

    def __add__(self, other: "ProductionSums") -> "ProductionSums":
        return ProductionSums(
            self.rewards + other.rewards, min(self.smallest_propensity, other.smallest_propensity),
            max(self.largest_slack, other.largest_slack), max(self.largest_shortfall, other.largest_shortfall),
            min(self.smallest_keep, other.smallest_keep), max(self.largest_keep, other.largest_keep),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProductionTotals(Looped):
    label: ClassVar[str] = "what production earned"
    state: ClassVar[type] = ProductionSums

    def wanted(self, simple: bool) -> Sequence[LoopTerm]:
        return [LoopTerm((), (0.0, 1.0))]

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[ProductionSums]:
        count, shortfall = len(groups.values), 0.0
        slack, kept = np.zeros(count), np.tile([INFINITE, 0.0], (count, 1))
        if batch.keep is not None:
            kept = group_extremes(batch.keep, groups.units.sorted(batch.units.count))
        if batch.is_read:
            shortfall = max((found.short_of_one for found in batch.policies.values()), default=0.0)
            if batch.shares is not None:
                slack = group_extremes(batch.overstated, groups.units.sorted(batch.units.count))[:, 1]
        return list(map(
            ProductionSums, sums.moments[:, places[0], 0].tolist(), sums.smallest.tolist(), slack.tolist(),
            [shortfall] * count, *kept.T.tolist(),
        ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class RoundMoments(Statistic):
    """The state is an array: rounds, the sum of a number in [0, 1], the sum of its squares. Clusters are not averaged."""

    label: ClassVar[str] = "the squares of rewards and propensities"
    number: Literal["reward", "propensity"]

    def of(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        values = batch.judged.earned if self.number == "reward" else batch.propensity
        sums = group_sums(values, groups.sorted(batch.size))
        return list(np.column_stack([groups.counts(batch.size), sums]))


@dataclass(frozen=True, slots=True)
class RewardMoments(RoundMoments):
    """Those of the reward, for bounds in per cent, which a drift of it puts in doubt; a database keeps neither."""

    optional: ClassVar[bool] = True
    number: Literal["reward", "propensity"] = "reward"
