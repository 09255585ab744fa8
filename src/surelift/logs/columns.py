"""Arrow columns as float64 numbers, and actions as positions in a vector, from whole numbers or declared labels."""

import math
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

NOWHERE = -1

# What tools write into a CSV for a missing value.
_MISSING = ("", "na", "n/a", "#n/a", "null", "none")
# Sign and digits of a whole number.
_WHOLE = r"^(-?)0*(\d+)(?:\.0*)?$"
_PLAIN_WHOLE = r"^(?:0|-?[1-9]\d*)$"
# The bits of a float, and the first whole number that it cannot tell from the next.
_EXACT = {16: 2.0**11, 32: 2.0**24, 64: 2.0**53}
# A pair of words for truth values, where a column holds nothing else; "true" and "false" may stand among 1 and 0.
_WORDS = (("t", "f"), ("y", "n"), ("yes", "no"))
_DECIMAL_COMMA = r"^\s*-?\d*,\d+([eE][-+]?\d+)?\s*$"
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


def is_list(column: ArrowColumn) -> bool:
    kind = column.type
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


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
    absent = is_absent(column)
    if not pa.types.is_floating(column.type):
        return absent
    return np.asarray(absent | np.isnan(as_array(column.cast(pa.float64()).fill_null(0.0))))


def texts_and_codes(column: ArrowColumn) -> tuple[list[str | None], IntArray]:
    """The texts of a column's values (None for an empty one, and for what is no number), and each row's place among them;
    -1 for a null.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray) or not pa.types.is_dictionary(whole.type):
        whole = decode(whole)
        # Arrow encodes half floats only since version 26.
        whole = (whole.cast(pa.float32()) if pa.types.is_float16(whole.type) else whole).dictionary_encode()
    values = whole.dictionary.to_pylist()
    texts = [None if value is None or value == "" or value != value else str(value) for value in values]
    # Codes may be unsigned, which have no -1.
    indices = whole.indices if whole.indices.null_count == 0 else whole.indices.cast(pa.int64()).fill_null(-1)
    return texts, as_array(indices)


def to_numbers(column: ArrowColumn, *, text: bool = True, words: bool = False) -> Numbers:
    """Convert numbers and booleans to float64, and ``text`` that says them; also by ``words``, such as yes and no."""
    column = decode(column)
    null = is_null(column)
    kind = column.type
    plain = pa.types.is_primitive(kind) and not pa.types.is_temporal(kind)
    if plain or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        values = _as_float(column.cast(pa.uint8()) if pa.types.is_boolean(kind) else column)
        not_numeric = np.zeros(len(column), dtype=np.bool_)
    elif is_text(column) and text:
        lower = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        null = _is_one_of(lower, _MISSING) | is_null(lower)
        lower = _as_digits(lower, "true", "false")
        number = _matches(lower, _NUMBER)
        if words and not number.any() and not null.all():
            for pair in _WORDS:
                if (_is_one_of(lower, pair) | null).all():
                    lower = _as_digits(lower, *pair)
                    number = ~null
                    break
        values = _as_float(pc.if_else(pa.array(number), lower, pa.scalar(None, lower.type)))
        not_numeric = ~number & ~null
    else:
        values, not_numeric = np.full(len(column), np.nan), ~null
    narrow = kind in (pa.float16(), pa.float32())
    return Numbers(values, null, not_numeric, column, TOLERANCE_FLOAT32 if narrow else TOLERANCE)


def _as_float(column: ArrowColumn) -> FloatArray:
    if pa.types.is_decimal(column.type):
        # Through text, which is parsed exactly: Arrow's own cast of decimals is sometimes off by one bit.
        column = column.cast(pa.string())
    elif not column.null_count and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.ascontiguousarray(as_array(column), dtype=np.float64)
    # safe=False: a whole number beyond 2^53 is rounded, as in every float column.
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values, dtype=np.float64)


def _is_one_of(text: ArrowColumn, values: Sequence[str]) -> BoolArray:
    return as_array(pc.is_in(text, value_set=pa.array(values, text.type)))


def _as_digits(text: ArrowColumn, yes: str, no: str) -> ArrowColumn:
    return pc.if_else(pc.equal(text, yes), "1", pc.if_else(pc.equal(text, no), "0", text))


def _matches(text: ArrowColumn, pattern: str) -> BoolArray:
    return as_array(pc.fill_null(pc.match_substring_regex(text, pattern), False))


def has_decimal_comma(column: ArrowColumn) -> BoolArray:
    return _matches(column, _DECIMAL_COMMA) if is_text(column) else np.zeros(len(column), dtype=np.bool_)


def numbers_in(column: ArrowColumn) -> ArrowColumn | None:
    """A column of text as numbers, if every entry is one or missing."""
    numbers = to_numbers(column)
    values = pa.array(numbers.values, mask=numbers.null)
    return None if numbers.not_numeric.any() or inexact(values).any() else values


def is_vector(column: ArrowColumn) -> bool:
    """A column holds vectors: lists, or the text of JSON such as "[0.1, 0.9]", judged by the first entries."""
    if is_list(column):
        return True
    column = decode(column[:_LOOKED_AT])
    return is_text(column) and any(text is not None and text.lstrip().startswith("[") for text in column.to_pylist())


def text_to_vectors(column: ArrowColumn) -> tuple[Vectors, BoolArray, BoolArray]:
    """The vectors that JSON texts hold, which rounds have none, and which have another text."""
    column = decode(column)
    text, fits = pc.utf8_trim_whitespace(column), _matches(column, _VECTOR)
    inner = pc.utf8_slice_codeunits(text, 1, -1)
    filled = fits & ~as_array(pc.fill_null(pc.equal(pc.utf8_trim_whitespace(inner), ""), True))
    lists = pc.if_else(pa.array(filled), pc.split_pattern(inner, ","), pa.scalar(None, pa.list_(text.type)))
    vectors, missing = list_to_vectors(lists)
    other = ~fits & ~is_null(text) & ~_is_one_of(pc.utf8_lower(text), _MISSING)
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


def find_positions(
    column: ArrowColumn, labels: Sequence[Any] | None, *, as_text: bool
) -> tuple[IntArray, BoolArray, ArrowColumn]:
    """Positions counted from 0 (``NOWHERE`` if invalid), a mask of missing rows, and the decoded column for messages.

    Without labels, whole numbers are positions. Labels that are numbers are compared as numbers, whole ones digit by digit.
    Other labels are matched as text; whole numbers are positions among them if no label looks like a number. In a CSV
    (``as_text``) a text may be such a position too, since it does not tell "1" from 1.
    """
    column = decode(column)
    null = is_absent(column)
    if labels is None:
        return _whole_positions(column), null, column
    if all(not isinstance(label, str) for label in labels):
        whole = [int(label) if label == math.floor(label) else None for label in labels]
        fractions = [None if number is not None else float(label) for number, label in zip(whole, labels, strict=True)]
        integers = _integers(column)
        if pa.types.is_integer(integers.type):
            kind = np.iinfo(integers.type.to_pandas_dtype())
            positions = _match(integers, [n if n is not None and kind.min <= n <= kind.max else None for n in whole])
        else:
            positions = _match(_digits(column), [None if number is None else str(number) for number in whole])
        if any(fraction is not None for fraction in fractions):
            parsed = _match(pa.array(to_numbers(column).values), fractions)
            positions = np.where(positions == NOWHERE, parsed, positions)
        return positions, null, column
    texts = [str(label) for label in labels]
    positions = _match(column if is_text(column) else _digits(column), texts)
    if as_text:
        null = null & (positions == NOWHERE)
    if as_text or not is_text(column):
        numbers = to_numbers(pa.array(texts))
        if (numbers.not_numeric | numbers.null).all():
            places = _whole_positions(column)
            positions = np.where((positions == NOWHERE) & (places < len(labels)), places, positions)
    return positions, null, column


def inexact(column: ArrowColumn) -> BoolArray:
    """Which floats are too large to tell whole numbers apart: two different ids may have become one."""
    if not pa.types.is_floating(column.type):
        return np.zeros(len(column), dtype=np.bool_)
    values = as_array(column.cast(pa.float64()).fill_null(0.0))
    return np.asarray((np.abs(values) >= _EXACT[column.type.bit_width]) & np.isfinite(values))


def _integers(column: ArrowColumn) -> ArrowColumn:
    """Truth values and whole floats as integers; other floats are null, other columns unchanged."""
    if pa.types.is_boolean(column.type):
        return column.cast(pa.uint8())
    if not pa.types.is_floating(column.type):
        return column
    values = as_array(column.cast(pa.float64()).fill_null(math.nan))
    whole = (values == np.floor(values)) & ~inexact(column) & np.isfinite(values)
    return pa.array(np.where(whole, values, 0.0).astype(np.int64), mask=~whole)


def _digits(column: ArrowColumn) -> ArrowColumn:
    """Whole numbers as text, without leading zeros and without a fraction; null for other entries."""
    column = _integers(column)
    if pa.types.is_decimal(column.type):
        # Not by Arrow, which writes a zero as 0E-9.
        column = pa.array([None if number is None else f"{number:f}" for number in column.to_pylist()], pa.string())
    elif not is_text(column) and not pa.types.is_integer(column.type):
        return pa.nulls(len(column), pa.string())
    column = column.cast(pa.string())
    if pc.all(pc.match_substring_regex(column, _PLAIN_WHOLE)).as_py():
        return column
    text = _as_digits(pc.utf8_lower(pc.utf8_trim_whitespace(column)), "true", "false")
    whole = pc.match_substring_regex(text, _WHOLE)
    digits = pc.replace_substring_regex(text, _WHOLE, r"\1\2")
    return pc.if_else(whole, pc.if_else(pc.equal(digits, "-0"), "0", digits), pa.scalar(None, pa.string()))


def _whole_positions(column: ArrowColumn) -> IntArray:
    column = _integers(column)
    if not pa.types.is_integer(column.type):
        digits = _digits(column)
        # Of 19 digits, which always fit.
        fits = pc.and_(pc.less_equal(pc.binary_length(digits), 19), pc.invert(pc.starts_with(digits, "-")))
        column = pc.if_else(fits, digits, pa.scalar(None, pa.string())).cast(pa.uint64())
    values = as_array(column.fill_null(0))
    valid = ~is_null(column) & (values >= 0) & (values <= np.iinfo(np.int64).max)
    return np.where(valid, values.astype(np.int64), NOWHERE)


def _match(column: ArrowColumn, labels: Sequence[Any]) -> IntArray:
    positions = pc.index_in(column, value_set=pa.array(labels, column.type), skip_nulls=True)
    return as_array(pc.fill_null(positions, NOWHERE)).astype(np.int64)
