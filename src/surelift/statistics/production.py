"""What production itself did: its rewards, its smallest propensity, how rounds were sampled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.controls.weights import overstated
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic
from surelift.statistics.units import Units

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
class ProductionTotals(Statistic):
    label: ClassVar[str] = "what production earned"
    state: ClassVar[type] = ProductionSums

    def of(self, reading: Reading, groups: Groups) -> Sequence[ProductionSums]:
        rounds = reading.rounds
        units = Units.of(rounds)
        rewards = groups.of_units(rounds).sums(units.scaled_up(units.mean(rounds.reward)))
        slack = overstated(rounds) if rounds.logging_shares is not None else np.zeros(rounds.size)
        shortfall = max((found.short_of_one for found in reading.probabilities.values()), default=0.0)
        kept = [None] * len(groups) if rounds.keep_probability is None else groups.split(rounds.keep_probability)
        parts = zip(rewards.tolist(), groups.split(rounds.propensity), groups.split(slack), kept, strict=True)
        return [
            ProductionSums(
                total, float(q.min(initial=INFINITE)), float(over.max(initial=0.0)), shortfall, *_range(keep)
            )
            for total, q, over, keep in parts
        ]


def _range(kept: FloatArray | None) -> tuple[float, float]:
    return (INFINITE, 0.0) if kept is None else (float(kept.min(initial=INFINITE)), float(kept.max(initial=0.0)))


@dataclass(frozen=True, slots=True)
class RewardMoments(Statistic):
    """The state is an array: rounds, sum of rewards on [0, 1], sum of their squares. Clusters are not averaged."""

    label: ClassVar[str] = "the squares of the rewards"

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        reward = reading.rounds.reward
        columns = [groups.counts(len(reward)), groups.sums(reward), groups.sums(reward * reward)]
        return list(np.stack(columns, axis=1).astype(np.float64))
