"""Choose the reader for whatever the user passes as ``source``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.logs.batch import Source
from surelift.logs.sources.files import Files
from surelift.logs.sources.frames import Arrays, Frame, LazyQuery
from surelift.logs.sources.json_lines import columns_of
from surelift.logs.sources.lakes import delta_table, iceberg_table, lake_at
from surelift.logs.sources.layout import TextStyle
from surelift.logs.sources.remote import SparkFrame, SqlTable
from surelift.logs.sources.repeated import without_repeated
from surelift.logs.sources.streams import Chunk

STREAMED_QUERIES = {"duckdb", "polars"}


def open_source(source: Any, style: TextStyle = TextStyle()) -> Source:
    if isinstance(source, str | Path):
        source = [source]
    if isinstance(source, Sequence) and source and all(isinstance(path, str | Path) for path in source):
        return (lake_at(str(source[0])) if len(source) == 1 else None) or Files(list(source), style)
    if style != TextStyle():
        raise UsageError("separator and encoding are about files of text, but the source is no path.")
    if isinstance(source, Chunk) or (hasattr(source, "batches") and hasattr(source, "ordered")):
        return source  # type: ignore[no-any-return]
    if isinstance(source, Mapping):
        return Arrays(source)
    if isinstance(source, Sequence) and source and isinstance(source[0], Mapping):
        for row, entry in enumerate(source):
            if not isinstance(entry, Mapping):
                raise UsageError(
                    f"entry {row:,} of the list is a {type(entry).__name__}, counting from 0; give a dict for each round."
                )
        return Arrays(columns_of(source))
    if isinstance(source, np.ndarray) and source.dtype.names:
        return Arrays({name: source[name] for name in source.dtype.names})
    kind = type(source)
    if kind.__module__.startswith("deltalake.") and kind.__name__ == "DeltaTable":
        return delta_table(source)
    if kind.__module__.startswith("pyiceberg.") and hasattr(source, "current_snapshot"):
        return iceberg_table(source)
    if kind.__module__.startswith("ibis."):
        return SqlTable(source)
    if kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame":
        return SparkFrame(source)
    import narwhals as nw

    repeated = frozenset[str]()
    try:
        try:
            frame = nw.from_native(source, pass_through=True)
        except nw.exceptions.DuplicateError:
            source, repeated = without_repeated(source)
            frame = nw.from_native(source)
    except nw.exceptions.NarwhalsError as error:
        raise UsageError(f"this table cannot be read: {error}") from error
    if isinstance(frame, nw.DataFrame):
        odd = [name for name in frame.columns if not isinstance(name, str)]
        if odd:
            raise UsageError(f"column names must be strings, but one is {odd[0]!r}, a {type(odd[0]).__name__}; rename it.")
        return Frame(frame, repeated)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.value in STREAMED_QUERIES:
        return LazyQuery(frame)
    raise UsageError(
        f"logs cannot be read from a {type(source).__module__}.{type(source).__name__}; give a path or glob of Parquet, "
        "CSV, JSON lines or Arrow files, a dict of arrays, a list of dicts, a record array, a pandas, polars or pyarrow "
        "table, a DuckDB relation, an Ibis table, a Spark data frame, or a Delta or Iceberg table."
    )
