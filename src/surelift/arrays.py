"""Names for the arrays and Arrow objects used throughout the library."""

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.errors import UsageError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# pyarrow ships no type information; these names are for the reader only.
ArrowTable = Any
ArrowColumn = Any


class _Compute:
    """``pyarrow.compute``, imported at first use: a plain column of numbers does without."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("pyarrow.compute"), name)


pc = _Compute()


def as_numpy(values: Any, subject: str) -> npt.NDArray[Any]:
    """An array in this machine's byte order; masked entries are NaN, complex numbers are refused."""
    try:
        if hasattr(values, "detach"):
            values = values.detach().cpu()  # a tensor that requires gradients, or lies on a GPU
        elif hasattr(values, "toarray"):
            values = values.toarray()  # a sparse matrix
        array = np.asarray(unmasked(values))
        if array.dtype.kind == "O" and array.ndim == 2 and hasattr(values, "isna"):
            array = values.to_numpy(dtype=np.float64, na_value=np.nan)  # a pandas frame with missing values
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"{subject} cannot be read as numbers: {error}") from error
    if array.dtype.kind == "c":
        raise UsageError(f"{subject} holds complex numbers, of type {array.dtype}; give real ones.")
    return array.astype(np.float64 if array.dtype == np.longdouble else array.dtype.newbyteorder("="), copy=False)


def unmasked(values: Any) -> Any:
    """The same with NaN in the place of masked numbers, also in a list of masked arrays."""
    if isinstance(values, np.ma.MaskedArray):
        if values.dtype.kind not in "fiubc":
            return values.tolist()
        return np.ma.filled(values.astype(np.promote_types(values.dtype, np.float64)), np.nan)
    listed = isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.dtype.kind == "O")
    if listed and any(isinstance(entry, np.ma.MaskedArray) for entry in values):
        return [unmasked(entry) for entry in values]
    return values
