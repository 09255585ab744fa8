"""The user's own functions of a batch: what they are shown, and that they agree with themselves."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.errors import SureliftError, UsageError
from surelift.logs.rows import Rows

ASKED_AGAIN = 4096  # of every batch, so many rounds are asked about again, in two parts
# Softmax probabilities in single precision differ by nearly as much from one size of batch to the next, whatever the type
# they are returned in.
RELATIVE, ABSOLUTE = 1e-4, 1e-6


def ask(function: Callable[[Any], Any], rows: Rows, columns: Sequence[str], subject: str) -> Any:
    """What a function returns for a batch, if it returns the same for parts of it: otherwise it is not one policy."""
    table = rows.handed_on(columns)
    values = _call(function, table, rows, subject)
    again = min(table.num_rows, ASKED_AGAIN)
    cut = max(again // 3, 1)
    for first, last in ((0, cut), (cut, again)):
        # Another number of rows is refused where they are read.
        if first < last and getattr(values, "ndim", 1) and len(values) == table.num_rows:
            part = _call(function, table.slice(first, last - first), rows, subject)
            close = _close_rows(values[first:last], part)
            if not np.all(close):
                row = int(rows.numbered[first + int(np.argmin(close))])
                raise UsageError(
                    f"{subject} does not agree with itself: for row {row:,} it returns other numbers in a batch of "
                    f"{table.num_rows:,} rounds than in one of {last - first:,}.\nIt depends on the other rounds of its "
                    "batch, on chance or on earlier calls, so no bound holds. Compute each round from its own columns; "
                    "for numbers that are ready, pass an array or a column."
                )
    return values


def _call(function: Callable[[Any], Any], table: Any, rows: Rows, subject: str) -> Any:
    try:
        return function(table)
    except Exception as error:
        roles = rows.logs.declaration.hidden
        for name in set(rows.logs.column_names()) - set(table.column_names):
            named = f"'{name}'" in str(error) or f'"{name}"' in str(error)
            if named and not isinstance(error, SureliftError):
                why = f"is the {roles[name]}" if name in roles else "is not among contexts="
                raise UsageError(
                    f"{subject} asks for column {name!r}, which {why}. Functions are shown the columns in contexts=, or "
                    "else all but the reward, the propensity and keep_probability."
                ) from error
        raise


def _close_rows(values: Any, again: Any) -> Any:
    if isinstance(values, pa.Array) or isinstance(again, pa.Array):
        # Vectors of different lengths; those of a part may well be equally long.
        first, second = ([np.array(row) for row in part.tolist()] for part in (values, again))
        if len(first) != len(second):
            return [False]
        return [a.shape == b.shape and bool(_close(a, b).all()) for a, b in zip(first, second, strict=True)]
    return _close(values, again).reshape(len(values), -1).all(axis=1) if np.shape(values) == np.shape(again) else [False]


def _close(values: Any, again: Any) -> Any:
    if values.dtype.kind not in "fiub" or again.dtype.kind not in "fiub":
        return np.ones(values.shape, dtype=np.bool_)  # refused where they are read
    scale = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return np.isclose(values, again, rtol=RELATIVE, atol=ABSOLUTE * scale, equal_nan=True)
