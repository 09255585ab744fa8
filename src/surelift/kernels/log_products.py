"""Log products: for every rate, the logarithm of the product of 1 + rate x over the rows of each group."""

import numpy as np

from surelift.arrays import FloatArray
from surelift.kernels.library import compiled
from surelift.kernels.sorting import Sorted


def log_products(x: FloatArray, rates: FloatArray, groups: Sorted) -> FloatArray:
    """(groups, rates): sums of log(1 + rate x), of either sign. Fast where no |rate x| is above 3/4.

    >>> np.exp(log_products(np.array([1.0, -0.5]), np.array([0.5]), Sorted.whole(2))).tolist()  # 1.5 times 0.75
    [[1.125]]
    """
    library = compiled()
    if library is None:
        return _reference(x, rates, groups)
    totals, lost = np.zeros((len(groups), len(rates))), np.zeros((len(groups), len(rates)))
    library.call(
        "log_products", np.ascontiguousarray(x), groups.order, groups.edges, len(groups), np.ascontiguousarray(rates),
        len(rates), totals, lost,
    )  # fmt: skip
    return totals


def _reference(x: FloatArray, rates: FloatArray, groups: Sorted) -> FloatArray:
    totals = np.zeros((len(groups), len(rates)))
    for group, part in enumerate(groups.split(x)):
        totals[group] = [np.log1p(rate * part).sum() for rate in rates.tolist()]
    return totals
