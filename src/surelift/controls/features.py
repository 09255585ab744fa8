"""Contexts as numbers for a model: numbers unchanged, text as codes in order of first appearance."""

from collections.abc import Sequence

import numpy as np

from surelift.arrays import FloatArray, pc
from surelift.logs import faults
from surelift.logs.columns import decode, is_list, is_text, list_to_vectors
from surelift.logs.rows import Rows

# In each column, texts beyond this many share the last code: more categories than a model can tell apart.
MOST_CATEGORIES = 254


class ModelFeatures:
    """Reads the same columns from successive batches and remembers its category codes; missing values are NaN."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._codes: dict[str, dict[str, int]] = {}
        self._numeric: set[str] = set()
        self._widths: dict[str, int] = {}

    @property
    def categorical(self) -> tuple[bool, ...]:
        """Which columns hold codes."""
        return tuple(name in self._codes for name in self._names for _ in range(self._widths.get(name, 1)))

    def read(self, rows: Rows) -> FloatArray:
        """Shape (rounds, columns); a non-numeric entry in a numeric column counts as a fault."""
        columns = [np.zeros((rows.size, 0))]
        for name in self._names:
            read = self._vectors if rows.size and is_list(rows.table[name]) else self._numbers
            columns.append(read(rows, name, f"context {name!r} of the reward model"))
        return np.column_stack(columns)

    def _vectors(self, rows: Rows, name: str, subject: str) -> FloatArray:
        """One column per entry of a list column, whose length must not vary."""
        vectors, missing = list_to_vectors(rows.table[name])
        width = self._widths.setdefault(name, int(vectors.lengths[0]))
        wrong = missing | (vectors.lengths != width)
        rows.refuse(subject, faults.CONTEXT_LENGTH, wrong, vectors.lengths)
        if wrong.any():
            return np.full((rows.size, width), np.nan)
        matrix = vectors.values.reshape(-1, width)
        rows.refuse(subject, faults.VECTOR_ENTRIES, np.asarray(~np.isfinite(matrix).all(axis=1)), None)
        return matrix

    def _numbers(self, rows: Rows, name: str, subject: str) -> FloatArray:
        numbers = rows.context_numbers(name)
        if name not in self._codes and not numbers.null.all() and not numbers.not_numeric[numbers.null.argmin()]:
            # Decided by the first entry, which is known before any other: later rounds must not change earlier features.
            self._numeric.add(name)
        if (name in self._numeric and not numbers.not_numeric.any()) or numbers.null.all():
            rows.refuse(subject, faults.INFINITE, np.isinf(numbers.values), numbers.values)
            return numbers.values
        if name in self._numeric or not is_text(decode(rows.table[name])):
            rows.refuse(subject, faults.NOT_NUMERIC, numbers.not_numeric, numbers.shown)
            return numbers.values
        codes = self._codes.setdefault(name, {})
        encoded = decode(rows.table[name]).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        known = [codes.setdefault(text, min(len(codes), MOST_CATEGORIES - 1)) for text in texts]
        positions = np.asarray(pc.fill_null(encoded.indices, len(known)))
        return np.asarray(np.array([*known, np.nan])[positions])
