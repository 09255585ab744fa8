"""One vector over actions per round, of varying length, stored contiguously."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray

Number = TypeVar("Number", np.float64, np.uint64)


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vector i is ``values[starts[i]:starts[i + 1]]``; ``tolerance`` is how far its sum may be from 1.

    >>> Vectors.from_matrix(np.array([[0.25, 0.75], [1.0, 0.0]]), tolerance=1e-6).at(np.array([1, 0])).tolist()
    [0.75, 1.0]
    """

    values: FloatArray
    starts: IntArray
    tolerance: float

    @classmethod
    def from_matrix(cls, matrix: FloatArray, *, tolerance: float) -> "Vectors":
        rows, actions = matrix.shape
        return cls(np.ascontiguousarray(matrix).ravel(), np.arange(rows + 1, dtype=np.int64) * actions, tolerance)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.starts)

    def at(self, positions: IntArray) -> FloatArray:
        """Each vector's entry at the given position; NaN if the position does not exist."""
        inside = (positions >= 0) & (positions < self.lengths)
        entries = np.full(len(self), np.nan)
        entries[inside] = self.values[self.starts[:-1][inside] + positions[inside]]
        return entries

    def fold(self, ufunc: np.ufunc, values: npt.NDArray[Number], *, empty: float) -> npt.NDArray[Number]:
        """Reduce ``values``, laid out like these vectors, to one number per round with a ufunc such as ``np.add``."""
        lengths = self.lengths
        if len(lengths) and lengths[0] > 0 and (lengths == lengths[0]).all():
            return np.asarray(ufunc.reduce(values.reshape(len(lengths), lengths[0]), axis=1))
        result = np.full(len(lengths), empty, dtype=values.dtype)
        filled = lengths > 0
        if filled.any():
            result[filled] = ufunc.reduceat(values, self.starts[:-1][filled])
        return result

    def sums(self) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.fold(np.add, self.values, empty=0.0)

    def spread(self, per_round: FloatArray) -> FloatArray:
        return np.repeat(per_round, self.lengths)

    def normalised(self, *, only_down: bool) -> "Vectors":
        """Rescaled to sum to 1, or only rescaled down where the sum exceeds 1."""
        sums = self.sums()
        safe = np.where(sums > 0.0, np.maximum(sums, 1.0) if only_down else sums, 1.0)
        with np.errstate(invalid="ignore"):
            return self.replace_values(self.values / self.spread(safe))

    def replace_values(self, values: FloatArray) -> "Vectors":
        return Vectors(values, self.starts, self.tolerance)
