import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.arrays import FloatArray
from surelift.kernels.sorting import Sorted
from surelift.kernels.weight_tables import CORNERS, WEIGHT_BINS, weight_tables
from tests.kernels.loops import by_numpy, rows_of, sorted_groups

pytestmark = pytest.mark.usefixtures("instruction_set")
EXCESS = st.floats(-1.0, 1.0) | st.floats(-1.0, 1e6) | st.sampled_from([-1.0, 0.0, 2.0**-12, -(2.0**-12), 65536.0, 1e150])
REWARDS = st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.5, 1.0, 2.0**-14, 1.0 - 2.0**-14, 5e-324, 1.0 - 2.0**-53])


@given(st.data(), rows_of(EXCESS), rows_of(REWARDS))
def test_the_loops_and_numpy_fill_the_same_bins(data: st.DataObject, excess: FloatArray, reward: FloatArray) -> None:
    rows = min(len(excess), len(reward))
    groups = data.draw(sorted_groups(rows))
    found = weight_tables(excess[:rows], reward[:rows], groups)
    expected = by_numpy(weight_tables, excess[:rows], reward[:rows], groups)
    order = np.lexsort((found[1], found[0]))
    assert np.array_equal(found[0][order], expected[0])
    assert np.array_equal(found[1][order], expected[1])
    np.testing.assert_allclose(found[2][order], expected[2], rtol=1e-12, atol=1e-12)


@given(EXCESS, REWARDS)
def test_a_round_lies_between_the_edges_of_its_bin_and_its_places_say_where(excess: float, reward: float) -> None:
    _, bins, sums = weight_tables(np.array([excess]), np.array([reward]), _one())
    weights, rewards = CORNERS
    row, column = divmod(int(bins[0]), WEIGHT_BINS)
    ones, at_weight, at_reward, both = sums[0].tolist()
    assert ones == 1.0
    assert both == at_weight * at_reward
    assert 0.0 <= at_weight <= 1.0
    assert 0.0 <= at_reward <= 1.0
    capped = 1.0 + min(excess, 65536.0)
    assert (1 - at_weight) * weights[column] + at_weight * weights[column + 1] == pytest.approx(capped, rel=1e-12)
    assert (1 - at_reward) * rewards[row] + at_reward * rewards[row + 1] == pytest.approx(reward, rel=1e-12, abs=1e-15)


def _one() -> Sorted:
    return Sorted.whole(1)
