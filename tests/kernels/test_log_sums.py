import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.arrays import FloatArray
from surelift.kernels.log_sums import log_sums
from surelift.kernels.sorting import Sorted
from tests.kernels.loops import by_numpy, rows_of, sorted_groups

pytestmark = pytest.mark.usefixtures("instruction_set")
RNG = np.random.default_rng(0)
SIZE = 20_011
SMOOTHINGS = np.array([1e-12, 1e-8, 1e-4, 0.1, 1.0, 1e3, 1e5])
DATA = {
    "constant": np.full(SIZE, 0.37),
    "exponential": RNG.exponential(size=SIZE),
    "heavy": 100 * RNG.pareto(0.7, SIZE),
    "from 1e-30 to 1e30": 10.0 ** RNG.uniform(-30, 30, SIZE),
    "1e-30": np.full(SIZE, 1e-30),
    "1e30": np.full(SIZE, 1e30),
    "mostly zero": np.where(RNG.random(SIZE) < 0.01, 50 * RNG.random(SIZE), 0.0),
}


def logarithm(smoothing: float, x: float) -> float:
    return math.log1p(smoothing * x) if smoothing * x < 1e300 else math.log(smoothing) + math.log(x)


@pytest.mark.parametrize("name", DATA)
def test_log_sums_are_exact_to_1e_15(name: str) -> None:
    exact = [math.fsum(logarithm(smoothing, x) for x in DATA[name].tolist()) for smoothing in SMOOTHINGS.tolist()]
    assert log_sums(DATA[name], SMOOTHINGS, Sorted.whole(SIZE))[0][0] == pytest.approx(exact, rel=1e-15)


def test_many_smoothings_and_overflow() -> None:
    smoothings = np.array(sl.grids.anytime().smoothings)
    huge = np.concatenate([DATA["heavy"], np.full(5, 1e150), np.full(3, 1e308)])
    exact = [math.fsum(logarithm(smoothing, x) for x in huge.tolist()) for smoothing in smoothings.tolist()]
    assert log_sums(huge, smoothings, Sorted.whole(len(huge)))[0][0] == pytest.approx(exact, rel=1e-15)


@given(
    st.data(),
    rows_of(st.floats(-1e308, 1e308) | st.floats(0.0, 1e-30) | st.floats(-1.0, 10.0) | st.just(0.0)),
    st.sampled_from([SMOOTHINGS, SMOOTHINGS[:1], np.array(sl.grids.anytime().smoothings)]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([-np.inf, -1e-9, 0.0, 0.5]),
)
def test_as_in_numpy(data: st.DataObject, x: FloatArray, smoothings: FloatArray, offset: float, floor: float) -> None:
    groups = data.draw(sorted_groups(len(x)))
    found, below = log_sums(x, smoothings, groups, offset=offset, floor=floor)
    expected, expected_below = by_numpy(log_sums, x, smoothings, groups, offset=offset, floor=floor)
    assert found == pytest.approx(expected, rel=2e-15, abs=0.0)
    assert below == expected_below
