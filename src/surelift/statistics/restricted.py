r"""Which actions were taken in a segment, and how likely it was that no other would be.

In a segment known before the action, with right propensities, 1[a in S]/pi0(S) has mean at most 1 for every set S of actions
fixed beforehand, and so has the product over the rounds of the segment, mixed over the sets. Where every action lay in S,
the product is 1/prod pi0(S|x_i), and by concavity at least (n / sum pi0(S|x_i))^n: sums by action are enough. Where only
propensities q are known, two more are: S = the action of the first round, with prod 1/q over the others, and the weight
1[a in S]/(|S| q) of "uniformly from S", whose mean is at most 1 too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch
from surelift.kernels.sums import group_extremes
from surelift.statistics.bets import favourite
from surelift.statistics.statistic import Groups, Statistic

# Actions beyond these share a place, in which sets are coarser and nothing else changes.
PLACES = 256
SEVERAL = -1
# What vectors may be off by, and more: no evidence, however many rounds there are.
ROUNDING = 1e-5
SMOOTHINGS = 2.0 ** -np.arange(21.0)


@dataclass(frozen=True, slots=True)
class Taken:
    rounds: int
    action: int
    """The only one taken, or ``SEVERAL``."""
    largest_action: int
    surprise: float
    """Sum of log(1/q), and the largest of them."""
    largest_surprise: float
    inverse: float
    """Sum of 1/q, and the largest of them."""
    largest_inverse: float
    counts: tuple[float, ...]
    """How often each place was taken, and the summed chance of it where production's distribution is known."""
    chances: tuple[float, ...] | None
    favourite: tuple[float, ...] | None
    """How often production's favourite was taken, and the summed log chances that it was, and was not."""

    def __add__(self, other: "Taken") -> "Taken":
        known = self.chances is not None and other.chances is not None
        return Taken(
            self.rounds + other.rounds, self.action if self.action == other.action else SEVERAL,
            max(self.largest_action, other.largest_action), self.surprise + other.surprise,
            max(self.largest_surprise, other.largest_surprise), self.inverse + other.inverse,
            max(self.largest_inverse, other.largest_inverse), _added(self.counts, other.counts),
            _added(self.chances or (), other.chances or ()) if known else None,
            _added(self.favourite or (), other.favourite or ()) if known else None,
        )  # fmt: skip

    @property
    def seen(self) -> int:
        return sum(count > 0.0 for count in self.counts)

    def log_e_value(self) -> float:
        """The log e-value against "the segment was known before the action, and the propensities are right"."""
        bets = [self._one(), self._of_set(), *self._of_favourite()]
        return float(np.logaddexp.reduce(bets)) - math.log(len(bets)) - ROUNDING * self.rounds

    def _one(self) -> float:
        return -math.inf if self.action == SEVERAL else self.surprise - self.largest_surprise

    def _of_set(self) -> float:
        # A prior over sets: 2^j places with probability 2^-j, then the size of the set, then the set.
        places = 2 ** max(1, math.ceil(math.log2(min(self.largest_action, PLACES - 1) + 1)))
        sets = math.lgamma(places + 1) - math.lgamma(self.seen + 1) - math.lgamma(places - self.seen + 1)
        price = 2.0 * math.log(places) + sets
        if self.chances is not None:
            unseen = sum(
                chance for chance, count in zip(self.chances, (*self.counts, *[0.0] * PLACES), strict=False) if not count
            )
            return -self.rounds * math.log1p(-min(unseen / self.rounds, 1.0 - 1e-12)) - price
        if self.largest_action >= PLACES:
            return -math.inf  # how many actions share a place is not known
        # A logarithm lies above its chord: log(1 + lambda w) >= w/largest log(1 + lambda largest).
        largest = self.largest_inverse / self.seen
        won = self.inverse / self.largest_inverse * np.log1p(SMOOTHINGS * largest)
        mixed = float(np.logaddexp.reduce(won - self.rounds * np.log1p(SMOOTHINGS)))
        return mixed - math.log(len(SMOOTHINGS)) - price

    def _of_favourite(self) -> tuple[float, ...]:
        if self.favourite is None:
            return ()
        taken, log_taken, log_left = self.favourite
        return (-log_taken if taken == self.rounds else -math.inf), (-log_left if taken == 0.0 else -math.inf)


@dataclass(frozen=True, slots=True)
class TakenActions(Statistic):
    label: ClassVar[str] = "the actions of each segment"
    state: ClassVar[type] = Taken

    def of(self, batch: Batch, groups: Groups) -> Sequence[Taken]:
        action, size, shares = batch.decisions.taken, batch.size, batch.shares
        codes = np.zeros(size, dtype=np.int64) if groups.codes is None else groups.codes
        counts = _by_place(codes, action, np.ones(size), len(groups.values))
        chances: list[Any] = [None] * len(groups.values)
        chosen: list[Any] = [None] * len(groups.values)
        if shares is not None:
            row = np.repeat(np.arange(size), shares.lengths)
            place = np.arange(len(shares.values)) - np.repeat(shares.starts[:-1], shares.lengths)
            chances = _by_place(codes[row], place, shares.values, len(groups.values)).tolist()
            top = favourite(shares)
            chance = np.clip(shares.at(top), 1e-300, 1.0)
            with np.errstate(divide="ignore"):
                left = np.maximum(np.log1p(-chance), -1e9)
            chosen = np.column_stack([groups.sums(x) for x in ((action == top) * 1.0, np.log(chance), left)]).tolist()
        by_group, inverse = groups.sorted(size), 1.0 / batch.propensity
        surprise, places = np.log(inverse), group_extremes(action.astype(np.float64), by_group).astype(np.int64)
        columns = (
            groups.counts(size), np.where(places[:, 0] == places[:, 1], places[:, 0], SEVERAL), places[:, 1],
            groups.sums(surprise), group_extremes(surprise, by_group)[:, 1], groups.sums(inverse),
            group_extremes(inverse, by_group)[:, 1], counts,
        )  # fmt: skip
        states = zip(*(column.tolist() for column in columns), chances, chosen, strict=True)
        return [self.decode(state) for state in states]


def _by_place(codes: IntArray, action: IntArray, weights: FloatArray, groups: int) -> FloatArray:
    """(groups, places) sums; rounds outside all groups are left out."""
    place, inside = action % PLACES, codes >= 0
    width = int(place.max(initial=0)) + 1
    sums = np.bincount((codes * width + place)[inside], weights[inside], minlength=groups * width)
    return sums.reshape(groups, width).astype(np.float64)


def _added(left: Sequence[float], right: Sequence[float]) -> tuple[float, ...]:
    return tuple(a + b for a, b in zip_longest(left, right, fillvalue=0.0))
