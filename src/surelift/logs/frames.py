"""Rounds from what is already in memory or behind a query: arrays, data frames, DuckDB and polars queries."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import ROWS_PER_BATCH, Batch


class Arrays:
    """A dict of columns: NumPy arrays, lists, Series; two dimensions stand for a vector per round."""

    ordered = True

    def __init__(self, columns: Mapping[str, Any]) -> None:
        if not columns:
            raise UsageError("the dict of columns is empty; give at least a reward and a propensity.")
        self._columns = {str(name): _sliceable(str(name), column) for name, column in columns.items()}
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise UsageError(
                f"the columns differ in length: {', '.join(f'{k} has {v:,}' for k, v in lengths.items())}."
            )
        self._rows = next(iter(lengths.values()))

    def column_names(self) -> list[str]:
        return list(self._columns)

    def count(self) -> int:
        return self._rows

    def batches(self, columns: Sequence[str], *, numeric: Sequence[str]) -> Iterator[Batch]:
        for start in range(0, self._rows, ROWS_PER_BATCH):
            stop = start + ROWS_PER_BATCH
            parts = {name: _to_arrow(name, self._columns[name][start:stop]) for name in columns}
            yield Batch(pa.table(parts), start)


def _sliceable(name: str, column: Any) -> Any:
    if isinstance(column, np.ndarray | pa.Array | pa.ChunkedArray):
        if isinstance(column, np.ndarray) and column.ndim not in (1, 2):
            raise UsageError(f"column {name!r} has {column.ndim} dimensions; give one number, or one vector, a round.")
        return column
    if hasattr(column, "to_numpy"):
        return column.to_numpy()
    if isinstance(column, Sequence) and not isinstance(column, str | bytes):
        return column
    raise UsageError(f"column {name!r} is a {type(column).__name__}; give an array or a list with one entry a round.")


def _to_arrow(name: str, values: Any) -> ArrowColumn:
    try:
        if isinstance(values, np.ndarray) and values.ndim == 2:
            flat = pa.array(np.ascontiguousarray(values).ravel())
            return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        return values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise LogsError(f"column {name!r} holds values of mixed types: {error}\nGive it one type.") from error


class Frame:
    """A data frame in memory that narwhals knows: pandas, polars, pyarrow."""

    ordered = True

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def column_names(self) -> list[str]:
        return [str(name) for name in self._frame.columns]

    def count(self) -> int:
        return len(self._frame)

    def batches(self, columns: Sequence[str], *, numeric: Sequence[str]) -> Iterator[Batch]:
        selected = self._frame.select(list(columns))
        for start in range(0, len(selected), ROWS_PER_BATCH):
            try:
                yield Batch(selected[start : start + ROWS_PER_BATCH].to_arrow(), start)
            except (pa.ArrowException, TypeError, ValueError) as error:
                raise LogsError(
                    f"the rows from {start:,} on cannot be read: {error}\nGive each column one type; a column of mixed "
                    "Python objects often hides text among numbers."
                ) from error


class Query:
    """A lazy query, read as it runs: a DuckDB relation or a polars LazyFrame. Its rows have no order to rely on."""

    ordered = False

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def column_names(self) -> list[str]:
        return list(self._frame.collect_schema().names())

    def count(self) -> int:
        import narwhals as nw

        return int(self._frame.select(nw.len()).collect("pyarrow").item())

    def batches(self, columns: Sequence[str], *, numeric: Sequence[str]) -> Iterator[Batch]:
        native = self._frame.select(list(columns)).to_native()
        if hasattr(native, "to_arrow_reader"):
            tables = (pa.Table.from_batches([batch]) for batch in native.to_arrow_reader(ROWS_PER_BATCH))
        else:
            tables = (part.to_arrow() for part in native.collect_batches(chunk_size=ROWS_PER_BATCH))
        start = 0
        for table in tables:
            if table.num_rows:
                yield Batch(table, start)
                start += table.num_rows
