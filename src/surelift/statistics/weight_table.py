"""Rounds by their weight and reward, in a table with fixed edges: enough for every claim in per cent, from one pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.weight_tables import WEIGHT_BINS, corners, weight_tables
from surelift.quantities import Decline, Quantity
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic
from surelift.statistics.units import Units

Side = Literal["gain", "decline", "pair"]
# A share of a round that rounding may have made: left out, which only lowers what is read off a table.
NEGLIGIBLE = 1e-9
_WIDTH = WEIGHT_BINS + 1


@dataclass(frozen=True, slots=True, eq=False)
class WeightCells:
    """How many rounds stand at each corner of the bins: a round is shared by the four corners around it."""

    corners: IntArray
    """Numbered row by row, those of a reward in the order of their weights; ascending, without the empty ones."""
    rounds: FloatArray
    complete: bool = True
    """Whether every round is in it: not where it was added to a state that was saved before tables were kept."""

    def __add__(self, other: "WeightCells") -> "WeightCells":
        complete = self.complete and other.complete
        if np.array_equal(self.corners, other.corners):
            return WeightCells(self.corners, self.rounds + other.rounds, complete)
        both = (np.concatenate([self.corners, other.corners]), np.concatenate([self.rounds, other.rounds]))
        return WeightCells(*_joined(*both), complete)

    @classmethod
    def of_bins(cls, bins: IntArray, sums: FloatArray) -> "WeightCells":
        """From the rounds of each bin, and the sums of their places (``kernels.weight_tables``)."""
        ones, weight, reward, both = sums.T
        first = bins // WEIGHT_BINS * _WIDTH + bins % WEIGHT_BINS
        shares = (ones - weight - reward + both, weight - both, reward - both, both)
        numbers = np.concatenate([first, first + 1, first + _WIDTH, first + _WIDTH + 1])
        present, rounds = _joined(numbers, np.concatenate(shares))
        return cls(present[rounds > NEGLIGIBLE], rounds[rounds > NEGLIGIBLE])

    def pairs(self, side: Side) -> tuple[FloatArray, FloatArray]:
        r"""The two parts of z at each corner, of which a claim scales one.

        Rounds with weight w and reward r: w r and 1 - r against "the lift is at most so much", r and w (1 - r) against "at
        least". Of a pair, the table has its sum for a weight, and the share of the first in it for a reward.
        """
        weights, rewards = corners()
        weight, reward = weights[self.corners % _WIDTH], rewards[self.corners // _WIDTH]
        if side == "gain":
            return weight * reward, 1.0 - reward
        return (reward if side == "decline" else weight * reward), weight * (1.0 - reward)


def _joined(numbers: IntArray, rounds: FloatArray) -> tuple[IntArray, FloatArray]:
    present, places = np.unique(numbers, return_inverse=True)
    return present, np.asarray(np.bincount(places, rounds, minlength=len(present)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class WeightTable(Statistic):
    r"""The state is what one pass needs to keep for all claims about a ratio of values.

    A claim has a factor :math:`1 + \lambda (s X + Y)` per round, with (X, Y) = (w r, 1 - r) or (r, w (1 - r)). It is affine
    in w for a fixed r, and in r for a fixed w, so that its logarithm is concave in each. A round that is shared linearly
    by the two edges around its w, and each part by those around its r, therefore adds at most the logarithm of its own
    factor, **for every smoothing and every s**, whatever the data. Beyond the last edge w is rounded down, and the factor
    rises with w. So whatever is read off the table is a valid lower bound on the evidence; since the edges are close where
    z is near 1, hardly anything is lost.

    A cluster, a sampled round and a comparison of two candidates have a pair X, Y of their own. With t = X + Y and
    u = X/t, s X + Y = t (1 + (s - 1) u) is again affine in each of t and u, which take the places of w and r.
    """

    label: ClassVar[str] = "a table of weights by reward, for bounds in per cent"
    optional: ClassVar[bool] = True
    candidate: str
    drop: float = 1.0
    """How far below 1 a weight can be: 1, or of a blend its share. Weights are those of the policy that is blended."""
    quantity: Quantity | None = None
    """Whose two parts are counted; None where every round is a unit of its own, compared with production."""

    def of(self, reading: Reading, groups: Groups) -> Sequence[WeightCells]:
        excess, share = self._plain(reading) if self.quantity is None else self._pair(reading, self.quantity)
        found, bins, sums = weight_tables(excess, share, groups.units.sorted(len(excess)))
        edges = np.searchsorted(found, np.arange(len(groups) + 1)).tolist()
        return [WeightCells.of_bins(bins[start:stop], sums[start:stop]) for start, stop in pairwise(edges)]

    def _plain(self, reading: Reading) -> tuple[FloatArray, FloatArray]:
        return reading.weights[self.candidate].excess / self.drop, reading.rounds.reward

    def _pair(self, reading: Reading, quantity: Quantity) -> tuple[FloatArray, FloatArray]:
        units, reward = Units.of(reading.rounds), reading.rounds.reward
        own = reading.weights[self.candidate].excess / self.drop
        first = reward if isinstance(quantity, Decline) else (1.0 + own) * reward
        terms = units.mean(reading.terms(self.candidate, quantity) / self.drop, padded_with=quantity.padding)
        total = np.maximum(units.scaled_up(1.0 + terms), 0.0)
        part = units.scaled_up(units.mean(first))
        share = np.divide(part, total, out=np.zeros(len(total)), where=total > 0.0)
        # Without sampling the excess is kept as it is: next to 1 the sum would lose its digits.
        return (terms if units.keep_probability is None else total - 1.0), np.minimum(share, 1.0)

    def absent(self) -> WeightCells:
        return WeightCells(np.empty(0, dtype=np.int64), np.empty(0), complete=False)

    def encode(self, state: Any) -> Any:
        return [state.corners.tolist(), state.rounds.tolist(), state.complete]

    def decode(self, content: Any) -> Any:
        numbers, rounds, complete = content
        return WeightCells(np.array(numbers, dtype=np.int64), np.array(rounds, dtype=np.float64), bool(complete))
