import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.kernels.control import ControlComponents, ControlledTerms, controlled_log_sums
from surelift.kernels.loop import LoopUnits
from tests.kernels.loops import by_numpy

pytestmark = pytest.mark.usefixtures("instruction_set")
BETAS = 2.0 ** np.arange(-20.0, 7.0)


def terms_of(seed: int, rounds: int, *, longest: int = 6, size: float = 1.0) -> ControlledTerms:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, rounds)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shares = rng.random(starts[-1]) / np.repeat(lengths, lengths)
    expected = size * shares * rng.pareto(1.5, starts[-1])
    return ControlledTerms(size * rng.random(rounds), size * rng.pareto(1.5, rounds), starts, expected, shares)


def components(count: int) -> ControlComponents:
    beta = np.resize(BETAS, count)
    return ControlComponents(8 / 9 / beta, 8 / 9 / beta, 9 * beta)


@st.composite
def units_of(draw: st.DrawFn, rounds: int) -> LoopUnits:
    """Rounds or clusters, kept or all, in up to a hundred groups."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count, starts, divisor, codes, groups = rounds, None, None, None, 1
    if draw(st.booleans()) and rounds:
        cuts = np.flatnonzero(rng.random(rounds - 1) < 0.4) + 1
        starts = np.array([0, *cuts, rounds], dtype=np.int64)
        divisor = np.diff(starts) + rng.integers(0, 3, len(starts) - 1).astype(np.float64)
        count = len(divisor)
    if draw(st.booleans()):
        groups = draw(st.sampled_from([1, 3, 100]))
        codes = rng.integers(-1, groups, count)
    keep = rng.uniform(0.05, 1.0, count) if draw(st.booleans()) else None
    return LoopUnits(count, groups, codes, starts, divisor, draw(st.sampled_from([0.0, 1.0])), keep=keep)


@given(
    st.data(), st.integers(0, 2**32), st.sampled_from([0, 1, 2, 300, 1500]), st.sampled_from([1, 27, 32, 33, 54]),
    st.sampled_from([1e-6, 1.0, 1e6]),
)  # fmt: skip
def test_as_in_numpy(data: st.DataObject, seed: int, rounds: int, count: int, size: float) -> None:
    terms, units = terms_of(seed, rounds, size=size), data.draw(units_of(rounds))
    found, sums, deepest = controlled_log_sums(terms, units, components(count))
    expected, expected_sums, expected_deepest = by_numpy(controlled_log_sums, terms, units, components(count))
    assert sums == pytest.approx(expected_sums, rel=1e-12)
    assert found == pytest.approx(expected, rel=1e-14, abs=0.0)
    assert deepest == pytest.approx(expected_deepest, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e3, 1e9])
def test_sums_are_exact_to_1e_15(size: float) -> None:
    terms, parts = terms_of(1, 20_011, size=size), components(27)
    found, sums, _ = controlled_log_sums(terms, LoopUnits(20_011, 1), parts)
    for column, (cap, offset, smoothing) in enumerate(zip(parts.caps, parts.offsets, parts.smoothings, strict=True)):
        shifted = np.maximum(terms.capped(float(cap)) + offset, 0.0)
        exact = math.fsum(math.log1p(smoothing * x) for x in shifted.tolist())
        assert found[0, column] == pytest.approx(exact, rel=1e-15)
        assert sums[0, column] == pytest.approx(math.fsum(shifted), rel=1e-12)
