"""Rounds by their weight and reward: how many lie in each bin of a table, and where within it.

The edges of the bins are fixed, and read off the bits of a number: of |weight - 1| from 2^-12 to 2^16 four in every power
of two, of a reward, or of 1 minus a reward, from 2^-14 to 1/2 two; below the first there is one at 0.
"""

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.library import compiled
from surelift.kernels.sorting import Sorted

WEIGHT_ONE, WEIGHT_BINS, REWARD_BINS = 50, 164, 54
BINS, PLACES = WEIGHT_BINS * REWARD_BINS, 4


def weight_tables(excess: FloatArray, reward: FloatArray, groups: Sorted) -> tuple[IntArray, IntArray, FloatArray]:
    """The bins that hold a round: the group of each, its number, and (bins, 4) its sums.

    These are the rounds in it, the sum of their places on the axis of weights, from 0 at the lower edge to 1 at the upper
    one, on that of rewards, and of the products of both. ``excess`` are the weights minus 1, at least -1; beyond the last
    edge, 2^16, they are put there.

    >>> of_group, bins, sums = weight_tables(np.array([0.0, 1.125]), np.array([1.0, 0.25]), Sorted.whole(2))
    >>> (bins // WEIGHT_BINS).tolist(), (bins % WEIGHT_BINS).tolist(), sums[1].tolist()
    ([53, 25], [50, 99], [1.0, 0.5, 0.0, 0.0])
    """
    library = compiled()
    if library is not None:
        table, most, sizes = np.zeros((BINS, PLACES)), int(groups.edges[-1]), np.empty(len(groups), dtype=np.int64)
        bins, sums = np.empty(most + 1, dtype=np.int32), np.empty((most + 1, PLACES))
        split = (groups.order, groups.edges, len(groups))
        found = library.call("weight_tables", excess, reward, *split, table, bins, sums, sizes)
        return np.repeat(np.arange(len(groups)), sizes), bins[:found].astype(np.int64), sums[:found]
    order = slice(None) if groups.order is None else groups.order
    columns, weight_places = _weight_bins(excess[order])
    rows, reward_places = _reward_bins(reward[order])
    codes = np.repeat(np.arange(len(groups)), np.diff(groups.edges)) * BINS + rows * WEIGHT_BINS + columns
    present, places = np.unique(codes, return_inverse=True)
    terms = (np.ones(len(codes)), weight_places, reward_places, weight_places * reward_places)
    totals = [np.bincount(places, each, minlength=len(present)) for each in terms]
    return present // BINS, present % BINS, np.stack(totals, axis=1)


def _weight_bins(excess: FloatArray) -> tuple[IntArray, FloatArray]:
    less = excess < 0.0
    steps, places = _steps(np.minimum(np.abs(excess), np.where(less, 1.0, 2.0**16)), bits=2, octaves=12)
    return np.where(less, WEIGHT_ONE - 1 - steps, WEIGHT_ONE + steps), np.where(less, 1.0 - places, places)


def _reward_bins(reward: FloatArray) -> tuple[IntArray, FloatArray]:
    more = reward > 0.5
    steps, places = _steps(np.maximum(np.where(more, 1.0 - reward, reward), 0.0), bits=1, octaves=14)
    return np.where(more, REWARD_BINS - 1 - steps, steps), np.where(more, 1.0 - places, places)


def _steps(numbers: FloatArray, *, bits: int, octaves: int) -> tuple[IntArray, FloatArray]:
    """How many edges lie below each number, and where it is between the next two."""
    least = 2.0**-octaves
    mantissa, exponent = np.frexp(np.maximum(numbers, least))
    within = (2.0 * mantissa - 1.0) * 2.0**bits
    whole = np.floor(within)
    steps = ((exponent.astype(np.int64) - 1 + octaves) << bits) + whole.astype(np.int64) + 1
    below = numbers < least
    return np.where(below, 0, steps), np.where(below, numbers / least, within - whole)


def _edges(count: int, *, bits: int, octaves: int) -> npt.NDArray[np.float64]:
    """The edge at 0, and those above it."""
    steps = np.arange(count - 1)
    above = np.ldexp(1.0 + (steps % 2**bits) / 2.0**bits, (steps >> bits) - octaves)
    return np.concatenate([[0.0], above])


_above, _below = _edges(WEIGHT_BINS + 1 - WEIGHT_ONE, bits=2, octaves=12), _edges(WEIGHT_ONE, bits=2, octaves=12)
_small = _edges(REWARD_BINS // 2 + 1, bits=1, octaves=14)
CORNERS = np.concatenate([[0.0], 1.0 - _below[:0:-1], 1.0 + _above]), np.concatenate([_small, 1.0 - _small[-2::-1]])
"""The weights and the rewards at the edges of the bins, in their order; the first and the last weight bear nothing."""
