from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.arrays import FloatArray
from surelift.kernels.columns import KINDS, count_outside, hash_columns, read_numbers
from tests.kernels.loops import LENGTHS, by_numpy, rows_of

pytestmark = pytest.mark.usefixtures("instruction_set")
ANYTHING = st.floats() | st.sampled_from([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 5e-324])


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_every_type(kind: str) -> None:
    for rows in LENGTHS:
        numbers = np.random.default_rng(rows).integers(0, 2**64, rows + 3, dtype=np.uint64)
        column: npt.NDArray[Any] = numbers.view(kind)[3 : rows + 3]
        with np.errstate(invalid="ignore"):
            found, outside = read_numbers(column, 0.0, 100.0)
            expected, expected_outside = by_numpy(read_numbers, column, 0.0, 100.0)
        assert np.array_equal(found, expected, equal_nan=True), rows
        assert outside == expected_outside, rows


@given(rows_of(ANYTHING), st.sampled_from([(0.0, 1.0), (-np.inf, np.inf), (5e-324, 1.0), (-1e308, 1e308)]))
def test_what_is_outside(values: FloatArray, limits: tuple[float, float]) -> None:
    assert count_outside(values, *limits) == by_numpy(count_outside, values, *limits)


@given(rows_of(ANYTHING), st.lists(st.booleans(), max_size=5))
def test_hashes_are_the_same_to_the_bit(values: FloatArray, as_words: list[bool]) -> None:
    words = np.ascontiguousarray(values).view(np.uint64)
    columns = [(words, words + np.uint64(1)) if two else np.ascontiguousarray(np.roll(values, 1)) for two in as_words]
    found, totals = hash_columns(columns, len(values))
    expected, expected_totals = by_numpy(hash_columns, columns, len(values))
    assert np.array_equal(found, expected)
    assert totals == expected_totals
