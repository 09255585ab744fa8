"""Rounds by their weight and reward, in a table with fixed edges: enough for every claim in per cent, from one pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch, Pieces
from surelift.kernels.loop import LoopSums, LoopTerm
from surelift.kernels.weight_tables import CORNERS, WEIGHT_BINS, weight_tables
from surelift.logs.units import Piece
from surelift.quantities import Decline, Difference, Quantity
from surelift.statistics.looped import Looped
from surelift.statistics.statistic import Groups

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
    """Every round is in it: not where it was added to a state that was saved before tables were kept."""

    def __add__(self, other: "WeightCells") -> "WeightCells":
        complete = self.complete and other.complete
        if np.array_equal(self.corners, other.corners):
            return WeightCells(self.corners, self.rounds + other.rounds, complete)
        corners = np.concatenate([self.corners, other.corners])
        rounds: Any = np.bincount(corners, np.concatenate([self.rounds, other.rounds]))
        present = np.flatnonzero(rounds)
        return WeightCells(present, rounds[present], complete)

    @classmethod
    def of_bins(cls, bins: IntArray, sums: FloatArray) -> "WeightCells":
        """The cells from the rounds of each bin, and the sums of their places (``kernels.weight_tables``)."""
        ones, weight, reward, both = sums.T
        first = bins // WEIGHT_BINS * _WIDTH + bins % WEIGHT_BINS
        shares = (ones - weight - reward + both, weight - both, reward - both, both)
        corners = np.concatenate([first, first + 1, first + _WIDTH, first + _WIDTH + 1])
        rounds: Any = np.bincount(corners, np.concatenate(shares))
        present = np.flatnonzero(rounds > NEGLIGIBLE)
        return cls(present, rounds[present])

    def pairs(self, side: Side) -> tuple[FloatArray, FloatArray]:
        r"""The two parts of z at each corner, of which a claim scales one.

        Rounds with weight w and reward r: w r and 1 - r against "the lift is at most so much", r and w (1 - r) against "at
        least". Of a pair, the table has its sum for a weight, and the share of the first in it for a reward.
        """
        weights, rewards = CORNERS
        weight, reward = weights[self.corners % _WIDTH], rewards[self.corners // _WIDTH]
        if side == "gain":
            return weight * reward, 1.0 - reward
        return (reward if side == "decline" else weight * reward), weight * (1.0 - reward)


@dataclass(frozen=True, slots=True)
class WeightTable(Looped):
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
    state: ClassVar[type] = WeightCells
    candidate: str
    drop: float = 1.0
    """How far below 1 a weight can be: 1, or of a blend its share. Weights are those of the policy that is blended."""
    quantity: Quantity | None = None
    """Whose two parts are counted; None where every round is a unit of its own, compared with production."""

    def wanted(self, simple: bool) -> Sequence[LoopTerm]:
        if self.quantity is None:
            # The weights minus 1, and the rewards, of the rows; simple batches have a table made on the way.
            of_weights = LoopTerm((Piece(self.candidate, True, 1.0, 1.0),), kept=True)
            return [] if simple else [of_weights, LoopTerm((), (0.0, 1.0), kept=True)]
        # What a unit's pair adds up to, less 1, and each of the pair.
        first, second = self._pair(self.quantity)
        return [
            LoopTerm(self.quantity.pieces(self.candidate), kept=True), LoopTerm(first, (0.0, 1.0), kept=True),
            LoopTerm(second, (1.0, 0.0), kept=True),
        ]  # fmt: skip

    def _pair(self, quantity: Quantity) -> tuple[Pieces, Pieces]:
        """What X has beside the reward, and Y beside 1 minus it, in weights of the policy that is blended."""
        own = self.candidate, True
        if isinstance(quantity, Difference):
            return (Piece(*own, 0.0, 1.0),), (Piece(quantity.over, True, 1.0, 0.0),)
        if isinstance(quantity, Decline):
            return (), (Piece(*own, 1.0 / self.drop, 0.0),)
        return (Piece(*own, 0.0, 1.0 / self.drop),), ()

    def table(self) -> tuple[str, float] | None:
        return (self.candidate, self.drop) if self.quantity is None else None

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[WeightCells]:
        if not places:
            assert sums.tables is not None
            table = sums.tables[self.candidate]
            bins = np.flatnonzero(table[:, 0])
            return [WeightCells.of_bins(bins, table[bins])]
        numbers = [np.asarray(sums.kept[place]) for place in places]
        excess, share = numbers[0] / self.drop, numbers[1]
        if self.quantity is not None:
            # Next to 1 the sum of the pair would lose the digits of its excess; that of drawn labels has no other.
            summed = batch.scale is not None or batch.judged.unlike_earned is not None
            total = batch.scaled(numbers[1] + numbers[2]) if summed else np.maximum(1.0 + excess, 0.0)
            excess = total - 1.0 if summed else excess
            part = batch.scaled(numbers[1])
            share = np.minimum(np.divide(part, total, out=np.zeros(len(total)), where=total > 0.0), 1.0)
        found, bins, cells = weight_tables(excess, share, groups.units.sorted(len(excess)))
        edges = np.searchsorted(found, np.arange(len(groups.values) + 1)).tolist()
        return [WeightCells.of_bins(bins[start:stop], cells[start:stop]) for start, stop in pairwise(edges)]

    def absent(self) -> WeightCells:
        return WeightCells(np.empty(0, dtype=np.int64), np.empty(0), complete=False)
