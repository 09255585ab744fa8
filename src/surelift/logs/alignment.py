"""Row labels of pandas objects given beside each other: rows are matched by them, and never silently by position."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from surelift.arrays import IntArray
from surelift.errors import UsageError


def index_of(form: Any) -> Any:
    """The index of a pandas Series or frame, recognised without importing pandas; nothing else has one."""
    index = getattr(form, "index", None)
    return index if hasattr(index, "get_indexer") else None


def aligned(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns with those that have an index in the order of the first such; unequal indexes are refused."""
    arranged, first, wanted = dict(columns), "", None
    for name, column in columns.items():
        index = index_of(column)
        first, wanted = (name, index) if wanted is None else (first, wanted)
        # Columns of different lengths are refused as such.
        if index is not None and len(index) == len(wanted) and not index.equals(wanted):
            require_same_labels(index, wanted, name, first)
            arranged[name] = column.iloc[index.get_indexer(wanted)]
    return arranged


def require_same_labels(index: Any, wanted: Any, name: str, beside: str) -> None:
    """Raise unless two indexes of equal length are equal, or hold the same labels, each once."""
    twice = not (index.is_unique and wanted.is_unique)
    if index.equals(wanted) or (not twice and wanted.isin(index).all()):
        return
    row = next((row for row, pair in enumerate(zip(index, wanted, strict=True)) if pair[0] != pair[1]), 0)
    why = " Some labels occur twice, so rows cannot be matched by them." if twice else ""
    raise UsageError(
        f"{name} and {beside} have different indexes: row {row} is {index[row]!r} in {name} and {wanted[row]!r} in {beside}."
        f"{why}\nIf their rows stand in the same order, drop the indexes with reset_index(drop=True); otherwise put both "
        "into one frame, and name its columns."
    )


def require_row_order(index: Any, name: str) -> None:
    """Raise if an index is of row numbers in another order, where the rows beside it have no labels."""
    rows = np.arange(len(index))
    labels = np.asarray(index)
    if labels.dtype.kind in "iu" and not np.array_equal(labels, rows) and np.array_equal(np.sort(labels), rows):
        raise UsageError(
            f"the index of {name} numbers its rows in another order, but the logs have no index to match it with.\nUse "
            "sort_index() if it holds the row numbers of the logs, or to_numpy() to take its rows as they stand."
        )


def places(index: Any, wanted: Any, start: int, stop: int) -> slice | IntArray:
    """Where the rows ``start`` to ``stop`` of ``wanted`` stand in ``index``, which holds the same labels."""
    if index is None or wanted is None or index[start:stop].equals(wanted[start:stop]):
        return slice(start, stop)
    return np.asarray(index.get_indexer(wanted[start:stop]), dtype=np.int64)
