"""Columns of text that are told to be numbers or not: a function that sees them must see one kind throughout a log."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from surelift.arrays import ArrowColumn
from surelift.errors import LogsError
from surelift.logs.batch import TableBatch
from surelift.logs.columns import inexact, to_numbers


def numbers_in(column: ArrowColumn) -> ArrowColumn | None:
    """A column of text as numbers, if every entry is one or missing."""
    numbers = to_numbers(column)
    values = pa.array(numbers.values, mask=numbers.null)
    return None if numbers.not_numeric.any() or inexact(values).any() else values


def told_alike(batches: Iterable[TableBatch], names: frozenset[str]) -> Iterator[TableBatch]:
    """The same batches; raise where a column that is handed on as numbers in one would be handed on as text in another."""
    kinds = dict[str, str]()
    for batch in batches:
        for name in names & batch.as_text:
            values = numbers_in(batch.table[name])
            if values is not None and values.null_count == len(values):
                continue
            kind = "text" if values is None else "numbers"
            if kinds.setdefault(name, kind) != kind:
                raise LogsError(
                    f"column {name!r} holds {kinds[name]} up to row {batch.start - 1:,}, and {kind} from row "
                    f"{batch.start:,} on{batch.place and f' ({batch.place})'}.\nGive the column one type everywhere, or "
                    "save the log as Parquet; nothing was computed."
                )
        yield batch
