"""Actions as positions in a vector, from whole numbers or declared labels."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, BoolArray, IntArray, pc
from surelift.logs.columns import as_array, as_digits, decode, inexact, is_absent, is_null, is_text, to_numbers

NOWHERE = -1
# Sign and digits of a whole number.
_WHOLE = r"^(-?)0*(\d+)(?:\.0*)?$"
_PLAIN_WHOLE = r"^(?:0|-?[1-9]\d*)$"


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
    text = as_digits(pc.utf8_lower(pc.utf8_trim_whitespace(column)))
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
