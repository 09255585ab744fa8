"""Names for the arrays and Arrow objects used throughout the library."""

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

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
