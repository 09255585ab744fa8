from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.arrays import FloatArray
from surelift.kernels.quadrature import Quadrature, all_probabilities, all_slopes, logged_probability
from surelift.learning.policies.rules import EXACT, TRAINING
from tests.kernels.loops import by_numpy

pytestmark = pytest.mark.usefixtures("instruction_set")
ODD = Quadrature(-6.0, 8.0, 37, phases=16, farthest=14.0, least=-30.0, smallest=1e-20)
RULES = {"exact": EXACT, "training": TRAINING, "odd": ODD, "odd, single": ODD._replace(single=True, smallest=1e-10)}


@st.composite
def any_scores(draw: st.DrawFn) -> FloatArray:
    """Equal, close, far apart, or beyond where they count; of any type, and any layout in memory."""
    rows, actions = draw(st.sampled_from([0, 1, 2, 5, 33])), draw(st.sampled_from([1, 2, 3, 16, 17, 90]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread, level = draw(st.sampled_from([0.0, 1e-30, 1e-3, 1.0, 8.0, 1e30])), draw(st.floats(-1e3, 1e3))
    scores = level + spread * rng.normal(size=(rows, 2 * actions))
    single, strided = draw(st.booleans()), draw(st.booleans())
    kept: Any = (scores.astype(np.float32) if single else scores)[:, : 2 * actions : 2 if strided else 1]
    return np.asarray(kept[:, :actions])


@given(any_scores(), st.sampled_from(list(RULES)), st.integers(0, 2**32))
def test_as_in_numpy(scores: FloatArray, name: str, seed: int) -> None:
    """Logarithms of up to 60 are added up and taken back: fourteen digits are left of sixteen, and six of seven."""
    rule, rng = RULES[name], np.random.default_rng(seed)
    rel, least = (1e-4, 2e-6) if rule.single else (2e-14, 1e-15)
    worth, action = rng.normal(size=scores.shape), rng.integers(0, scores.shape[1], len(scores))
    for function, arguments in (
        (all_probabilities, (scores, rule)),
        (all_slopes, (scores, worth, rule)),
        (logged_probability, (scores, action, rule)),
    ):
        found, expected = function(*arguments), by_numpy(function, *arguments)
        for ours, theirs in zip(_several(found), _several(expected), strict=True):
            assert ours.dtype == theirs.dtype == rule.real
            assert ours.shape == theirs.shape
            assert np.isfinite(ours).all()
            assert ours == pytest.approx(theirs, rel=rel, abs=least)


def _several(arrays: Any) -> tuple[Any, ...]:
    return arrays if isinstance(arrays, tuple) else (arrays,)


@pytest.mark.parametrize("name", RULES)
def test_the_three_agree(name: str) -> None:
    """The probability of one action is that among all, and its gradient that of all with a worth of 1 and 0 elsewhere."""
    rule, rng = RULES[name], np.random.default_rng(0)
    scores, action = 2.0 * rng.normal(size=(40, 7)), rng.integers(0, 7, 40)
    close = 1e-6 if rule.single else 1e-15
    probability, gradient = logged_probability(scores, action, rule)
    assert probability == pytest.approx(all_probabilities(scores, rule)[np.arange(40), action], abs=close)
    assert gradient == pytest.approx(all_slopes(scores, np.eye(7)[action], rule), abs=close)
    assert all_probabilities(scores, rule).sum(axis=1) == pytest.approx(1.0, abs=1e-5)
