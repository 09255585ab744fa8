"""Choose the reader for whatever the user passes as ``source``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.logs.batch import Source, repeated_in
from surelift.logs.sources.files import Files
from surelift.logs.sources.frames import Arrays, Frame, LazyQuery
from surelift.logs.sources.json_lines import columns_of
from surelift.logs.sources.tables import SparkFrame, SqlTable, delta_table, iceberg_table, lake_at
from surelift.logs.sources.text_files import PLAIN, TextStyle


def open_source(source: Any, separator: str | None = None, encoding: str | None = None) -> Source:
    style = PLAIN if separator is None is encoding else TextStyle(separator, encoding)
    if isinstance(source, str | Path):
        source = [source]
    if isinstance(source, Sequence) and source and all(isinstance(path, str | Path) for path in source):
        return (lake_at(str(source[0])) if len(source) == 1 else None) or Files(list(source), style)
    if style != PLAIN:
        raise UsageError("separator and encoding are about files of text, but the source is no path.")
    if hasattr(source, "batches") and hasattr(source, "ordered"):
        return source  # type: ignore[no-any-return]
    if isinstance(source, Mapping):
        return Arrays(source)
    if isinstance(source, Sequence) and source and isinstance(source[0], Mapping):
        return Arrays(columns_of(source))
    if isinstance(source, np.ndarray) and source.dtype.names:
        return Arrays({name: source[name] for name in source.dtype.names})
    module, name = type(source).__module__, type(source).__name__
    if module.startswith("deltalake.") and name == "DeltaTable":
        return delta_table(source)
    if module.startswith("pyiceberg.") and hasattr(source, "current_snapshot"):
        return iceberg_table(source)
    if module.startswith("ibis."):
        return SqlTable(source)
    if module.startswith("pyspark.sql") and name == "DataFrame":
        return SparkFrame(source)
    import narwhals as nw

    repeated = frozenset[str]()
    try:
        try:
            frame = nw.from_native(source, pass_through=True)
        except nw.exceptions.DuplicateError:
            # Of a pandas frame, or a table of Arrow.
            names = list(source.columns) if hasattr(source, "iloc") else source.schema.names
            repeated = repeated_in(names)
            places = [place for place, column in enumerate(names) if column not in repeated]
            frame = nw.from_native(source.iloc[:, places] if hasattr(source, "iloc") else source.select(places))
    except nw.exceptions.NarwhalsError as error:
        raise UsageError(f"this table cannot be read: {error}") from error
    if isinstance(frame, nw.DataFrame):
        return Frame(frame, repeated)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.value in ("duckdb", "polars"):
        return LazyQuery(frame)
    raise UsageError(
        f"logs cannot be read from a {module}.{name}; give a path or glob of Parquet, CSV, JSON lines or Arrow files, a "
        "dict of arrays, a list of dicts, a record array, a pandas, polars or pyarrow table, a DuckDB relation, an Ibis "
        "table, a Spark data frame, or a Delta or Iceberg table."
    )
