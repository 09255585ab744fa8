"""Log sums of terms under weight control: a capped share of the weight is taken off, and its known mean added back."""

import ctypes
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.library import Library, compiled
from surelift.kernels.log_sums import log_terms
from surelift.kernels.sorting import Sorted
from surelift.kernels.sums import cluster_means, group_sums

TILE = 32


@dataclass(frozen=True, slots=True)
class ControlledTerms:
    """One term for each round, and what is taken off it, before a cap: of the logged action, and of every action."""

    values: FloatArray
    taken: FloatArray
    starts: IntArray
    """The first action of each round, and behind the last, in the two below."""
    expected: FloatArray
    """What would be taken off, times how often production takes the action."""
    shares: FloatArray
    """How often production takes it."""

    def capped(self, cap: float) -> FloatArray:
        """The terms with the capped control taken off, and its mean added."""
        parts, lengths = np.minimum(self.expected, cap * self.shares), np.diff(self.starts)
        mean = np.zeros(len(lengths))
        filled = lengths > 0
        if filled.any():
            mean[filled] = np.add.reduceat(parts, self.starts[:-1][filled])
        return np.asarray(self.values + mean - np.minimum(self.taken, cap))


@dataclass(frozen=True, slots=True)
class UnitsOfRounds:
    """What a factor is made for: each round, or each run of rounds, in its group."""

    count: int
    groups: int
    codes: IntArray | None = None
    """The group of each unit, negative for none; without, all are one."""
    starts: IntArray | None = None
    """The first round of each unit, and behind the last; without, each round is one."""
    divisor: FloatArray | None = None
    padding: float | FloatArray = 0.0
    """What stands for each round that a unit lacks to its divisor, or a number for each unit."""
    keep: FloatArray | None = None
    """The probability with which each unit was kept."""


@dataclass(frozen=True, slots=True)
class ControlComponents:
    caps: FloatArray
    offsets: FloatArray
    smoothings: FloatArray

    def __len__(self) -> int:
        return len(self.caps)


def controlled_log_sums(
    terms: ControlledTerms, units: UnitsOfRounds, components: ControlComponents
) -> tuple[FloatArray, FloatArray, float]:
    """Two of (groups, components): sums over units of log(1 + smoothing (mean term + offset) / keep), and of what is scaled
    by the smoothing there; and the deepest shortfall: by how much, relative to 1 + offset, the term of a round fell below
    minus its offset.
    """
    library = compiled()
    return _reference(terms, units, components) if library is None else _compiled(library, terms, units, components)


class _Control(ctypes.Structure):
    """As in control.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("units", "groups")),
        *((name, ctypes.c_void_p) for name in ("codes", "unit_starts", "divisor", "padding", "keep", "values", "taken")),
        *((name, ctypes.c_void_p) for name in ("starts", "expected", "shares")),
        ("count", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in ("caps", "offsets", "smoothings", "products", "factors", "totals", "lost", "sums")
        ),
        ("deepest", ctypes.c_void_p),
    )


def _compiled(
    library: Library, terms: ControlledTerms, units: UnitsOfRounds, components: ControlComponents
) -> tuple[FloatArray, FloatArray, float]:
    size = -(-len(components) // TILE) * TILE
    # Filled up with components that add nothing, and whose terms are never below their floor.
    filled = np.zeros((3, size))
    filled[1] = 1e100
    filled[:, : len(components)] = components.caps, components.offsets, components.smoothings
    products, totals, lost, sums = (np.zeros((units.groups, size)) for _ in range(4))
    factors, deepest = np.zeros(units.groups, dtype=np.int64), np.zeros(1)
    padding = None
    if units.starts is not None and units.divisor is not None:
        padding = units.padding * (units.divisor - np.diff(units.starts))
    before = (
        units.codes, units.starts, units.divisor, padding, units.keep, terms.values, terms.taken, terms.starts,
        terms.expected, terms.shares,
    )  # fmt: skip
    held = [None if array is None else np.ascontiguousarray(array) for array in before]
    after = (*filled, products, factors, totals, lost, sums, deepest)
    control = _Control(
        units.count, units.groups, *(None if array is None else array.ctypes.data for array in held), size,
        *(array.ctypes.data for array in after),
    )  # fmt: skip
    library.call("controlled_log_sums", control)
    return totals[:, : len(components)], sums[:, : len(components)], float(deepest[0])


def _reference(
    terms: ControlledTerms, units: UnitsOfRounds, components: ControlComponents
) -> tuple[FloatArray, FloatArray, float]:
    totals, sums, deepest = (*(np.zeros((units.groups, len(components))) for _ in range(2)), 0.0)
    by_group = Sorted.whole(units.count) if units.codes is None else Sorted.by(units.codes, units.groups)
    columns = zip(components.caps.tolist(), components.offsets.tolist(), components.smoothings.tolist(), strict=True)
    for column, (cap, offset, smoothing) in enumerate(columns):
        capped = terms.capped(cap)
        deepest = max(deepest, -float(capped.min(initial=0.0) + offset) / (1.0 + offset))
        if units.starts is not None and units.divisor is not None:
            lacking = units.padding * (units.divisor - np.diff(units.starts)) / units.divisor
            capped = cluster_means(capped, units.starts, units.divisor, 0.0) + lacking
        shifted = np.maximum(capped + offset, 0.0)
        if units.keep is not None:
            shifted = shifted / units.keep
        totals[:, column] = group_sums(log_terms(shifted, smoothing), by_group)[:, 0]
        sums[:, column] = group_sums(shifted, by_group)[:, 0]
    return totals, sums, deepest
