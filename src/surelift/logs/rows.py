"""``Rows``: the columns of one batch as numbers that were looked through, counted where at fault, and hashed."""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.arrays import BoolArray, FloatArray, IntArray
from surelift.errors import printed
from surelift.kernels.columns import Words, count_outside, read_numbers, scramble
from surelift.logs import columns, faults
from surelift.logs.batch import TableBatch
from surelift.logs.faults import Fault, Reason, Tally, merge_tallies
from surelift.logs.fingerprint import RoundHashes, Stage, vector_words
from surelift.logs.ids import id_words
from surelift.logs.positions import NOWHERE, find_positions
from surelift.logs.vectors import Vectors

if TYPE_CHECKING:
    from surelift.traits.logs import Logs


class Rows:
    def __init__(self, logs: "Logs", batch: TableBatch) -> None:
        self.logs, self.batch, self.table, self.as_text = logs, batch, batch.table, batch.as_text
        self.start, self.size = batch.start, int(batch.table.num_rows)
        self.hashes, self.tallies = RoundHashes(self.size), dict[Fault, Tally]()
        self.usable: BoolArray = np.ones(self.size, dtype=np.bool_)
        self._list_words: dict[str, tuple[Words, Words]] = {}

    @cached_property
    def numbered(self) -> IntArray:
        return self.start + np.arange(self.size, dtype=np.int64) if self.batch.rows is None else self.batch.rows

    def refuse(self, subject: str, reason: Reason, bad: BoolArray, shown: Any) -> None:
        """Count the rows marked in ``bad``; ``shown`` holds the values to show, or is the first of them."""
        rows = np.flatnonzero(bad)
        if rows.size == 0:
            return
        value = shown[int(rows[0])] if isinstance(shown, np.ndarray | pa.Array | pa.ChunkedArray) else shown
        value = value.as_py() if isinstance(value, pa.Scalar) else value.item() if isinstance(value, np.number) else value
        row = int(self.numbered[rows[0]])
        tally = Tally(int(rows.size), row, "null" if value is None else printed(value), self.batch.place_of(row))
        self.tallies = merge_tallies(self.tallies, {Fault(subject, reason): tally})
        self.usable &= ~bad

    def refuse_outside(self, subject: str, reason: Reason, values: FloatArray, least: float, most: float) -> None:
        """Refuse numbers that are not from ``least`` to ``most``; what is no number was refused before."""
        if count_outside(values, least, most):
            self.refuse(subject, reason, (values < least) | (values > most), values)

    def refuse_missing(self, name: str, subject: str) -> None:
        self.refuse(subject, faults.NULL, columns.is_missing(columns.decode(self.table[name])), None)

    def in_memory(self, name: str) -> tuple[npt.NDArray[Any], float] | None:
        """A complete column of numbers as they lie in memory, with the tolerance of their type; None of any other."""
        column = self.table[name]
        if name in self.as_text:
            return None
        single = column.num_chunks == 1 and pa.types.is_primitive(column.type)
        column = column.chunk(0) if single else columns.decode(column)
        kind = column.type
        if column.null_count or not pa.types.is_primitive(kind) or pa.types.is_temporal(kind):
            return None
        if pa.types.is_boolean(kind) or pa.types.is_float16(kind):
            column = column.cast(pa.uint8() if pa.types.is_boolean(kind) else pa.float32())
        return np.from_dlpack(column), columns.TOLERANCE_FLOAT32 if column.type == pa.float32() else columns.TOLERANCE

    def numbers(
        self, name: str, subject: str, stage: Stage | None = None, *, hashed: bool = True
    ) -> tuple[FloatArray, float]:
        """A column of finite numbers, and the tolerance of its type."""
        column, tolerance = self.in_memory(name) or (None, 0.0)
        values, infinite = (np.zeros(0), 1) if column is None else read_numbers(column)
        if infinite:
            numbers = self.numbers_or_missing(name, subject)
            values, tolerance = numbers.values, numbers.tolerance
            self.refuse(subject, faults.NULL, numbers.null, None)
            self.check_finite(values, subject, besides=numbers.null | numbers.not_numeric)
        if hashed:
            self.hashes.mix(values, stage)
        return values, tolerance

    def numbers_or_missing(self, name: str, subject: str) -> columns.Numbers:
        """A column as numbers; what is none is refused, what is missing is not."""
        numbers = self.plain_numbers(name)
        other = numbers.not_numeric
        if other.any():
            text = columns.is_text(numbers.shown)
            comma = other & columns.matches(numbers.shown, columns.DECIMAL_COMMA) if text else np.zeros_like(other)
            self.refuse(subject, faults.DECIMAL_COMMA, comma, numbers.shown)
            self.refuse(subject, faults.NOT_NUMERIC, other & ~comma, numbers.shown)
        return numbers

    def plain_numbers(self, name: str) -> columns.Numbers:
        """A column as numbers, which was looked through and hashed before."""
        return columns.to_numbers(self.table[name], words=True)

    def context_numbers(self, name: str) -> columns.Numbers:
        """A column as numbers that no bound has to trust; text stays text in a format with types, such as a postal code."""
        return columns.to_numbers(self.table[name], text=name in self.as_text)

    def check_finite(self, values: FloatArray, subject: str, besides: BoolArray | None = None) -> None:
        missing = np.isnan(values)
        self.refuse(subject, faults.NOT_A_NUMBER, missing if besides is None else missing & ~besides, values)
        self.refuse(subject, faults.INFINITE, np.isinf(values), values)

    def vectors(self, names: str | Sequence[str], subject: str) -> Vectors:
        """One vector of finite numbers per row, from a list column or one column per action."""
        if not isinstance(names, str):
            parts = [self.numbers(name, f"{subject}, column {name!r}", hashed=False) for name in names]
            matrix = np.column_stack([values for values, _ in parts])
            stacked = Vectors.from_matrix(matrix, tolerance=max(tolerance for _, tolerance in parts))
            self.hashes.mix(stacked)
            return stacked
        column = self.table[names]
        if not columns.is_vector(column):
            self.refuse(subject, faults.NOT_VECTORS, np.ones(self.size, dtype=np.bool_), column)
            return Vectors(np.zeros(0), np.zeros(self.size + 1, dtype=np.int64), 0.0)
        if columns.is_list(column):
            vectors, missing = columns.list_to_vectors(column)
        else:
            vectors, missing, other = columns.text_to_vectors(column)
            self.refuse(subject, faults.NOT_VECTORS, other, column)
        self.refuse(subject, faults.LIST_MISSING, missing, column)
        self.keep_vectors(vectors, subject)
        return vectors

    def keep_vectors(self, vectors: Vectors, subject: str) -> None:
        entries = ~np.isfinite(vectors.values)
        if entries.any():
            bad = vectors.fold(np.add, entries.astype(np.float64), empty=0.0) > 0
            first = int(np.argmax(bad))
            shown = vectors.values[vectors.starts[first] : vectors.starts[first + 1]].tolist()
            self.refuse(subject, faults.VECTOR_ENTRIES, bad, shown)
        self.hashes.mix(vectors)

    def positions(self, name: str, subject: str, labels: tuple[Any, ...] | None) -> IntArray:
        """A column of actions, as positions counted from 0; those that are none are refused."""
        positions, null, column = find_positions(self.table[name], labels, as_text=name in self.as_text)
        self.refuse(subject, faults.NULL, null, None)
        large = columns.inexact(column)
        self.refuse(subject, faults.INEXACT, large, column)
        nowhere = (positions == NOWHERE) & ~null & ~large
        self.refuse(subject, faults.ACTION_POSITION if labels is None else faults.ACTION_LABEL, nowhere, column)
        # Beyond 2^53 the bits themselves, as floats too small to be those of a position.
        self.hashes.mix(np.where(positions < 2**53, positions.astype(np.float64), positions.view(np.float64)))
        return positions

    def handed_on(self, names: Sequence[str], texts: Collection[str] = ()) -> pa.Table:
        """Columns for the user's own code; text becomes numbers if every entry is one, but not that of ``texts``."""
        table = self.table.select(list(names))
        for index, name in enumerate(names):
            values = columns.numbers_in(table[name]) if name in self.as_text and name not in texts else None
            table = table if values is None else table.set_column(index, name, values)
        return table

    def list_words(self, name: str) -> tuple[Words, Words]:
        """The vectors of a list column as words, hashed once however often they are asked for."""
        if name not in self._list_words:
            matrix = columns.equal_lists(self.table[name])
            if matrix is not None:
                vectors = Vectors.from_matrix(matrix, tolerance=0.0)
            else:
                vectors, _ = columns.list_to_vectors(self.table[name])
            self._list_words[name] = vector_words(vectors)
        return self._list_words[name]

    def context_words(self, action: IntArray, contexts: Sequence[str]) -> Words:
        """The action and the contexts of each round as one word, whatever is declared of rewards and propensities."""
        hashes, table = RoundHashes(self.size), self.handed_on(contexts)
        hashes.mix(action.astype(np.float64))
        for name in contexts:
            column = columns.decode(table[name])
            if columns.is_list(column):
                hashes.mix(self.list_words(name))
                continue
            if pa.types.is_floating(column.type):
                # In single precision, since other formats may hold more or fewer digits; whole numbers as they are.
                values = columns.as_array(column.cast(pa.float64()).fill_null(0.0))
                with np.errstate(over="ignore"):
                    column = pa.array(np.where(values == np.floor(values), values, values.astype(np.float32)))
            words = scramble(id_words(column).view(np.uint64))
            hashes.mix((words, words))
        return hashes.words()
