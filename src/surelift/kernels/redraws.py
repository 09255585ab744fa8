"""Redraws of a whole log: its actions drawn again from production's distributions, from the last round to the first."""

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.columns import scramble
from surelift.kernels.library import compiled

LANES = 500  # how many times the log is redrawn in one call, as in C
_SEED, _STEP, _LOW = 20240523, 0x9E3779B97F4A7C15, 0xFFFFFFFF
_AT_ONCE = 1 << 17


def redraw(
    logged: FloatArray, chances: FloatArray, weights: FloatArray, starts: IntArray, *, block: int, lanes: int
) -> tuple[FloatArray, FloatArray]:
    """The sums of (w/Z + w'/(Z - w + w'))^2 and of (w' / sum w')^2 in each of up to 500 redraws, as for ``Proxies``.

    The actions of round k, with their chances and weights, are the entries from ``starts[k]`` to ``starts[k + 1]``. What is
    drawn follows from the numbers of the block, the lane and the round alone.

    >>> both = redraw(np.ones(2), np.ones(2), np.ones(2), np.arange(3), block=0, lanes=1)  # there is one action to draw
    >>> [sums.tolist() for sums in both]  # (1/2 + 1/2)^2 twice, and (1/2)^2 twice
    [[2.0], [0.5]]
    """
    assert lanes <= LANES
    counter, prefix = (_SEED * _STEP + block * LANES * len(logged)) % 2**64, np.cumsum(logged)
    library, most = compiled(), int(np.diff(starts).max(initial=0))
    if library is None:
        return _reference(logged, prefix, chances, weights, starts, counter, lanes)
    variances, expected = np.empty(lanes), np.empty(lanes)
    library.call(
        "redraw", logged, prefix, chances, weights, starts, len(logged), counter, lanes, np.zeros(3 * most),
        np.zeros(3 * most, dtype=np.int64), most, variances, expected,
    )  # fmt: skip
    return variances, expected


def _reference(
    logged: FloatArray, prefix: FloatArray, chances: FloatArray, weights: FloatArray, starts: IntArray, counter: int,
    lanes: int,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    variances, squares, suffix = np.zeros(lanes), np.zeros(lanes), np.zeros(lanes)
    before, most = np.concatenate([[0.0], prefix[:-1]]), int(np.diff(starts).max(initial=1))
    rounds = max(1, _AT_ONCE // max(lanes, most))
    for stop in range(len(logged), 0, -rounds):
        # The last round comes first.
        chosen = np.arange(stop - 1, max(stop - rounds, 0) - 1, -1)
        redrawn = _draw(chances, weights, starts, chosen, most, counter, lanes)
        suffixes = np.cumsum(np.column_stack([suffix, redrawn]), axis=1)
        others = before[chosen] + suffixes[:, :-1]
        mixed, swapped = others + logged[chosen], others + redrawn
        product, top = mixed * swapped, logged[chosen] * swapped + redrawn * mixed
        ones = (mixed > 0.0).astype(np.float64) + (swapped > 0.0)
        variances += (np.divide(top, product, out=ones, where=product > 0.0) ** 2).sum(axis=1)
        squares += (redrawn * redrawn).sum(axis=1)
        suffix = suffixes[:, -1]
    return variances, np.divide(squares, suffix * suffix, out=np.ones(lanes), where=suffix > 0.0)


def _draw(
    chances: FloatArray, weights: FloatArray, starts: IntArray, chosen: IntArray, most: int, counter: int, lanes: int
) -> FloatArray:
    """(lanes, rounds): the weights drawn in some rounds."""
    sizes = starts[chosen + 1] - starts[chosen]
    inside = np.arange(most) < sizes[:, None]
    entries = np.minimum(starts[chosen][:, None] + np.arange(most), len(weights) - 1)
    own = weights[entries]
    threshold, alias = _alias(np.where(inside, chances[entries], 0.0), sizes, inside)
    words = np.uint64(counter) + (chosen * LANES).astype(np.uint64) + np.arange(lanes, dtype=np.uint64)[:, None]
    words = (scramble(words * np.uint64(_STEP)) >> np.uint64(32)) * sizes.astype(np.uint64)
    columns = (words >> np.uint64(32)).astype(np.int64) + most * np.arange(len(chosen))
    beyond = (words & np.uint64(_LOW)).astype(np.int64) > threshold.take(columns)
    others = np.take_along_axis(own, alias, axis=1)
    return np.asarray(np.where(beyond, others.take(columns), own.take(columns)))


def _alias(chances: FloatArray, sizes: IntArray, inside: npt.NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """(rounds, columns): up to what threshold, in 32-bit fixed point, a column stands for itself, and for which one beyond.

    A column poorer than the mean takes what it lacks from a richer one: the same steps in all rounds at once.
    """
    scaled = chances / np.cumsum(chances, axis=1)[:, -1:] * sizes[:, None]
    threshold, alias = np.full(chances.shape, _LOW), np.tile(np.arange(chances.shape[1]), (len(chances), 1))
    is_small, is_large = inside & (scaled < 1.0), inside & ~(scaled < 1.0)
    small, large = (np.argsort(~chosen, axis=1, kind="stable") for chosen in (is_small, is_large))
    smalls, larges = is_small.sum(axis=1), is_large.sum(axis=1)
    while len(rows := np.flatnonzero((smalls > 0) & (larges > 0))):
        smalls[rows] -= 1
        poor, rich = small[rows, smalls[rows]], large[rows, larges[rows] - 1]
        threshold[rows, poor] = (scaled[rows, poor] * _LOW).astype(np.int64)
        alias[rows, poor] = rich
        scaled[rows, rich] -= 1.0 - scaled[rows, poor]
        spent = scaled[rows, rich] < 1.0
        larges[rows[spent]] -= 1
        small[rows[spent], smalls[rows[spent]]] = rich[spent]
        smalls[rows[spent]] += 1
    return threshold, alias
