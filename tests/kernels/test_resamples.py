import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from surelift.arrays import FloatArray
from surelift.kernels import resamples
from surelift.kernels.resamples import resample
from surelift.kernels.sorting import Sorted
from tests.kernels.loops import by_numpy, rows_of, sorted_groups

pytestmark = pytest.mark.usefixtures("instruction_set")


def resampled(terms: FloatArray, numbers: Any, draws: int) -> FloatArray:
    [[totals]] = resample([terms], numbers.astype(np.uint64), draws, Sorted.whole(len(terms)))
    return np.asarray(totals)


@given(
    st.data(),
    rows_of(st.floats(-1e30, 1e30) | st.floats(-1e-30, 1e-30) | st.floats(0.0, 1.0) | st.just(0.0)),
    st.sampled_from([1, 2, 31, 32, 33, 100]),
    st.sampled_from([0, 1 << 40, (1 << 63) - 5]),
)
def test_as_in_numpy(data: st.DataObject, terms: FloatArray, draws: int, first: int) -> None:
    groups = data.draw(sorted_groups(len(terms)))
    numbers = np.uint64(first) + np.arange(len(terms), dtype=np.uint64)
    # One alone, and several, of which two share a pass.
    several = [terms, np.roll(terms, 1), np.zeros(len(terms))][: data.draw(st.integers(1, 3))]
    every_found, every_expected, every_size = (
        resample(several, numbers, draws, groups),
        by_numpy(resample, several, numbers, draws, groups),
        by_numpy(resample, [np.abs(one) for one in several], numbers, draws, groups),
    )
    for found, expected, sizes in zip(every_found, every_expected, every_size, strict=True):
        assert found.shape == (len(groups), 2, draws)
        assert (found[:, 1] == expected[:, 1]).all()
        assert (np.abs(found[:, 0] - expected[:, 0]) <= 4e-15 * sizes[:, 0]).all()


def test_sums_are_exact() -> None:
    terms, numbers = np.random.default_rng(0).exponential(size=20_011), np.arange(20_011)
    whole = resampled(terms, numbers, 3)
    alone = np.array([resampled(terms[[row]], numbers[[row]], 3)[0] for row in range(len(terms))])
    for draw in range(3):
        assert whole[0, draw] == pytest.approx(math.fsum(alone[:, draw].tolist()), rel=1e-15)


def test_chances_follow_the_poisson_law_of_mean_1() -> None:
    expected = stats.poisson(1.0).cdf(np.arange(12))
    assert len(resamples._EDGES) == 12
    assert np.abs(resamples._EDGES / 2**32 - expected).max() < 2.0**-32
    assert 1.0 - stats.poisson(1.0).cdf(12) < 2.0**-32  # more copies than edges


def test_resamples_do_not_depend_on_batches_or_on_how_many_there_are() -> None:
    terms, rows = np.random.default_rng(0).random(1_000), np.arange(1_000)
    whole = resampled(terms, rows, 50)
    parts = resampled(terms[:300], rows[:300], 50) + resampled(terms[300:], rows[300:], 50)
    assert whole == pytest.approx(parts)
    assert resampled(terms, rows, 20) == pytest.approx(whole[:, :20])


def test_rounds_are_drawn_independently() -> None:
    """Poisson(1) copies, uncorrelated between resamples and between rounds."""
    rounds, draws = 20_000, 100
    zeros = np.zeros(1)
    copies = np.array([resampled(zeros, np.array([row]), draws)[1] for row in range(rounds)])
    shares = np.array([(copies == count).mean() for count in range(5)])
    assert shares == pytest.approx(stats.poisson(1.0).pmf(np.arange(5)), abs=5 / math.sqrt(rounds * draws))
    for sample in (copies, copies[: draws * 2].T):
        correlations = np.corrcoef(sample.T)[np.triu_indices(sample.shape[1], 1)] * math.sqrt(len(sample))
        # About standard normal, some thousands of them.
        assert np.abs(correlations).max() < 6.0
        assert correlations.var() == pytest.approx(1.0, abs=0.15)
    totals = resampled(np.ones(200_000), np.arange(200_000), 500)
    assert (totals[0] == totals[1]).all()
    # 200,000 rounds each: mean 200,000, variance 200,000.
    assert (totals[1] - 200_000).mean() / math.sqrt(200_000 / 500) == pytest.approx(0.0, abs=5.0)
    assert totals[1].var() == pytest.approx(200_000, rel=0.35)
