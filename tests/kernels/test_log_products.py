import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.arrays import FloatArray
from surelift.kernels.log_sums import log_products
from surelift.kernels.sorting import Sorted
from tests.kernels.loops import by_numpy, rows_of, sorted_groups

pytestmark = pytest.mark.usefixtures("instruction_set")
RATES = np.array([sign * 2.0**-j for j in range(1, 11) for sign in (1.0, -1.0)])
RNG = np.random.default_rng(0)
SIZE = 20_011
DATA = {
    "constant": np.full(SIZE, 0.37),
    "uniform": RNG.uniform(-1.0, 1.0, SIZE),
    "to the edge": RNG.choice([-1.0, 1.0], SIZE),
    "1e-30": 1e-30 * RNG.uniform(-1.0, 1.0, SIZE),
    "from 1e-300 to 1": RNG.choice([-1.0, 1.0], SIZE) * 10.0 ** RNG.uniform(-300.0, 0.0, SIZE),
    "mostly zero": np.where(RNG.random(SIZE) < 0.01, RNG.uniform(-1.0, 1.0, SIZE), 0.0),
}


def assert_close(found: FloatArray, expected: FloatArray, x: FloatArray, rates: FloatArray, *, rel: float = 1e-15) -> None:
    """Logarithms of both signs cancel: they agree relative to the sum of their sizes."""
    sizes = np.array([np.abs(np.log1p(rate * x)).sum() for rate in rates])
    assert (np.abs(found - expected) <= rel * sizes).all()


@pytest.mark.parametrize("name", DATA)
def test_sums_of_logarithms_are_exact(name: str) -> None:
    x = DATA[name]
    exact = np.array([math.fsum(map(math.log1p, (rate * x).tolist())) for rate in RATES])
    assert_close(log_products(x, RATES, Sorted.whole(SIZE))[0], exact, x, RATES)


@given(st.data(), rows_of(st.floats(-1.0, 1.0, exclude_min=True, exclude_max=True)), st.sampled_from([RATES, np.ones(1)]))
def test_as_in_numpy(data: st.DataObject, x: FloatArray, rates: FloatArray) -> None:
    groups = data.draw(sorted_groups(len(x)))
    found, expected = log_products(x, rates, groups), by_numpy(log_products, x, rates, groups)
    assert found.shape == (len(groups), len(rates))
    for group, part in enumerate(groups.split(x)):
        assert_close(found[group], expected[group], part, rates, rel=4e-15)


def test_factors_of_almost_zero() -> None:
    """Factors of 2^-53, the smallest above zero, and then those that bring the product back."""
    small, large = np.full(4096, -1.0 + 2.0**-53), np.full(4096 * 53, 1.0)
    x = np.concatenate([small, large])
    found = log_products(x, np.ones(1), Sorted.whole(len(x)))[0]
    assert_close(found, np.zeros(1), x, np.ones(1))


def test_columns_of_a_matrix() -> None:
    x = DATA["uniform"][:20_000].reshape(-1, 2)[:, 1]
    assert (log_products(x, RATES, Sorted.whole(10_000)) == log_products(x.copy(), RATES, Sorted.whole(10_000))).all()
