"""Rounds stored in another engine: a Spark data frame, or a database table through Ibis.

Their engines add up where the rounds are. Rows come to this process only by ``Logs.here()``.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from surelift.logs.batch import ROWS_PER_BATCH, Needs, TableBatch, engine_errors, number_rows
from surelift.logs.sources.repeated import repeated_in, told_apart

_UNREADABLE = "the rounds could not be read where they are"


class SqlTable:
    """An Ibis table or query. Its rows have no guaranteed order."""

    ordered = False

    def __init__(self, table: Any) -> None:
        self.table = table

    def column_names(self) -> list[str]:
        return list(self.table.columns)

    @engine_errors(_UNREADABLE)
    def count(self) -> int:
        return int(self.table.count().to_pyarrow().as_py())

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        selected = self.table.select(needs.columns())
        with engine_errors(_UNREADABLE):
            yield from number_rows(pa.Table.from_batches([batch]) for batch in _reader(selected))


def _reader(query: Any) -> Any:
    """Record batches of a query. Ibis 12 calls a method that DuckDB 2 removed, so DuckDB is called directly."""
    backend = query.get_backend()
    if backend.name != "duckdb":
        return query.to_pyarrow_batches(chunk_size=ROWS_PER_BATCH)
    return backend.con.sql(backend.compile(query)).to_arrow_reader(ROWS_PER_BATCH)


class SparkFrame:
    """A Spark data frame. Its rows have no guaranteed order."""

    ordered = False

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.repeated = repeated_in(frame.columns)

    def column_names(self) -> list[str]:
        return told_apart(self.frame.columns)

    @engine_errors(_UNREADABLE)
    def count(self) -> int:
        return int(self.frame.count())

    def batches(self, needs: Needs) -> Iterator[TableBatch]:
        """Stream the rows to this process, one partition at a time."""
        selected = self.frame.select(*needs.columns())
        with engine_errors(_UNREADABLE):
            rows = selected.mapInArrow(_serialise, "batch binary").toLocalIterator()
            yield from number_rows(pa.ipc.open_stream(row["batch"]).read_all() for row in rows)


def _serialise(batches: Iterator[Any]) -> Iterator[Any]:
    """Runs in Spark's workers: each batch becomes one binary value."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"batch": pa.array([bytes(sink.getvalue())], pa.binary())})


REMOTE = (SqlTable, SparkFrame)
