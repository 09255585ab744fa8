"""Contexts as numbers for a model: numbers as they are, text as codes in the order of first appearance."""

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from surelift.arrays import FloatArray
from surelift.logs import faults
from surelift.logs.columns import decode, is_text
from surelift.logs.rounds import Rounds

# A text beyond these many of its column shares the last code with all others, as far as a model can tell them apart.
MOST_CATEGORIES = 254


class Features:
    """Reads the same columns of one batch after the other, and remembers the codes it gave; what is missing is NaN."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._codes: dict[str, dict[str, int]] = {}
        self._numeric: set[str] = set()

    @property
    def categorical(self) -> tuple[bool, ...]:
        """Which columns hold codes."""
        return tuple(name in self._codes for name in self._names)

    def read(self, rounds: Rounds) -> FloatArray:
        """(rounds, columns); an entry that is no number in a column of numbers is counted as a fault."""
        columns = [self._read(rounds, name) for name in self._names]
        return np.column_stack(columns) if columns else np.zeros((rounds.size, 0))

    def _read(self, rounds: Rounds, name: str) -> FloatArray:
        numbers = rounds.plain_numbers(name)
        if name not in self._codes and name not in self._numeric:
            # By its first entry, which is known before any other: what comes later must not change what was said before.
            entries = np.flatnonzero(~numbers.null)
            if len(entries) and not numbers.not_numeric[entries[0]]:
                self._numeric.add(name)
        if (name in self._numeric and not numbers.not_numeric.any()) or numbers.null.all():
            return numbers.values
        if name in self._numeric or not is_text(decode(rounds.table[name])):
            first = numbers.shown[int(np.argmax(numbers.not_numeric))].as_py()
            rounds.refuse(f"context {name!r} of the reward model", faults.NOT_NUMERIC, numbers.not_numeric, first)
            return numbers.values
        codes = self._codes.setdefault(name, {})
        encoded = decode(rounds.table[name]).dictionary_encode()
        known = [
            codes.setdefault(text, min(len(codes), MOST_CATEGORIES - 1)) for text in encoded.dictionary.to_pylist()
        ]
        positions = np.asarray(pc.fill_null(encoded.indices, len(known)))
        found: FloatArray = np.array([*known, np.nan])[positions]
        return found
