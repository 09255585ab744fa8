"""All sums of a batch of plain columns in one pass. Without a compiled library such batches are read as all others are."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.columns import KINDS, pointers
from surelift.kernels.library import Library
from surelift.kernels.weight_tables import BINS, PLACES

# Terms of rounds that earned something wait for a whole block: not where a batch is one block, or terms are many.
BLOCK, BLOCK_ROOM, MOST_WAITING = 4096, 4096 + 128, 256


@dataclass(frozen=True, slots=True)
class BatchTerms:
    """Of each candidate its share in a blend, of each term what it is made of; terms are sorted by candidate."""

    alphas: FloatArray
    first_term: IntArray
    """The first term of each candidate, and behind the last."""
    paired: IntArray
    complement: IntArray
    offsets: FloatArray
    first: IntArray
    """The first smoothing of each term, and behind the last."""
    smoothings: FloatArray
    with_tables: bool = False


@dataclass(frozen=True, slots=True)
class BatchSums:
    totals: FloatArray
    """Of each smoothing."""
    zeros: IntArray
    """Of each term the rounds that earned nothing, which are not in its totals."""
    moments: FloatArray
    """(terms, 2): sums of terms, and of their squares."""
    weights: FloatArray
    """(candidates, 3): sums of weights, of their squares, and the largest."""
    hashes: npt.NDArray[np.uint64]
    others: FloatArray
    """The sum of rewards, and the smallest propensity."""
    tables: FloatArray | None
    """(candidates, bins, 4): rounds by weight and reward, as ``weight_tables`` has them."""


class _BatchFields(ctypes.Structure):
    """As in batch.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("rows", "candidates", "terms")),
        *((name, ctypes.c_void_p) for name in ("columns", "kinds", "least", "most")),
        *((name, ctypes.c_double) for name in ("zero", "divisor")),
        *((name, ctypes.c_void_p) for name in ("alphas", "first_term", "paired", "complement", "offsets", "first")),
        *((name, ctypes.c_void_p) for name in ("smoothings", "totals", "lost", "zeros", "moments", "weights")),
        *((name, ctypes.c_void_p) for name in ("hashes", "others", "pending", "tables")),
    )


def add_up_batch(
    library: Library,
    columns: Sequence[npt.NDArray[Any]],
    limits: FloatArray,
    affine: tuple[float, float],
    plan: BatchTerms,
) -> BatchSums | None:
    """The sums of a batch; None if a value is not within the limits, (2, columns), of its column.

    ``columns`` are the reward, (reward - zero) / divisor on [0, 1], the propensity, and a probability of each candidate.
    """
    rows, terms, candidates = len(columns[0]), len(plan.offsets), len(plan.alphas)
    kinds = np.array([KINDS.index(column.dtype.name) for column in columns], dtype=np.int64)
    totals, lost, zeros = (
        np.zeros(len(plan.smoothings)),
        np.zeros(len(plan.smoothings)),
        np.zeros(terms, dtype=np.int64),
    )
    moments, weights = np.zeros((terms, 2)), np.zeros((candidates, 3))
    hashes, others = np.zeros(4, dtype=np.uint64), np.array([0.0, np.inf])
    waits = rows > BLOCK and terms <= MOST_WAITING
    pending = np.empty((terms, BLOCK_ROOM)) if waits else None
    tables = np.zeros((candidates, BINS, PLACES)) if plan.with_tables else None
    arrays = (
        plan.alphas, plan.first_term, plan.paired, plan.complement, plan.offsets, plan.first, plan.smoothings,
        totals, lost, zeros, moments, weights, hashes, others, pending, tables,
    )  # fmt: skip
    addresses = pointers(columns)
    batch = _BatchFields(
        rows, candidates, terms, ctypes.addressof(addresses), kinds.ctypes.data, limits[0].ctypes.data,
        limits[1].ctypes.data, *affine, *(None if array is None else array.ctypes.data for array in arrays),
    )  # fmt: skip
    if not library.call("add_up_batch", batch):
        return None
    return BatchSums(totals + lost, zeros, moments, weights, hashes, others, tables)
