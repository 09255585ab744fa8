"""The result of an import."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surelift.importers.events import Events
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.policies.policy import Policy
from surelift.saving import write_beside


@dataclass(frozen=True, slots=True)
class Imported:
    """The logs, and the policies that come with the format."""

    logs: Logs
    policies: Mapping[str, Policy] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[str, int]:
        """Lines that are not decisions, by reason, from the last complete pass."""
        return dict(self.logs.source.left_out) if isinstance(self.logs.source, Events) else {}

    def to_parquet(self, path: str | Path) -> None:
        """Write the rounds as a Parquet table, which is faster to read again."""
        import io

        import pyarrow as pa
        import pyarrow.parquet as pq

        names = tuple(self.logs.column_names())
        tables = [batch.table for batch in self.logs.source.batches(Needs(read=names))]
        buffer: Any = io.BytesIO()
        pq.write_table(pa.concat_tables(tables), buffer)
        write_beside(path, buffer.getvalue(), what="the table")
