"""Poisson resamples: for each, the sum of terms and the number of rounds, over the rows of each group."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray
from surelift.kernels.columns import Words, scramble
from surelift.kernels.library import compiled
from surelift.kernels.sorting import Sorted

# The chances of at most 0, 1, 2, ... copies under a Poisson law of mean 1, in units of 2^-32.
_EDGES = np.rint(2**32 * np.cumsum([math.exp(-1.0) / math.factorial(k) for k in range(12)])).astype(np.uint32)
_AT_ONCE = 1 << 18


def resample(terms: Sequence[FloatArray], numbers: Words, draws: int, groups: Sorted) -> list[FloatArray]:
    """The total of each term and its rounds, (groups, 2, draws): how often a round enters a resample follows from its number
    and that of the resample alone.

    >>> [[[totals, rounds]]] = resample([np.full(4, 0.5)], np.arange(4, dtype=np.uint64), 5, Sorted.whole(4))
    >>> rounds.tolist(), totals.tolist()
    ([2.0, 3.0, 9.0, 5.0, 3.0], [1.0, 1.5, 4.5, 2.5, 1.5])
    """
    library = compiled()
    if library is None:
        return [_reference(term, numbers, draws, groups) for term in terms]
    found, group_arrays = list[FloatArray](), (groups.order, groups.edges, len(groups))
    # Two at a time: the copies of a round are the same for all.
    for first in range(0, len(terms), 2):
        pair = terms[first : first + 2]
        totals, lost = np.zeros((len(groups), 3, draws)), np.zeros((len(groups), 2, draws))
        library.call("resample", pair[0], pair[-1], numbers, *group_arrays, _EDGES, draws, totals, lost)
        found += [totals[:, [place, 2]] for place in range(len(pair))]
    return found


def _reference(terms: FloatArray, numbers: Words, draws: int, groups: Sorted) -> FloatArray:
    totals, lost = np.zeros((len(groups), 2, draws)), np.zeros((len(groups), 2, draws))
    rows, hashes = max(1, _AT_ONCE // draws), scramble((numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    for group, (part, words) in enumerate(zip(groups.split(terms), groups.split(hashes), strict=True)):
        for start in range(0, len(part), rows):
            copies = _copies(words[start : start + rows], draws)
            added = np.stack([(copies * part[start : start + rows]).sum(axis=1), copies.sum(axis=1)])
            grown = totals[group] + added
            back = grown - totals[group]
            lost[group] += (totals[group] - (grown - back)) + (added - back)
            totals[group] = grown
    return totals + lost


def _copies(words: Words, draws: int) -> FloatArray:
    """(draws, rows): how many of the edges a chance, hashed from the numbers of both, has reached."""
    shifts = np.arange(1, draws + 1, dtype=np.uint32) * np.uint32(0x9E3779B9)
    chances: npt.NDArray[np.uint32] = words.astype(np.uint32) + shifts[:, None]
    chances ^= chances >> np.uint32(16)
    chances *= np.uint32(0x7FEB352D)
    chances ^= (words >> np.uint64(32)).astype(np.uint32)
    chances ^= chances >> np.uint32(15)
    chances *= np.uint32(0x846CA68B)
    chances ^= chances >> np.uint32(16)
    copies = np.zeros(chances.shape, dtype=np.uint8)
    for edge in _EDGES:
        copies += chances >= edge
    return copies.astype(np.float64)
