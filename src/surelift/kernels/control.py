"""Log sums of terms under weight control: a capped share of the weight is taken off, and its known mean added back."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.library import Packed, compiled
from surelift.kernels.log_sums import log_terms
from surelift.kernels.loop import LoopUnits
from surelift.kernels.sorting import Sorted
from surelift.kernels.sums import cluster_means, group_sums

TILE = 32


@dataclass(frozen=True, slots=True)
class ControlledTerms:
    """One term for each round, and what is taken off it, before a cap: of the logged action, and of every action."""

    values: FloatArray
    taken: FloatArray
    starts: IntArray  # the first action of each round, and behind the last, in the two below
    expected: FloatArray  # what would be taken off, times how often production takes the action
    shares: FloatArray  # how often production takes it

    def capped(self, cap: float) -> FloatArray:
        """The terms with the capped control taken off, and its mean added."""
        parts, lengths = np.minimum(self.expected, cap * self.shares), np.diff(self.starts)
        mean = np.zeros(len(lengths))
        filled = lengths > 0
        if filled.any():
            mean[filled] = np.add.reduceat(parts, self.starts[:-1][filled])
        return np.asarray(self.values + mean - np.minimum(self.taken, cap))


class ControlComponents(NamedTuple):
    caps: FloatArray
    offsets: FloatArray
    smoothings: FloatArray


def controlled_log_sums(
    terms: ControlledTerms, units: LoopUnits, components: ControlComponents
) -> tuple[FloatArray, FloatArray, float]:
    """Two of (groups, components): sums over units of log(1 + smoothing (mean term + offset) / keep), and of what is scaled
    by the smoothing there; and the deepest shortfall: by how much, relative to 1 + offset, the term of a round fell below
    minus its offset.
    """
    library, lacking, count = compiled(), units.lacking(), len(components.caps)
    if library is None:
        return _reference(terms, units, components)
    size = -(-count // TILE) * TILE
    # Filled up with components that add nothing, and whose terms are never below their floor.
    filled = np.zeros((3, size))
    filled[1] = 1e100
    filled[:, :count] = components
    products, totals, lost, sums = (np.zeros((units.groups, size)) for _ in range(4))
    factors, deepest = np.zeros(units.groups, dtype=np.int64), np.zeros(1)
    padding = None if lacking is None else units.padding * lacking
    # Fields as `Control` in control.c has them.
    library.call("controlled_log_sums", Packed(
        units.count, units.groups, units.codes, units.starts, units.divisors, padding, units.keep, terms.values,
        terms.taken, terms.starts, terms.expected, terms.shares, size, *filled, products, factors, totals, lost, sums,
        deepest,
    ))  # fmt: skip
    return totals[:, :count], sums[:, :count], float(deepest[0])


def _reference(
    terms: ControlledTerms, units: LoopUnits, components: ControlComponents
) -> tuple[FloatArray, FloatArray, float]:
    (totals, sums), deepest = np.zeros((2, units.groups, len(components.caps))), 0.0
    by_group = Sorted.whole(units.count) if units.codes is None else Sorted.by(units.codes, units.groups)
    for column, (cap, offset, smoothing) in enumerate(zip(*(each.tolist() for each in components), strict=True)):
        capped, lacking = terms.capped(cap), units.lacking()
        deepest = max(deepest, -float(capped.min(initial=0.0) + offset) / (1.0 + offset))
        if lacking is not None and units.starts is not None and units.divisors is not None:
            capped = cluster_means(capped, units.starts, units.divisors, 0.0) + units.padding * lacking / units.divisors
        shifted = np.maximum(capped + offset, 0.0)
        if units.keep is not None:
            shifted = shifted / units.keep
        totals[:, column] = group_sums(log_terms(shifted, smoothing), by_group)[:, 0]
        sums[:, column] = group_sums(shifted, by_group)[:, 0]
    return totals, sums, deepest
