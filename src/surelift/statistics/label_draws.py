r"""Bets that labels were not drawn with the stated probability.

With L = 1 where a round was drawn, E[L - kappa] = 0 whatever is known before the draw, so each factor 1 + beta (L - kappa)
and 1 + beta (2 s - 1)(L - kappa), with |beta| < 1 and s the score, is nonnegative and has mean 1. Their products, mixed over
beta of both signs, are evidence that too many or too few rounds carry a label, or the wrong ones by their score. A cluster
is one factor, made from its mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.kernels.log_products import log_products
from surelift.statistics.bets import BOTH_WAYS
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic
from surelift.statistics.units import Units

# An exponential of more would overflow.
LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True)
class LabelDraws(Statistic):
    """The state is an array: the logarithm of each bet's wealth, then rounds, labels, and how many were to be expected."""

    label: ClassVar[str] = "the test of the labels"

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        rounds, labels, units = reading.rounds, reading.rounds.labels, Units.of(reading.rounds)
        assert labels is not None
        surprise, by_unit = labels.drawn - labels.probability, groups.units.sorted(units.count)
        bets = [units.mean(bet) for bet in (surprise, surprise * (2.0 * labels.score - 1.0))]
        won = [log_products(bet, BOTH_WAYS, by_unit) for bet in bets]
        seen = [
            groups.counts(rounds.size),
            groups.sums(labels.drawn.astype(np.float64)),
            groups.sums(labels.probability),
        ]
        return list(np.column_stack([*won, *seen]))


def draws_e_value(state: FloatArray) -> float:
    """Against "every label was drawn with the stated probability"."""
    mixed = np.logaddexp.reduce(state[:-3]) - math.log(len(state) - 3)
    return math.exp(min(float(mixed), LARGEST_LOG))
