import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.arrays import FloatArray
from surelift.kernels.sorting import Sorted, distinct, random_blocks
from surelift.kernels.sums import cluster_means, group_extremes, group_largest, group_sizes, group_sums, weigh
from tests.kernels.loops import by_numpy, rows_of, sorted_groups

pytestmark = pytest.mark.usefixtures("instruction_set")
NOT_NEGATIVE = st.floats(0.0, 1e150) | st.floats(0.0, 2.0) | st.sampled_from([0.0, 1.0, 1e-300, 1e-310])


@given(st.data(), rows_of(st.floats(-1e150, 1e150) | st.floats(-2.0, 2.0)))
def test_sums_and_squares(data: st.DataObject, values: FloatArray) -> None:
    groups = data.draw(sorted_groups(len(values)))
    found, expected = group_sums(values, groups), by_numpy(group_sums, values, groups)
    # Terms of both signs cancel: sums agree relative to the size of what was added. Both round after each of 128 additions.
    size = by_numpy(group_sums, np.abs(values), groups)[:, 0]
    assert np.all(np.abs(found[:, 0] - expected[:, 0]) <= 2 * 64 * 2.0**-53 * size)
    assert found[:, 1] == pytest.approx(expected[:, 1], rel=2 * 64 * 2.0**-53, abs=0.0)


@given(st.data(), rows_of(NOT_NEGATIVE))
def test_extremes_sizes_and_the_largest(data: st.DataObject, values: FloatArray) -> None:
    groups = data.draw(sorted_groups(len(values)))
    assert np.array_equal(group_extremes(values, groups), by_numpy(group_extremes, values, groups))
    assert group_largest(values, groups, 5) == by_numpy(group_largest, values, groups, 5)
    found, expected = (
        of(group_sizes, values, groups, shift=40, bins=560) for of in (lambda f, *a, **k: f(*a, **k), by_numpy)
    )
    assert np.array_equal(found[..., 0], expected[..., 0])
    np.testing.assert_allclose(found[..., 1], expected[..., 1], rtol=1e-13, atol=0.0)


@given(st.data(), rows_of(st.floats(-1e3, 1e3)), st.sampled_from([0.0, 1.0]))
def test_means_over_clusters(data: st.DataObject, values: FloatArray, padding: float) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    cuts = np.flatnonzero(rng.random(max(len(values) - 1, 0)) < 0.4) + 1
    starts = np.array([0, *cuts, len(values)] if len(values) else [0], dtype=np.int64)
    divisor = np.diff(starts) + rng.integers(0, 3, len(starts) - 1).astype(np.float64)
    found = cluster_means(values, starts, divisor, padding)
    expected = by_numpy(cluster_means, values, starts, divisor, padding)
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-10)


@given(rows_of(st.floats(0.0, 1.0)), rows_of(st.floats(0.0, 1.0)))
def test_weights_are_the_same_to_the_bit(p: FloatArray, q: FloatArray) -> None:
    rows = min(len(p), len(q))
    found, expected = weigh(p[:rows], q[:rows], 1e150), by_numpy(weigh, p[:rows], q[:rows], 1e150)
    assert np.array_equal(found[0], expected[0], equal_nan=True)
    assert np.array_equal(found[1], expected[1], equal_nan=True)
    assert found[2] == expected[2]


@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-5, 5), max_size=50))
def test_distinct_numbers(numbers: list[int]) -> None:
    rows = np.array(numbers, dtype=np.int64)
    present, places = distinct(rows)
    assert present.tolist() == sorted(set(numbers))
    assert present[places].tolist() == numbers


@given(st.integers(0, 2**63), st.integers(1, 1000), st.sampled_from([0, 1, 9, 4097]))
def test_random_blocks(first: int, count: int, rows: int) -> None:
    numbers = np.uint64(first) + np.arange(rows, dtype=np.uint64)
    found = random_blocks(numbers, count)
    assert np.array_equal(found, by_numpy(random_blocks, numbers, count))
    assert ((found >= 0) & (found < count)).all()


def test_random_blocks_are_alike() -> None:
    counts = np.bincount(random_blocks(np.arange(1_000_000, dtype=np.uint64), 20), minlength=20)
    # Five standard deviations of a binomial count.
    assert np.abs(counts - 50_000).max() < 5 * np.sqrt(50_000)
    assert len(Sorted.by(np.zeros(0, dtype=np.int64), 0)) == 0
