"""Actions as positions in a vector, from whole numbers or declared labels, regardless of file format."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surelift.arrays import ArrowColumn, BoolArray, FloatArray, IntArray
from surelift.logs.columns import decode, is_absent, is_text, to_numbers

NOWHERE = -1


def find_positions(
    column: ArrowColumn, labels: Sequence[Any] | None, *, as_text: bool
) -> tuple[IntArray, BoolArray, ArrowColumn]:
    """Positions counted from 0 (``NOWHERE`` if invalid), a mask of missing rows, and the decoded column for messages.

    Without labels, whole numbers are positions. Labels that are numbers, or look like numbers, are always labels. Other
    labels are matched as text, and whole numbers mixed with them are positions. In a CSV, "1" and 1 are the same.
    """
    column = decode(column)
    if labels is None:
        return _whole_positions(to_numbers(column, as_text=as_text).values), is_absent(column), column
    if all(not isinstance(label, str) for label in labels):
        numbers = to_numbers(column, as_text=as_text)
        return _match(pa.array(numbers.values), [float(label) for label in labels]), is_absent(column), column
    texts = [str(label) for label in labels]
    null = is_absent(column)
    if not is_text(column):
        whole = _whole_positions(to_numbers(column, as_text=False).values)
        if not _look_like_numbers(texts):
            return np.where(whole < len(labels), whole, NOWHERE), null, column
        return _match(pa.array(whole).cast(pa.string()), texts), null, column
    positions = _match(column, texts)
    if as_text:
        null = null & (positions == NOWHERE)
        if not _look_like_numbers(texts):
            whole = _whole_positions(to_numbers(column, as_text=True).values)
            positions = np.where((positions == NOWHERE) & (whole < len(labels)), whole, positions)
    return positions, null, column


def _whole_positions(values: FloatArray) -> IntArray:
    whole = (values == np.floor(values)) & (values >= 0) & (values < 2**62)
    return np.where(whole, values, NOWHERE).astype(np.int64)


def _match(column: ArrowColumn, labels: Sequence[Any]) -> IntArray:
    positions = pc.index_in(column, value_set=pa.array(labels).cast(column.type))
    return np.asarray(pc.fill_null(positions, NOWHERE), dtype=np.int64)


def _look_like_numbers(labels: Sequence[str]) -> bool:
    return not to_numbers(pa.array(labels), as_text=True).not_numeric.any()
