"""The features of many contexts: a table, a frame or a matrix, encoded by a layout."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.arrays import ArrowColumn, FloatArray, as_numpy
from surelift.errors import LogsError, UsageError
from surelift.learning.data.layout import FeatureLayout
from surelift.logs.alignment import aligned
from surelift.logs.columns import decode, equal_lists, is_list, is_text, list_to_vectors, to_numbers
from surelift.traits.logs import Logs

__all__ = ["FeatureLayout", "as_logs", "as_table", "encode"]


def encode(layout: FeatureLayout, table: Any, out: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
    """The features, (rows, features), of a pyarrow table with these columns; missing numbers are refused.

    They are written into ``out`` where it is given, which must hold zeros.
    """
    absent = [name for name in layout.names if name not in table.column_names]
    if absent:
        raise UsageError(f"the contexts have no column {absent[0]!r}; the columns are {', '.join(table.column_names[:20])}.")
    out = np.zeros((table.num_rows, layout.size), dtype=np.float32) if out is None else out
    start = numeric = 0
    for name in layout.names:
        width = layout.width(name)
        if name in layout.texts:
            kind = decode(table[name]).type
            if not (is_text(decode(table[name])) or pa.types.is_null(kind)):
                raise LogsError(
                    f"context {name!r} was text when the policy was learned, but holds {kind} here; give it as text."
                )
            _encode_text(table[name], layout.texts[name], out[:, start : start + width])
        else:
            columns = slice(numeric, numeric + width)
            centre, scale = (None if known is None else np.array(known[columns]) for known in (layout.centre, layout.scale))
            values = _numbers(layout, table[name], name)
            if not _to_single(values, out[:, start : start + width], centre, scale):
                if not np.isfinite(values).all():
                    raise _too_few(name, width)
                raise LogsError(f"context {name!r} has numbers beyond 1e38; rescale it.")
            numeric += width
        start += width
    if layout.intercept:
        out[:, start] = 1.0
    return out


def _too_few(name: str, expected: int) -> LogsError:
    return LogsError(f"context {name!r}: every round needs {expected} finite numbers, but some do not have them.")


def _numbers(layout: FeatureLayout, column: ArrowColumn, name: str) -> npt.NDArray[np.floating[Any]]:
    expected = layout.width(name)
    if is_list(column):
        matrix = equal_lists(column)
        if matrix is not None and matrix.shape[1] == expected:
            return matrix
        vectors, missing = list_to_vectors(column)
        lengths = vectors.lengths
        if missing.any() or (lengths != expected).any():
            raise _too_few(name, expected)
        return vectors.values.reshape(len(lengths), expected)
    if expected != 1:
        raise LogsError(f"context {name!r} was a list of {expected} numbers when the policy was learned; give it as one.")
    numbers = to_numbers(column)
    bad = numbers.null | numbers.not_numeric | ~np.isfinite(numbers.values)
    if bad.any():
        first = int(np.argmax(bad))
        raise LogsError(
            f"context {name!r}: {np.count_nonzero(bad):,} of {len(bad):,} values are missing or not finite; the first "
            f"is {column[first].as_py()!r} in row {first} of its batch.\nFill in a value that means 'unknown', or drop "
            "this context."
        )
    return numbers.values[:, None]


def _encode_text(column: ArrowColumn, texts: Sequence[str], out: npt.NDArray[np.float32]) -> None:
    encoded = decode(column).dictionary_encode()
    known = {text: k for k, text in enumerate(texts)}
    # An unseen text sets the last feature; a missing one sets none.
    feature = np.array([known.get(text, len(texts)) for text in encoded.dictionary.to_pylist()] + [-1])
    codes = np.asarray(encoded.indices.fill_null(len(feature) - 1))
    rows = np.flatnonzero(feature[codes] >= 0)
    out[rows, feature[codes[rows]]] = 1.0


def _to_single(
    values: npt.NDArray[np.floating[Any]],
    out: npt.NDArray[np.float32],
    centre: FloatArray | None,
    scale: FloatArray | None,
) -> bool:
    """Write in single precision, standardised where asked; returns whether all values fit."""
    fits, rows = True, pieces_in_cache(values.shape[1])
    for start in range(0, len(values), rows):
        part, piece = out[start : start + rows], values[start : start + rows]
        with np.errstate(over="ignore"):
            part[...] = piece if centre is None or scale is None else (piece - centre) / scale
        fits = fits and bool(np.isfinite(part).all())
    return fits


def pieces_in_cache(width: int) -> int:
    """Rows at a time such that temporary arrays stay in the processor's cache: new memory costs more than arithmetic."""
    return max(1, (1 << 18) // width)


def as_table(contexts: Any, names: Sequence[str] | None = None) -> pa.Table:
    """A frame with these columns, or a matrix with as many; columns without names become x0, x1, ..."""
    if isinstance(contexts, pa.Table | pa.RecordBatch):
        return contexts
    import narwhals as nw

    try:
        if isinstance(contexts, Mapping):
            return pa.table(aligned(contexts))
        if hasattr(contexts, "columns"):
            return nw.from_native(contexts, eager_only=True).to_arrow()
        matrix = as_numpy(contexts, "the contexts")
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
    arrays = aligned({"contexts": contexts, **{name: columns[name] for name in columns if name not in labels}})
    table = as_table(arrays.pop("contexts"))
    clash = [name for name in arrays if name in table.column_names]
    if clash:
        raise UsageError(f"the contexts have a column {clash[0]!r}, which is also an argument of fit; rename it.")
    if "logging" in arrays:
        arrays["logging"] = as_numpy(arrays["logging"], "logging")
    features = {name: table[name] for name in table.column_names}
    named: dict[str, Any] = {name: name for name in arrays}
    return Logs({**features, **arrays}, contexts=list(features), reward_range=reward_range, **named, **labels)
