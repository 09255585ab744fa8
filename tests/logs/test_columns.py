"""Columns become the numbers that Arrow would make of them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from surelift.logs.batch import TableBatch
from surelift.logs.columns import to_numbers
from surelift.logs.rows import Rows

TYPES = [
    pa.bool_(), pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
]  # fmt: skip


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("missing", [False, True])
def test_numbers_of_every_type(kind: Any, missing: bool) -> None:
    logs: Any = None
    whole = pa.array([1, 0, None if missing else 1, 1, 0, 1, 1]).cast(kind)
    for column in (whole, whole.slice(2, 4), whole.slice(0, 0), pa.chunked_array([whole.slice(0, 3), whole.slice(3)])):
        expected = [float("nan") if value is None else float(value) for value in column.to_pylist()]
        numbers = to_numbers(column)
        np.testing.assert_array_equal(numbers.values, expected)
        assert numbers.values.dtype == np.float64
        assert numbers.null.tolist() == [value is None for value in column.to_pylist()]
        assert not numbers.not_numeric.any()
        plain = Rows(logs, TableBatch(pa.table({"x": column}), 0)).in_memory("x")
        assert (plain is None) == (column.null_count > 0)
        if plain is not None:
            np.testing.assert_array_equal(plain[0], expected)


def test_whole_numbers_beyond_float64_are_rounded_as_arrow_rounds_them() -> None:
    large = pa.array([2**53 + 1, 2**63 - 1, -(2**63), 2**62 + 2**9 + 1])
    np.testing.assert_array_equal(to_numbers(large).values, large.cast(pa.float64(), safe=False).to_numpy())
