"""The compiled loop says what NumPy says: of rows and units, in groups or not, where few rounds earn or most do."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.kernels.library import compiled
from surelift.kernels.loop import LoopPlan, LoopTerm, LoopUnits, WeighedRows, add_up
from surelift.logs.units import Piece
from tests.kernels.loops import LENGTHS, by_numpy

SMOOTHINGS = (0.0, 1e-3, 0.7)
TERMS = {
    "value": LoopTerm((Piece("a", False, 0.0, 1.0),), offset=0.0, smoothings=SMOOTHINGS),
    "shortfall": LoopTerm((Piece("a", False, 1.0, 0.0),), offset=0.5, smoothings=SMOOTHINGS[1:]),
    "gain": LoopTerm((Piece("b", True, 0.0, 1.0),), offset=1.0, smoothings=SMOOTHINGS),
    "decline": LoopTerm((Piece("b", True, 1.0, 0.0),), offset=1.0, smoothings=SMOOTHINGS),
    "difference": LoopTerm((Piece("a", True, 1.0, 0.0), Piece("b", True, 0.0, 1.0)), offset=1.0, smoothings=SMOOTHINGS),
    "reward": LoopTerm(constants=(0.0, 1.0)),
    "kept": LoopTerm((Piece("a", False, 0.0, 1.0),), kept=True),
}


def batch_of(
    seed: int, size: int, earning: float, groups: int, *, of_units: bool, scaled: bool, labelled: bool
) -> tuple[LoopPlan, WeighedRows, LoopUnits]:
    rng = np.random.default_rng(seed)
    earned = np.where(rng.random(size) < earning, rng.choice([1.0, 0.25, 0.5], size), 0.0)
    missed = 1.0 - earned + 0.5 * rng.random(size) if labelled else None
    weights = [rng.exponential(1.0, size) for _ in "ab"]
    rows = WeighedRows(earned, missed, rng.uniform(0.01, 1.0, size), weights, [weight - 1.0 for weight in weights])
    names = [name for name in TERMS if rng.random() < 0.7] or ["gain"]
    plan = LoopPlan(("a", "b"), tuple(TERMS[name] for name in names), (1.0, 0.5) if rng.random() < 0.5 else ())
    starts = divisors = None
    padding: Any = ()
    count = size
    if of_units:
        starts = np.array([0, *np.flatnonzero(rng.random(size - 1) < rng.choice([0.01, 0.5])) + 1, size])
        count, divisors = len(starts) - 1, np.diff(starts) + rng.integers(0, 3, len(starts) - 1).astype(float)
        padding = [0.0 if rng.random() < 0.5 else rng.random(count) for _ in names]
    codes = rng.integers(-1, groups, count) if groups else None
    scale = rng.uniform(1.0, 4.0, count) if scaled else None
    return plan, rows, LoopUnits(count, max(1, groups), codes, starts, divisors, padding, scale)


def require_agreement(plan: LoopPlan, rows: WeighedRows, units: LoopUnits) -> None:
    if compiled() is None:
        pytest.skip("no compiled library was built")
    found, expected = add_up(plan, rows, units), by_numpy(add_up, plan, rows, units)
    assert found is not None
    for own, other in zip(found.totals, expected.totals, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.moments, expected.moments, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.deepest, expected.deepest, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(found.smallest, expected.smallest)
    for name, table in (found.tables or {}).items():
        np.testing.assert_allclose(table, expected.tables[name], rtol=1e-10, atol=1e-10)
    for numbers, others in zip(found.kept, expected.kept, strict=False):
        assert (numbers is None) == (others is None)
        if numbers is not None:
            np.testing.assert_allclose(numbers, others, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("groups", [0, 3, 256, 257])
@pytest.mark.parametrize("earning", [0.02, 0.5])
@pytest.mark.parametrize("of_units, scaled, labelled", list(product([False, True], repeat=3)))
def test_every_way_through_it(groups: int, earning: float, of_units: bool, scaled: bool, labelled: bool) -> None:
    for seed in range(2):
        require_agreement(*batch_of(seed, 9001, earning, groups, of_units=of_units, scaled=scaled, labelled=labelled))


@given(
    st.integers(0, 2**32), st.sampled_from(LENGTHS[1:]), st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    st.sampled_from([0, 1, 3, 256, 257, 400]), st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip
def test_it_says_what_numpy_says(
    seed: int, size: int, earning: float, groups: int, of_units: bool, scaled: bool, labelled: bool
) -> None:
    require_agreement(*batch_of(seed, size, earning, groups, of_units=of_units, scaled=scaled, labelled=labelled))
