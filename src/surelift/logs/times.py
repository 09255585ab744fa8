"""The times of rounds, and whether they ascend."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs import faults
from surelift.logs.columns import as_array, decode, is_text
from surelift.logs.rows import Rows

_TIMES = tuple(getattr(pa.types, f"is_{kind}") for kind in ("integer", "floating", "decimal", "timestamp", "date", "null"))


def times_of(rows: Rows, name: str) -> npt.NDArray[Any]:
    column = decode(rows.table[name])
    if is_text(column):
        numbers = rows.context_numbers(name)
        return numbers.values if not numbers.not_numeric.any() else np.asarray(column.to_pylist(), dtype=np.str_)
    if not any(is_kind(column.type) for is_kind in _TIMES):
        raise UsageError(f"time {name!r} holds {column.type}; it must hold timestamps, dates or numbers.")
    if pa.types.is_timestamp(column.type) and not column.null_count:
        return as_array(column.cast(pa.int64())).view(f"datetime64[{column.type.unit}]")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def ordered_times(rows: Rows, name: str) -> npt.NDArray[Any]:
    """The times of a column, whose order must be that of time: texts begin with the year."""
    times = times_of(rows, name)
    bad = np.zeros(0) if times.dtype.kind != "U" else np.flatnonzero(~np.char.isdigit(times.astype("<U4")))
    if len(bad):
        raise UsageError(
            f"time {name!r} holds text such as {str(times[bad[0]])!r}, first in row {rows.numbered[bad[0]]:,}, whose order "
            "is not that of time; write it as 2024-03-09 17:00:00, or as a number."
        )
    return times


class TimeOrder:
    """Times must ascend from row to row, over all batches."""

    def __init__(self, name: str) -> None:
        self.name, self.latest = name, None

    def check(self, rows: Rows) -> npt.NDArray[Any]:
        """The times of a batch; rows that are earlier than the one before are counted as faults."""
        times = ordered_times(rows, self.name)
        if rows.size == 0 or rows.tallies:
            return times
        if self.latest is not None and np.asarray(self.latest).dtype.kind != times.dtype.kind:
            raise LogsError(f"time {self.name!r} holds numbers in some rows and text in others; use one format.")
        earlier = np.zeros(rows.size, dtype=np.bool_)
        earlier[1:] = ~(times[1:] >= times[:-1])
        earlier[0] = self.latest is not None and not times[0] >= self.latest
        rows.refuse(f"time {self.name!r}", faults.TIME_ORDER, earlier, times)
        self.latest = times[-1]
        return times
