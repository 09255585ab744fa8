"""The segments of a log: groups of rounds that were told apart before their actions, such as countries."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surelift.arrays import ArrowColumn, BoolArray, IntArray
from surelift.errors import LogsError, UsageError
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.columns import decode, is_absent, is_text
from surelift.logs.faults import refuse_faults
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds

MOST = 1000


def count_segments(logs: Logs, by: str, declared: tuple[str, ...] | None) -> dict[str, int]:
    """The rounds of each segment, in the order of their names: they are counted before anything is looked at."""
    counts: dict[str, int] = {}
    rows = 0
    for batch in logs.batches(Needs(read=(by,))):
        rounds = Rounds(logs, batch)
        rows += rounds.size
        column = _plain(rounds, by)
        missing = is_absent(column)
        if pa.types.is_floating(column.type):
            missing = missing | np.asarray(pc.fill_null(pc.is_nan(column), True))
        rounds.refuse(f"by {by!r}", faults.SEGMENT, missing, None)
        refuse_faults(rounds.faults.tallies, rows=rows)
        for name, chosen in positions_of(rounds, by).items():
            if declared is not None and name not in declared:
                row = int(rounds.rows[np.argmax(chosen)])
                raise LogsError(
                    f"by {by!r}: segment {name!r} in row {row:,} is not among those declared, {', '.join(declared[:10])}."
                )
            counts[name] = counts.get(name, 0) + int(chosen.sum())
        if len(counts) > MOST:
            raise LogsError(
                f"by {by!r} has more than {MOST:,} segments, among which delta would be spread too thinly to certify "
                "anything; group them beforehand into a column of few."
            )
    return dict(sorted(counts.items()))


def codes_of(rounds: Rounds, by: str) -> tuple[IntArray, list[str]]:
    """A code a round and the names of the codes; what is missing is a segment of its own."""
    encoded = _plain(rounds, by).dictionary_encode()
    names = [str(value.as_py()) for value in encoded.dictionary]
    codes = np.asarray(pc.fill_null(encoded.indices, len(names))).astype(np.int64)
    return (codes, [*names, "missing"]) if encoded.null_count else (codes, names)


def day_codes(rounds: Rounds) -> tuple[IntArray, list[str]] | None:
    """The days of the decisions, where the time says them: a timestamp, a date, or text that begins with one."""
    if rounds.declaration.time is None or rounds.size == 0:
        return None
    column = decode(rounds.table[rounds.declaration.time])
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        days = (
            column.cast(pa.timestamp("us"), safe=False).cast(pa.date32())
            if pa.types.is_timestamp(column.type)
            else column
        )
    elif is_text(column) and pc.all(pc.match_substring_regex(column, r"^\d{4}-\d{2}-\d{2}")).as_py():
        days = pc.utf8_slice_codeunits(column, 0, 10)
    else:
        return None
    encoded = days.dictionary_encode()
    return np.asarray(encoded.indices).astype(np.int64), [str(day) for day in encoded.dictionary.to_pylist()]


def positions_of(rounds: Rounds, by: str) -> dict[str, BoolArray]:
    """Which rounds of a batch belong to each of its segments."""
    encoded = _plain(rounds, by).dictionary_encode()
    codes = np.asarray(pc.fill_null(encoded.indices, -1))
    if rounds.clusters is not None:
        first = np.repeat(codes[rounds.clusters.starts[:-1]], rounds.clusters.sizes)
        if (codes != first).any():
            raise LogsError(
                f"by {by!r} changes within a cluster, first in row {int(rounds.rows[np.argmax(codes != first)]):,}; a "
                "cluster belongs to one segment."
            )
    found: dict[str, BoolArray] = {}
    for code, value in enumerate(encoded.dictionary):
        # Values that read the same are one segment.
        found[str(value.as_py())] = (codes == code) | found.get(str(value.as_py()), False)
    return found


def _plain(rounds: Rounds, by: str) -> ArrowColumn:
    column = decode(rounds.table[by])
    if pa.types.is_nested(column.type):
        raise UsageError(f"by {by!r} holds {column.type}; a segment has a name: text, a number or a date.")
    return column
