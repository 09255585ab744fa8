"""Does what a round earns change from day to day by more than chance?"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from surelift.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Drift:
    """Rounds, rewards and squared rewards by day."""

    days: Mapping[str, FloatArray]

    @property
    def surprise(self) -> float:
        """By how many standard deviations the days differ more than chance would have them differ."""
        counts = {day: float(moments[0]) for day, moments in self.days.items() if moments[0]}
        total, rewards, squares = (sum(float(m[column]) for m in self.days.values()) for column in range(3))
        if len(counts) < 2:
            return 0.0
        mean = rewards / total
        variance = squares / total - mean * mean
        if variance <= 0.0:
            return 0.0
        means = self.means()
        spread = sum(count * (means[day] - mean) ** 2 for day, count in counts.items()) / variance
        freedom = len(counts) - 1
        return (spread - freedom) / math.sqrt(2.0 * freedom)

    def means(self) -> dict[str, float]:
        return {day: float(moments[1] / moments[0]) for day, moments in self.days.items() if moments[0]}
