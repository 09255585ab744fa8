"""The action and the contexts of every round as one word, by which rounds are recognised as the same."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, IntArray
from surelift.kernels.columns import Words, scramble
from surelift.logs.columns import as_array, decode, is_list
from surelift.logs.fingerprint import RoundHashes
from surelift.logs.ids import id_words
from surelift.logs.rows import Rows


def words_of_contexts(rows: Rows, action: IntArray, contexts: Sequence[str]) -> Words:
    """Of what was known and decided, whatever is declared of rewards and propensities."""
    hashes, table = RoundHashes(rows.size), rows.handed_on(contexts)
    hashes.mix(action.astype(np.float64))
    for name in contexts:
        column = decode(table[name])
        if is_list(column):
            hashes.mix_hashed(rows.list_words(name))
        else:
            hashes.mix_words(scramble(id_words(_in_single_precision(column)).view(np.uint64)))
    return hashes.words()


def _in_single_precision(column: ArrowColumn) -> ArrowColumn:
    """Fractions, which other formats may hold with more or fewer digits; whole numbers as they are."""
    if not pa.types.is_floating(column.type):
        return column
    values = as_array(column.cast(pa.float64()).fill_null(0.0))
    with np.errstate(over="ignore"):
        return pa.array(np.where(values == np.floor(values), values, values.astype(np.float32)))
