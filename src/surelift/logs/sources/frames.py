"""Rounds in memory or behind a query: arrays, data frames, DuckDB and polars queries."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, as_numpy, unmasked
from surelift.errors import LogsError, UsageError, printed
from surelift.logs.alignment import aligned, index_of
from surelift.logs.batch import Needs, TableBatch, engine_errors, left_behind, number_rows, rows_per_batch
from surelift.logs.sources.pushdown import filtered
from surelift.logs.sources.tables import UnorderedTable

_CONVERSION = (pa.ArrowException, TypeError, ValueError, OverflowError)


class Arrays:
    """A dict of columns: NumPy arrays, lists, Series. A two-dimensional array holds one vector per round."""

    ordered = skips_rows = True

    def __init__(self, columns: Mapping[str, Any]) -> None:
        columns = aligned({str(name): column for name, column in columns.items()})
        self.index = next((index for index in map(index_of, columns.values()) if index is not None), None)
        self._columns = {name: _sliceable(name, column) for name, column in columns.items()}
        lengths, problem = {name: len(column) for name, column in self._columns.items()}, ""
        if not columns:
            problem = "the dict of columns is empty; give at least a reward and a propensity."
        elif len(set(lengths.values())) > 1:
            problem = f"the columns differ in length: {', '.join(f'{k} has {v:,}' for k, v in lengths.items())}."
        if problem:
            raise UsageError(problem)
        self._rows = next(iter(lengths.values()))

    def column_names(self) -> list[str]:
        return list(self._columns)

    def count(self) -> int:
        return self._rows

    def batches(self, needs: Needs, first: int = 0, last: int = sys.maxsize) -> Iterator[TableBatch]:
        arrays = [self._columns[name] for name in needs.columns()]
        widest = max((a.shape[1] for a in arrays if isinstance(a, np.ndarray) and a.ndim == 2), default=1)
        size = rows_per_batch(len(arrays), widest)
        last = min(last, self._rows)
        for start in range(first, last, size):
            stop = min(start + size, last)
            parts = {name: to_arrow(name, self._columns[name][start:stop], start) for name in needs.columns()}
            yield TableBatch(pa.table(parts), start)


class Frame:
    """An in-memory data frame that narwhals supports: pandas, polars, pyarrow."""

    ordered = skips_rows = True

    def __init__(self, frame: Any, repeated: frozenset[str] = frozenset()) -> None:
        self._frame, self.repeated = frame, repeated
        for name in frame.columns:
            if not isinstance(name, str):
                raise UsageError(f"column names must be strings, but one is {name!r}, a {type(name).__name__}; rename it.")

    @cached_property
    def index(self) -> Any:
        return index_of(self._frame.to_native())

    def column_names(self) -> list[str]:
        return list(self._frame.columns)

    def count(self) -> int:
        return len(self._frame)

    def batches(self, needs: Needs, first: int = 0, last: int = sys.maxsize) -> Iterator[TableBatch]:
        selected = self._frame.select(needs.columns())
        size, last = rows_per_batch(len(selected.columns)), min(last, len(selected))
        for start in range(first, last, size):
            part = selected[start : min(start + size, last)]
            table = None
            if "Object" not in map(str, part.schema.values()):
                with suppress(*_CONVERSION):
                    table = part.to_arrow()
            if table is None:
                table = pa.table({name: _one_column(part[name], name, start) for name in part.columns})
            yield TableBatch(table, start)


class LazyQuery(UnorderedTable):
    """A lazy query, streamed: a DuckDB relation or a polars LazyFrame."""

    unreadable = "the query could not be read"

    def __init__(self, frame: Any) -> None:
        self._frame, native = frame, frame.to_native()
        with engine_errors(self.unreadable):
            # Of a DuckDB relation narwhals gives no name twice.
            super().__init__(native.columns if hasattr(native, "to_arrow_reader") else frame.collect_schema().names())

    def rows(self) -> int:
        import narwhals as nw

        return int(self._frame.select(nw.len()).collect("pyarrow").item())

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        names, kept = needs.columns(), 0
        selected, size = self._frame.select(names).to_native(), rows_per_batch(len(names))
        query = None if needs.where is None else filtered(selected, needs.where)
        native = selected if query is None else query
        with engine_errors(self.unreadable):
            if hasattr(native, "to_arrow_reader"):
                tables = (pa.Table.from_batches([batch]) for batch in native.to_arrow_reader(size))
            else:
                tables = (part.to_arrow() for part in native.collect_batches(chunk_size=size))
            for batch in number_rows(tables):
                kept += batch.table.num_rows
                yield batch
            if query is not None:
                nothing = pa.table({name: pa.nulls(0) for name in names})
                yield TableBatch(nothing, kept, excluded=left_behind(self.count(), kept))


def _sliceable(name: str, column: Any) -> Any:
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if isinstance(column, np.ndarray) or any(hasattr(column, name) for name in ("to_numpy", "detach", "toarray")):
        # Arrow keeps the mask, and whole numbers, of a masked array of one dimension.
        masked = isinstance(column, np.ma.MaskedArray) and column.ndim == 1 and column.dtype.kind in "fiub"
        masked = masked and column.dtype != np.longdouble
        array = column.astype(column.dtype.newbyteorder("=")) if masked else as_numpy(column, f"column {name!r}")
        if array.ndim in (1, 2):
            return array
        problem = f"has {array.ndim} dimensions; give one number or one vector per round"
    elif isinstance(column, Sequence) and not isinstance(column, str | bytes):
        return column
    else:
        problem = f"is a {type(column).__name__}; give an array or a list with one entry per round"
    raise UsageError(f"column {name!r} {problem}.")


def _one_column(column: Any, name: str, start: int) -> ArrowColumn:
    # Arrow drops the masks of arrays in a column of objects.
    if str(column.dtype) != "Object" or not any(isinstance(entry, np.ma.MaskedArray) for entry in column):
        with suppress(*_CONVERSION):
            return column.to_arrow()
    return to_arrow(name, column.to_list(), start)


def to_arrow(name: str, values: Any, start: int) -> ArrowColumn:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        if isinstance(values, np.ndarray) and values.ndim == 2:
            flat = pa.array(np.ascontiguousarray(values).ravel())
            return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        objects = isinstance(values, np.ndarray) and values.dtype.kind == "O"  # NaN among text is a missing value
        return pa.array(values if isinstance(values, np.ma.MaskedArray) else unmasked(values), from_pandas=objects)
    except _CONVERSION:
        return _mixed_numbers(name, list(values), start)


def _mixed_numbers(name: str, values: list[Any], start: int) -> ArrowColumn:
    """A column of several Python types, if all are numeric; or of text with gaps, which pandas fills with NaN or NA."""
    text = any(isinstance(value, str) for value in values)
    for i, value in enumerate(values):
        if type(value).__name__ == "NAType" or (text and isinstance(value, float) and value != value):
            values[i] = None
    if text and None in values:
        with suppress(*_CONVERSION):
            return pa.array(values, pa.string())
    bad = [
        i for i, value in enumerate(values)
        if not (value is None or isinstance(value, bool | int | float | np.integer | np.floating))
        or (isinstance(value, int) and abs(value) > sys.float_info.max)
    ]  # fmt: skip
    if bad:
        first = values[bad[0]]
        raise LogsError(
            f"column {name!r} mixes types: {len(bad):,} of the {len(values):,} values from row {start:,} on are not "
            f"numbers; the first is {printed(first)}, a {type(first).__name__}, in row {start + bad[0]:,}, counting from "
            "0.\nGive the column one type; text among numbers is often an export error."
        )
    return pa.array([None if value is None else float(value) for value in values])
