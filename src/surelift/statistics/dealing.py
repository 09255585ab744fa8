"""Rounds dealt into blocks, which bets go through one after the other.

The block of a round follows from a key that was there before the round: its cluster, its declared id, or else the number
of its row. Never from what is in it: a block that shows the reward can be bet on.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, IntArray, pc
from surelift.batch import Batch
from surelift.kernels.columns import scramble
from surelift.logs.columns import as_array, decode, is_text
from surelift.logs.ids import id_words
from surelift.statistics.splits import Split, row_numbers

PLACES = 1 << 12
HEX_DIGITS = 3
"""The digits of the MD5 of a salted text that make up a place; databases know MD5 too."""
SALT = "surelift/"
"""Many assign users to actions, and sample logs, by the MD5 of an id alone: blocks must not show that."""
MODULUS = (1 << 31) - 1
STEPS = ((48271, 11), (None, 12345), (69621, 7), (None, 4391), (16807, 3))
"""A hash of whole numbers that every database can work out: x becomes a x + b, or x x + b, modulo a prime."""
WHOLE_NUMBER = r"^(0|-?[1-9]\d{0,17})$"


@dataclass(frozen=True, slots=True)
class Dealt(Split):
    """Blocks that hold these shares of the rounds, or of the clusters, on average."""

    label: ClassVar[str] = "blocks"
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, shares: Iterable[float]) -> "Dealt":
        edges = [round(PLACES * total) for total in accumulate(shares, initial=0.0)]
        return cls(tuple(last - first for first, last in pairwise(edges)))

    @property
    def shares(self) -> list[float]:
        return [size / PLACES for size in self.sizes]

    @property
    def names(self) -> list[str]:
        return [str(block) for block in range(len(self.sizes))]

    def blocks(self, places: IntArray) -> IntArray:
        return np.searchsorted(np.cumsum(self.sizes[:-1]), places, side="right")

    def codes(self, batch: Batch) -> tuple[IntArray, Sequence[str]]:
        return self.blocks(places_of(batch)), self.names


def places_of(batch: Batch) -> IntArray:
    """A number below ``PLACES`` for each row, the same within a unit."""
    rows, starts = batch.rows, batch.units.starts
    for name in batch.declared.dealt_by:
        column = rows.table[name] if starts is None else rows.table[name].take(starts[:-1])
        places = key_places(column, as_text=name in rows.as_text)
        return places if starts is None else np.repeat(places, np.diff(starts))
    return (scramble(row_numbers(batch)) >> np.uint64(52)).astype(np.int64)


def key_places(column: ArrowColumn, *, as_text: bool = False) -> IntArray:
    """Those of ids, the same in a database; also of whole numbers that arrive as text, from a format without types."""
    column = decode(column)
    if is_text(column) and as_text:
        whole = pc.fill_null(pc.match_substring_regex(column, WHOLE_NUMBER), False)
        places, numeric = np.empty(len(column), dtype=np.int64), as_array(whole)
        places[numeric] = key_places(column.filter(whole).cast(pa.int64()))
        places[~numeric] = key_places(column.filter(pc.invert(whole)))
        return places
    if is_text(column):
        digests = (hashlib.md5(f"{SALT}{text}".encode(), usedforsecurity=False) for text in column.to_pylist())
        first_digits = (int(digest.hexdigest()[:HEX_DIGITS], 16) for digest in digests)
        return np.fromiter(first_digits, dtype=np.int64, count=len(column))
    numbers = id_words(column) % MODULUS
    for factor, added in STEPS:
        numbers = ((numbers if factor is None else factor) * numbers + added) % MODULUS
    return np.asarray(numbers * PLACES // MODULUS)
