"""Names for the three kinds of array that travel through the library."""

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# pyarrow ships no type information, so its tables and columns are named here for the reader alone.
ArrowTable = Any
ArrowColumn = Any
