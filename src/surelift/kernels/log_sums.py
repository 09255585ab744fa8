"""Log sums over the rows of each group: of log(1 + smoothing x), never negative, and of log(1 + rate x), of either sign."""

import numpy as np

from surelift.arrays import FloatArray
from surelift.kernels.library import compiled
from surelift.kernels.sorting import Sorted


def log_terms(x: FloatArray, smoothing: float) -> FloatArray:
    """log(1 + smoothing x), also where the product overflows.

    >>> log_terms(np.array([0.0, 2.0, 1e308]), 64.0).round(6).tolist()
    [0.0, 4.859812, 713.355092]
    """
    with np.errstate(over="ignore"):
        logarithms = np.log1p(smoothing * x)
    overflown = np.isinf(logarithms)
    if overflown.any():
        logarithms[overflown] = np.log(smoothing) + np.log(x[overflown])
    return logarithms


def log_sums(
    values: FloatArray, smoothings: FloatArray, groups: Sorted, *, offset: float = 0.0, floor: float = -np.inf
) -> tuple[FloatArray, int]:
    """(groups, smoothings): sums of log(1 + smoothing max(value + offset, 0)); how many value + offset lie below a floor.

    >>> log_sums(np.array([2.0, 0.0]), np.array([0.5]), Sorted.whole(2))[0].round(6).tolist()
    [[0.693147]]
    """
    library, below = compiled(), 0
    totals, lost = np.zeros((2, len(groups), len(smoothings)))
    if library is not None:
        below = library.call(
            "log_sums", values, float(offset), float(floor), groups.order, groups.edges, len(groups), smoothings,
            len(smoothings), totals, lost,
        )  # fmt: skip
        return totals, below
    for group, part in enumerate(groups.split(values + offset)):
        below += int(np.count_nonzero(part < floor))
        positive = part[part > 0.0]
        totals[group] = [log_terms(positive, smoothing).sum() for smoothing in smoothings.tolist()]
    return totals, below


def log_products(x: FloatArray, rates: FloatArray, groups: Sorted) -> FloatArray:
    """(groups, rates): sums of log(1 + rate x), of either sign. Fast where no |rate x| is above 3/4.

    >>> np.exp(log_products(np.array([1.0, -0.5]), np.array([0.5]), Sorted.whole(2))).tolist()  # 1.5 times 0.75
    [[1.125]]
    """
    library = compiled()
    totals, lost = np.zeros((2, len(groups), len(rates)))
    if library is not None:
        library.call("log_products", x, groups.order, groups.edges, len(groups), rates, len(rates), totals, lost)
        return totals
    for group, part in enumerate(groups.split(x)):
        totals[group] = [np.log1p(rate * part).sum() for rate in rates.tolist()]
    return totals
