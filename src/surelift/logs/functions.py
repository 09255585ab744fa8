"""The user's own functions of a batch: what they are shown, and that they agree with themselves."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.errors import SureliftError, UsageError
from surelift.logs.rows import Rows

# Of every batch, so many rounds are asked about again, in two parts.
ASKED_AGAIN = 4096
# Softmax probabilities in single precision differ by nearly as much from one size of batch to the next, whatever the type
# they are returned in.
RELATIVE, ABSOLUTE = 1e-4, 1e-6


def ask(function: Callable[[Any], Any], rows: Rows, columns: Sequence[str], subject: str) -> Any:
    """What a function returns for a batch, if it returns the same for parts of it.

    A policy whose probabilities depend on the other rounds, on chance or on earlier calls is not one policy, and what is
    added up about it has no bound.
    """
    table = rows.handed_on(columns)
    values = _call(function, table, rows, subject)
    again = min(table.num_rows, ASKED_AGAIN)
    cut = max(again // 3, 1)
    for first, last in ((0, cut), (cut, again)):
        # Another number of rows is refused where they are read.
        if first < last and getattr(values, "ndim", 1) and len(values) == table.num_rows:
            part = _call(function, table.slice(first, last - first), rows, subject)
            row = _first_difference(values[first:last], part)
            if row is not None:
                raise UsageError(
                    f"{subject} does not agree with itself: for row {rows.start + first + row:,} it returns other numbers "
                    f"in a batch of {table.num_rows:,} rounds than in one of {last - first:,}.\nIt depends on the other "
                    "rounds of its batch, on chance or on earlier calls, so no bound holds. Compute each round from its "
                    "own columns alone; for numbers that are ready, pass an array or a column."
                )
    return values


def _call(function: Callable[[Any], Any], table: Any, rows: Rows, subject: str) -> Any:
    try:
        return function(table)
    except SureliftError:
        raise
    except Exception as error:
        roles, said = rows.logs.declaration.hidden, str(error)
        for name in set(rows.logs.column_names()) - set(table.column_names):
            if f"'{name}'" in said or f'"{name}"' in said:
                why = f"is the {roles[name]}" if name in roles else "is not among contexts="
                raise UsageError(
                    f"{subject} asks for column {name!r}, which {why}. Functions are shown the columns in contexts=, or "
                    "else all but the reward, the propensity and keep_probability."
                ) from error
        raise


def _first_difference(values: Any, again: Any) -> int | None:
    if isinstance(values, pa.Array) or isinstance(again, pa.Array):
        # Vectors of different lengths; those of a part may well be equally long.
        rows = [[np.array(row) for row in part.tolist()] for part in (values, again)]
        if len(rows[0]) != len(rows[1]):
            return 0
        close = [a.shape == b.shape and bool(_close(a, b).all()) for a, b in zip(*rows, strict=True)]
    elif np.shape(values) != np.shape(again):
        return 0
    else:
        close = _close(values, again).reshape(len(values), -1).all(axis=1)
    return None if np.all(close) else int(np.argmin(close))


def _close(values: Any, again: Any) -> Any:
    if values.dtype.kind not in "fiub" or again.dtype.kind not in "fiub":
        return np.ones(values.shape, dtype=np.bool_)  # refused where they are read
    scale = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return np.isclose(values, again, rtol=RELATIVE, atol=ABSOLUTE * scale, equal_nan=True)
