"""Rounds stored in another engine: a Spark data frame, or a database table through Ibis.

Their engines add up where the rounds are. Rows come to this process only by ``Logs.here()``.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from surelift.errors import LogsError
from surelift.logs.batch import ROWS_PER_BATCH, Batch, Needs


class SqlTable:
    """An Ibis table or query. Its rows have no guaranteed order."""

    ordered = False

    def __init__(self, table: Any) -> None:
        self.table = table

    def column_names(self) -> list[str]:
        return list(self.table.columns)

    def count(self) -> int:
        return int(_run(lambda: self.table.count().to_pyarrow().as_py()))

    def batches(self, needs: Needs) -> Iterator[Batch]:
        selected, start = self.table.select(needs.columns()), 0
        reader = _run(lambda: _reader(selected))
        while (batch := _run(lambda: next(reader, None))) is not None:
            if batch.num_rows:
                yield Batch(pa.Table.from_batches([batch]), start)
                start += batch.num_rows


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

    def column_names(self) -> list[str]:
        return list(self.frame.columns)

    def count(self) -> int:
        return int(_run(self.frame.count))

    def batches(self, needs: Needs) -> Iterator[Batch]:
        """Stream the rows to this process, one partition at a time."""
        selected, start = self.frame.select(*needs.columns()), 0
        rows = _run(lambda: selected.mapInArrow(_serialise, "batch binary").toLocalIterator())
        while (row := _run(lambda: next(rows, None))) is not None:
            table = pa.ipc.open_stream(row["batch"]).read_all()
            if table.num_rows:
                yield Batch(table, start)
                start += table.num_rows


def _serialise(batches: Iterator[Any]) -> Iterator[Any]:
    """Runs in Spark's workers: each batch becomes one binary value."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"batch": pa.array([bytes(sink.getvalue())], pa.binary())})


def _run(query: Any) -> Any:
    try:
        return query()
    except LogsError:
        raise
    except Exception as error:
        # Each engine has its own exceptions; whatever it says, its rounds could not be read.
        raise LogsError(f"the rounds could not be read where they are: {error}\nNothing was computed.") from error


REMOTE = (SqlTable, SparkFrame)
