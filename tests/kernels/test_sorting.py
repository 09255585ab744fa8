from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.arrays import IntArray
from surelift.kernels.sorting import Sorted
from tests.kernels.loops import by_numpy

pytestmark = pytest.mark.usefixtures("instruction_set")


@given(st.lists(st.integers(-1, 5), max_size=200).map(lambda codes: np.array(codes, dtype=np.int64)), st.integers(6, 9))
def test_as_in_numpy(codes: IntArray, groups: int) -> None:
    found, expected = Sorted.by(codes, groups), by_numpy(Sorted.by, codes, groups)
    assert found.order is not None
    assert found.order.tolist() == expected.order.tolist()
    assert found.edges.tolist() == expected.edges.tolist()
    assert [part.tolist() for part in found.split(codes)] == [[code] * int((codes == code).sum()) for code in range(groups)]


def test_many_groups_and_other_types() -> None:
    codes = np.random.default_rng(0).integers(-1, 30_000, 100_000)
    expected = by_numpy(Sorted.by, codes, 30_000)
    others: list[Any] = [codes, codes.astype(np.int32), np.repeat(codes, 2)[::2]]
    for other in others:
        found = Sorted.by(other, 30_000).order
        assert found is not None
        assert np.array_equal(found, expected.order)
