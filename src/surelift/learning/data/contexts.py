"""What a user passes as contexts: a frame, a matrix, or Logs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.errors import UsageError
from surelift.logs.logs import Logs


def as_table(contexts: Any, names: Sequence[str] | None = None) -> pa.Table:
    """A frame with these columns, or a matrix with as many; columns without names become x0, x1, ..."""
    if isinstance(contexts, pa.Table | pa.RecordBatch):
        return contexts
    import narwhals as nw

    try:
        if isinstance(contexts, Mapping):
            return pa.table(dict(contexts))
        if hasattr(contexts, "columns"):
            return nw.from_native(contexts, eager_only=True).to_arrow()
        matrix = np.asarray(contexts)
        matrix = matrix[:, None] if matrix.ndim == 1 else matrix
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub" or (names is not None and matrix.shape[1] != len(names)):
            width = "" if names is None else f" with {len(names)} columns"
            raise UsageError(
                f"contexts must be a frame or a numeric matrix{width}, but have shape {matrix.shape} and type "
                f"{matrix.dtype}."
            )
        columns = [f"x{k}" for k in range(matrix.shape[1])] if names is None else names
        return pa.table({name: matrix[:, k] for k, name in enumerate(columns)})
    except (pa.ArrowException, nw.exceptions.NarwhalsError, TypeError) as error:
        raise UsageError(f"the contexts cannot be read as a table: {error}") from error


def as_logs(contexts: Any, columns: Mapping[str, Any], reward_range: tuple[float, float]) -> Logs:
    """The logs to learn from: ``contexts`` if they are Logs, else contexts with these columns beside them."""
    if isinstance(contexts, Logs):
        if columns or tuple(reward_range) != (0, 1):
            raise UsageError(f"{next(iter(columns), 'reward_range')}= is already declared by the logs; remove it.")
        return contexts
    if contexts is None or isinstance(contexts, str):
        raise UsageError("contexts must be Logs, a frame or a matrix. To learn from a file, pass Logs(path, ...).")
    labels = {name: columns[name] for name in ("actions", "action_count") if name in columns}
    arrays = {name: column for name, column in columns.items() if name not in labels}
    table = as_table(contexts)
    clash = [name for name in arrays if name in table.column_names]
    if clash:
        raise UsageError(f"the contexts have a column {clash[0]!r}, which is also an argument of fit; rename it.")
    if "logging" in arrays:
        arrays["logging"] = np.asarray(arrays["logging"])
    features = {name: table[name] for name in table.column_names}
    declared: dict[str, Any] = {**{name: name for name in arrays}, **labels}
    return Logs({**features, **arrays}, contexts=list(features), reward_range=reward_range, **declared)
