"""Sums, squares and extremes by group, means over clusters, and importance weights."""

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.library import compiled
from surelift.kernels.sorting import Sorted


def group_sums(values: FloatArray, groups: Sorted) -> FloatArray:
    """(groups, 2): the sum, and that of squares.

    >>> group_sums(np.array([1.0, 2.0, 3.0]), Sorted.by(np.array([0, 1, 0]), 2)).tolist()
    [[4.0, 10.0], [2.0, 4.0]]
    """
    return _pairs("group_sums", values, groups, (0.0, 0.0))


def group_extremes(values: FloatArray, groups: Sorted) -> FloatArray:
    """(groups, 2): the smallest and the largest of numbers that are not negative; infinity and 0 of none.

    >>> group_extremes(np.array([1.0, 2.0, 3.0]), Sorted.by(np.array([0, 1, 0]), 3)).tolist()
    [[1.0, 3.0], [2.0, 2.0], [inf, 0.0]]
    """
    return _pairs("group_extremes", values, groups, (np.inf, 0.0))


def _pairs(name: str, values: FloatArray, groups: Sorted, of_none: tuple[float, float]) -> FloatArray:
    library, pairs = compiled(), np.tile(of_none, (len(groups), 1))
    if library is not None:
        library.call(name, values, groups.order, groups.edges, len(groups), pairs)
        return pairs
    for group, part in enumerate(groups.split(values)):
        with np.errstate(over="ignore"):
            sums = name == "group_sums"
            pairs[group] = (part.sum(), (part * part).sum()) if sums else (part.min(initial=np.inf), part.max(initial=0.0))
    return pairs


def cluster_means(values: FloatArray, starts: IntArray, divisor: FloatArray, padding: float) -> FloatArray:
    """The sum over each run of rows, with ``padding`` for each that it lacks to its divisor, divided by that.

    >>> cluster_means(np.array([1.0, 2.0, 6.0]), np.array([0, 2, 3]), np.array([2.0, 2.0]), 1.0).tolist()
    [1.5, 3.5]
    """
    library, means = compiled(), np.zeros(len(divisor))
    if len(divisor) == 0:
        return means
    if library is not None:
        library.call("cluster_means", values, starts, divisor, len(divisor), float(padding), means)
        return means
    lacking = divisor - np.diff(starts)
    return np.asarray((np.add.reduceat(values, starts[:-1]) + padding * lacking) / divisor)


def weigh(probability: FloatArray, propensity: FloatArray, most: float) -> tuple[FloatArray, FloatArray, int]:
    """Importance weights, the same minus 1, and how many are above a limit, or no number.

    >>> weigh(np.array([0.5, 0.1]), np.array([0.25, 0.2]), 1.5)
    (array([2. , 0.5]), array([ 1. , -0.5]), 1)
    """
    library = compiled()
    if library is None:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weight, excess = probability / propensity, (probability - propensity) / propensity
        return weight, excess, int(np.count_nonzero(~(weight <= most)))
    weight, excess = np.empty(len(probability)), np.empty(len(probability))
    return weight, excess, library.call("weigh", probability, propensity, len(weight), float(most), weight, excess)


def group_sizes(weights: FloatArray, groups: Sorted, *, shift: int, bins: int) -> FloatArray:
    """(groups, bins, 2): by the exponent of each weight plus ``shift``, the rounds and their summed weight."""
    library, sizes = compiled(), np.zeros((len(groups), bins, 2))
    if library is not None:
        library.call("group_sizes", weights, groups.order, groups.edges, len(groups), shift, bins, sizes)
        return sizes
    for group, part in enumerate(groups.split(weights)):
        exponents = np.where(part > 0.0, np.clip(np.frexp(part)[1] + shift, 0, bins - 1), 0)
        sizes[group, :, 0] = np.bincount(exponents, minlength=bins)
        sizes[group, :, 1] = np.bincount(exponents, weights=part, minlength=bins)
    return sizes


def group_largest(weights: FloatArray, groups: Sorted, most: int) -> list[list[int]]:
    """The places of up to ``most`` largest weights of each group, the earlier first among equals.

    >>> group_largest(np.array([1.0, 5.0, 3.0, 5.0]), Sorted.whole(4), 3)
    [[1, 3, 2]]
    """
    library, counts = compiled(), np.minimum(np.diff(groups.edges), most).tolist()
    if library is not None:
        places = np.zeros((len(groups), most), dtype=np.int64)
        library.call("group_largest", weights, groups.order, groups.edges, len(groups), most, places)
        return [row[:count].tolist() for row, count in zip(places, counts, strict=True)]
    parts = zip(groups.split(weights), groups.split(np.arange(len(weights))), strict=True)
    return [where[np.argsort(-part, kind="stable")[:most]].tolist() for part, where in parts]
