"""Rows sorted by the group they belong to, in their order within each: what every sum by group goes through."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import IntArray
from surelift.kernels.columns import scramble
from surelift.kernels.library import compiled

# Whole numbers that span up to this many times their count are told apart in a table; beyond, they are sorted.
_WORTH_A_TABLE = 4


@dataclass(frozen=True)
class Sorted:
    """The rows of group g are ``order[edges[g]:edges[g + 1]]``, or those themselves where there is no order."""

    order: npt.NDArray[np.int32] | None
    edges: IntArray

    def __len__(self) -> int:
        return len(self.edges) - 1

    @classmethod
    def whole(cls, rows: int) -> "Sorted":
        return cls(None, np.array([0, rows], dtype=np.int64))

    @classmethod
    def by(cls, codes: IntArray, groups: int) -> "Sorted":
        """Rows with a negative code are left out.

        >>> Sorted.by(np.array([1, -1, 0, 1]), 2).split(np.array([10, 20, 30, 40]))
        [array([30]), array([10, 40])]
        """
        library = compiled()
        if library is None:
            inside = np.flatnonzero(codes >= 0)
            order = inside[np.argsort(codes[inside], kind="stable")].astype(np.int32)
            return cls(order, np.searchsorted(codes[order], np.arange(groups + 1)).astype(np.int64))
        order, edges = np.empty(len(codes), dtype=np.int32), np.zeros(groups + 1, dtype=np.int64)
        library.call("sort_by_code", codes.astype(np.int64, copy=False), len(codes), groups, order, edges)
        return cls(order[: edges[-1]], edges)

    def split(self, values: Any) -> Sequence[Any]:
        """What belongs to each group, in the order of the rows."""
        chosen = values if self.order is None else values[self.order]
        return [chosen[start:stop] for start, stop in pairwise(self.edges.tolist())]


def distinct(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """The numbers that occur, in order, and each row's place among them.

    >>> distinct(np.array([7, 5, 7]))
    (array([5, 7]), array([1, 0, 1]))
    """
    if len(numbers) == 0:
        return numbers, numbers
    least = numbers.min()
    span = int(numbers.max()) - int(least) + 1
    if span > _WORTH_A_TABLE * len(numbers):
        found, places = np.unique(numbers, return_inverse=True)
        return found, places.astype(np.int64)
    shifted = numbers - least
    occurs = np.zeros(span, dtype=np.bool_)
    occurs[shifted] = True
    present = np.flatnonzero(occurs)
    if len(present) == span:
        return present + least, shifted
    table = np.zeros(span, dtype=np.int64)
    table[present] = np.arange(len(present))
    return present + least, table[shifted]


def random_blocks(numbers: npt.NDArray[np.uint64], count: int) -> IntArray:
    """A block for each number, from its hash alone."""
    library = compiled()
    if library is None:
        words = scramble(numbers) >> np.uint64(32)
        return (words * np.uint64(count) >> np.uint64(32)).astype(np.int64)
    codes = np.empty(len(numbers), dtype=np.int64)
    library.call("random_blocks", numbers, len(numbers), count, codes)
    return codes
