"""Arrow columns as arrays: numbers in double precision, texts and vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.arrays import ArrowColumn, BoolArray, FloatArray, IntArray, pc
from surelift.logs.vectors import Vectors

TOLERANCE = 1e-6  # how far a probability vector's sum may be from 1, and a probability above 1, before it is rejected
TOLERANCE_FLOAT32 = 1e-5

# What tools write into a CSV for a missing value.
MISSING = ("", "na", "n/a", "#n/a", "null", "none")
# The bits of a float, and the first whole number that it cannot tell from the next.
_EXACT = {16: 2.0**11, 32: 2.0**24, 64: 2.0**53}
# A pair of words for truth values, where a column holds nothing else; "true" and "false" may stand among 1 and 0.
_WORDS = (("t", "f"), ("y", "n"), ("yes", "no"))
DECIMAL_COMMA = r"^\s*-?\d*,\d+([eE][-+]?\d+)?\s*$"
# Entries that tell whether texts are vectors.
_LOOKED_AT = 100
_VECTOR = r"^\s*\[[^\[\]]*\]\s*$"
_NUMBER = r"^-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$|^-?inf(inity)?$|^nan$"


@dataclass(frozen=True, slots=True)
class Numbers:
    values: FloatArray
    null: BoolArray
    not_numeric: BoolArray
    shown: ArrowColumn  # the original column, to show an entry that is not a number
    tolerance: float


def decode(column: ArrowColumn) -> ArrowColumn:
    """One contiguous array, without dictionary encoding or an extension of its type."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which copies a single chunk too
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    # Arrow implements few functions for string views.
    return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column


def is_text(column: ArrowColumn) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def as_array(column: ArrowColumn) -> npt.NDArray[Any]:
    """Whole numbers, floats or truth values without a null. Not to_numpy(), at which Arrow imports pandas if it can."""
    if pa.types.is_boolean(column.type):
        return np.from_dlpack(column.cast(pa.uint8())).view(np.bool_)
    return np.from_dlpack(column)


def is_null(column: ArrowColumn) -> BoolArray:
    return as_array(column.is_null()) if column.null_count else np.zeros(len(column), dtype=np.bool_)


def is_absent(column: ArrowColumn) -> BoolArray:
    """Null or an empty string. The text "none" may be a label."""
    null = is_null(column)
    return null | as_array(pc.fill_null(pc.equal(column, ""), False)) if is_text(column) else null


def is_missing(column: ArrowColumn) -> BoolArray:
    """Absent, or NaN: what is neither a time nor an id."""
    if not pa.types.is_floating(column.type):
        return is_absent(column)
    return np.asarray(is_null(column) | np.isnan(as_array(column.cast(pa.float64()).fill_null(0.0))))


def texts_and_codes(column: ArrowColumn) -> tuple[list[str | None], IntArray]:
    """The texts of a column's values, None for an empty text and for NaN, and each row's place among them, -1 for a null."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray) or not pa.types.is_dictionary(whole.type):
        whole = decode(whole)
        # Arrow encodes half floats only since version 26.
        whole = (whole.cast(pa.float32()) if pa.types.is_float16(whole.type) else whole).dictionary_encode()
    values = whole.dictionary.to_pylist()
    texts = [None if value in (None, "") or value != value else str(value) for value in values]
    # Codes may be unsigned, which have no -1.
    indices = whole.indices if whole.indices.null_count == 0 else whole.indices.cast(pa.int64()).fill_null(-1)
    return texts, as_array(indices)


def to_numbers(column: ArrowColumn, *, text: bool = True, words: bool = False) -> Numbers:
    """Convert numbers and booleans to float64, and ``text`` that says them; also by ``words``, such as yes and no."""
    column = decode(column)
    null, kind = is_null(column), column.type
    plain = pa.types.is_primitive(kind) and not pa.types.is_temporal(kind)
    if plain or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        values, not_numeric = _as_float(column), np.zeros(len(column), dtype=np.bool_)
    elif is_text(column) and text:
        lower = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        null = is_one_of(lower, MISSING) | is_null(lower)
        lower = as_digits(lower)
        number = matches(lower, _NUMBER)
        if words and not number.any() and not null.all():
            pair = next((pair for pair in _WORDS if (is_one_of(lower, pair) | null).all()), None)
            if pair is not None:
                lower, number = as_digits(lower, *pair), ~null
        values = _as_float(pc.if_else(pa.array(number), lower, pa.scalar(None, lower.type)))
        not_numeric = ~number & ~null
    else:
        values, not_numeric = np.full(len(column), np.nan), ~null
    narrow = kind in (pa.float16(), pa.float32())
    return Numbers(values, null, not_numeric, column, TOLERANCE_FLOAT32 if narrow else TOLERANCE)


def _as_float(column: ArrowColumn) -> FloatArray:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(column.type):
        # Through text, which is parsed exactly: Arrow's own cast of decimals is sometimes off by one bit.
        column = column.cast(pa.string())
    if not column.null_count and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.ascontiguousarray(as_array(column), dtype=np.float64)
    # safe=False: a whole number beyond 2^53 is rounded, as in every float column.
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values, dtype=np.float64)


def is_one_of(text: ArrowColumn, values: Sequence[str]) -> BoolArray:
    return as_array(pc.is_in(text, value_set=pa.array(values, text.type)))


def as_digits(text: ArrowColumn, yes: str = "true", no: str = "false") -> ArrowColumn:
    """Words for truth values as 1 and 0."""
    return pc.if_else(pc.equal(text, yes), "1", pc.if_else(pc.equal(text, no), "0", text))


def matches(text: ArrowColumn, pattern: str) -> BoolArray:
    return as_array(pc.fill_null(pc.match_substring_regex(text, pattern), False))


def numbers_in(column: ArrowColumn) -> ArrowColumn | None:
    """A column of text as numbers, if every entry is one or missing."""
    numbers = to_numbers(column)
    values = pa.array(numbers.values, mask=numbers.null)
    return None if numbers.not_numeric.any() or inexact(values).any() else values


def inexact(column: ArrowColumn) -> BoolArray:
    """Which floats are too large to tell whole numbers apart: two different ids may have become one."""
    if not pa.types.is_floating(column.type):
        return np.zeros(len(column), dtype=np.bool_)
    values = as_array(column.cast(pa.float64()).fill_null(0.0))
    return np.asarray((np.abs(values) >= _EXACT[column.type.bit_width]) & np.isfinite(values))


def is_list(column: ArrowColumn) -> bool:
    kind = column.type
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_vector(column: ArrowColumn) -> bool:
    """A column holds vectors: lists, or the text of JSON such as "[0.1, 0.9]", judged by the first entries."""
    if is_list(column):
        return True
    column = decode(column[:_LOOKED_AT])
    return is_text(column) and any(text is not None and text.lstrip().startswith("[") for text in column.to_pylist())


def text_to_vectors(column: ArrowColumn) -> tuple[Vectors, BoolArray, BoolArray]:
    """The vectors that JSON texts hold, which rounds have none, and which have another text."""
    column = decode(column)
    text, fits = pc.utf8_trim_whitespace(column), matches(column, _VECTOR)
    inner = pc.utf8_slice_codeunits(text, 1, -1)
    filled = fits & ~as_array(pc.fill_null(pc.equal(pc.utf8_trim_whitespace(inner), ""), True))
    lists = pc.if_else(pa.array(filled), pc.split_pattern(inner, ","), pa.scalar(None, pa.list_(text.type)))
    vectors, missing = list_to_vectors(lists)
    other = ~fits & ~is_null(text) & ~is_one_of(pc.utf8_lower(text), MISSING)
    return vectors, missing & ~other, other


def list_to_vectors(column: ArrowColumn) -> tuple[Vectors, BoolArray]:
    """The vectors of a list column, and which rounds have none; non-numeric entries become NaN."""
    column = decode(column)
    lengths = as_array(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64)
    missing = is_null(column) | (lengths == 0)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    entries = to_numbers(pc.list_flatten(column))
    return Vectors(entries.values, starts, entries.tolerance), missing


def equal_lists(column: ArrowColumn) -> npt.NDArray[Any] | None:
    """A view of floats, (rows, entries); None if lists or entries are missing, lengths differ, or it would be a copy."""
    column = decode(column)
    entries = column.flatten()
    width = len(entries) // len(column) if len(column) else 0
    if not width or column.null_count or entries.null_count or entries.type not in (pa.float32(), pa.float64()):
        return None
    if not pa.types.is_fixed_size_list(column.type) and (np.diff(as_array(column.offsets)) != width).any():
        return None
    return as_array(entries).reshape(len(column), width)
