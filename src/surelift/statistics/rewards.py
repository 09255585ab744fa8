"""Rewards by themselves: how many rounds, their sum and their squares. By day, they show drift."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class RewardMoments(Statistic):
    """The state is an array: rounds, sum of rewards on [0, 1], sum of their squares. Clusters are not averaged."""

    label: ClassVar[str] = "the squares of the rewards"

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        reward = reading.rounds.reward
        columns = [groups.counts(len(reward)), groups.sums(reward), groups.sums(reward * reward)]
        return list(np.stack(columns, axis=1).astype(np.float64))
