"""What an importer hands over."""

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
    """The logs, and the policies that the format brings."""

    logs: Logs
    policies: Mapping[str, Policy] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[str, int]:
        """Lines that are no decisions, by reason, as the last reading of the whole file found them."""
        return dict(self.logs.source.left_out) if isinstance(self.logs.source, Events) else {}

    def to_parquet(self, path: str | Path) -> None:
        """Write the rounds as a table: what is read more than once is read faster from there."""
        import io

        import pyarrow as pa
        import pyarrow.parquet as pq

        names = tuple(self.logs.column_names())
        tables = [batch.table for batch in self.logs.source.batches(Needs(read=names))]
        buffer: Any = io.BytesIO()
        pq.write_table(pa.concat_tables(tables), buffer)
        write_beside(path, buffer.getvalue(), what="the table")
