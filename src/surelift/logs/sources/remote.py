"""Rounds that lie in another engine: a Spark data frame, a table of a database through Ibis.

Their engines add up where the rounds are. Rows come to this process only by ``Logs.here()``.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from surelift.errors import LogsError
from surelift.logs.batch import ROWS_PER_BATCH, Batch, Needs


class SqlTable:
    """A table or a query of Ibis. Its rows have no order to rely on."""

    ordered = False

    def __init__(self, table: Any) -> None:
        self.table = table

    def column_names(self) -> list[str]:
        return list(self.table.columns)

    def count(self) -> int:
        return int(_asked(lambda: self.table.count().execute()))

    def batches(self, needs: Needs) -> Iterator[Batch]:
        selected, start = self.table.select(needs.columns()), 0
        reader = _asked(lambda: _reader(selected))
        while (batch := _asked(lambda: next(reader, None))) is not None:
            if batch.num_rows:
                yield Batch(pa.Table.from_batches([batch]), start)
                start += batch.num_rows


def _reader(query: Any) -> Any:
    """Record batches of a query. Ibis 12 asks DuckDB 2 for them in a way that is no more, so DuckDB is asked directly."""
    backend = query.get_backend()
    if backend.name != "duckdb":
        return query.to_pyarrow_batches(chunk_size=ROWS_PER_BATCH)
    return backend.con.sql(backend.compile(query)).to_arrow_reader(ROWS_PER_BATCH)


class SparkFrame:
    """A Spark data frame. Its rows have no order to rely on."""

    ordered = False

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def column_names(self) -> list[str]:
        return list(self.frame.columns)

    def count(self) -> int:
        return int(_asked(self.frame.count))

    def batches(self, needs: Needs) -> Iterator[Batch]:
        """Partition by partition to this process."""
        selected, start = self.frame.select(*needs.columns()), 0
        rows = _asked(lambda: selected.mapInArrow(_serialised, "batch binary").toLocalIterator())
        while (row := _asked(lambda: next(rows, None))) is not None:
            table = pa.ipc.open_stream(row["batch"]).read_all()
            if table.num_rows:
                yield Batch(table, start)
                start += table.num_rows


def _serialised(batches: Iterator[Any]) -> Iterator[Any]:
    """Runs in Spark's workers: a batch as one binary value."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"batch": pa.array([bytes(sink.getvalue())], pa.binary())})


def _asked(question: Any) -> Any:
    try:
        return question()
    except LogsError:
        raise
    except Exception as error:
        # Each engine has its own exceptions; whatever it says, its rounds could not be read.
        raise LogsError(f"the rounds could not be read where they are: {error}\nNothing was computed.") from error


REMOTE = (SqlTable, SparkFrame)
