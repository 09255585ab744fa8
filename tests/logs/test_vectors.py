import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.logs.vectors import Vectors

ragged = st.lists(st.lists(st.floats(0, 1), max_size=4), min_size=1, max_size=8)


def vectors_of(rows: list[list[float]]) -> Vectors:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Vectors(np.array([value for row in rows for value in row], dtype=np.float64), starts, 1e-6)


@given(rows=ragged)
def test_fold_reduces_each_row(rows: list[list[float]]) -> None:
    vectors = vectors_of(rows)
    assert vectors.sums() == pytest.approx([sum(row) for row in rows])
    assert vectors.fold(np.maximum, vectors.values, empty=-1.0).tolist() == [max(row, default=-1.0) for row in rows]


@given(rows=ragged, position=st.integers(-1, 5))
def test_a_missing_position_is_nan(rows: list[list[float]], position: int) -> None:
    entries = vectors_of(rows).at(np.full(len(rows), position))
    for row, entry in zip(rows, entries, strict=True):
        assert entry == row[position] if 0 <= position < len(row) else np.isnan(entry)
