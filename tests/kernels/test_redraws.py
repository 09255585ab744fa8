from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.redraws import LANES, redraw
from tests.kernels.loops import by_numpy

pytestmark = pytest.mark.usefixtures("instruction_set")
Log = tuple[FloatArray, FloatArray, FloatArray, IntArray]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """What was logged, and the chances and weights of all actions, of which there are few or many, some never taken."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    most, rounds = draw(st.sampled_from([1, 2, 7, 40])), draw(st.sampled_from([1, 2, 63, 64, 65, 300, 700]))
    lengths = rng.integers(1, most + 1, rounds)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    kind, scale = draw(st.sampled_from(["any", "equal", "certain", "some never"])), 10.0 ** draw(st.integers(-30, 30))
    chances = rng.exponential(size=starts[-1])
    if kind == "equal":
        chances[:] = draw(st.floats(1e-3, 1.0))
    if kind != "any":
        chances[(rng.random(starts[-1]) < (0.5 if kind == "some never" else 0.0)) | (kind == "certain")] = 0.0
        chances[starts[:-1]] = 1.0
    weights = scale * np.where(rng.random(starts[-1]) < 0.2, 0.0, rng.exponential(size=starts[-1]))
    logged = np.where(rng.random(rounds) < draw(st.sampled_from([0.0, 0.5, 1.0])), 0.0, weights[starts[:-1]])
    return logged, chances, weights, starts


@given(logs(), st.sampled_from([0, 1, 10**6]), st.sampled_from([1, 7, 8, 499, 500]))
def test_as_in_numpy(log: Log, block: int, lanes: int) -> None:
    found, expected = redraw(*log, block=block, lanes=lanes), by_numpy(redraw, *log, block=block, lanes=lanes)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == (lanes,)
        assert ours == pytest.approx(theirs, rel=2e-15, abs=0.0)


def a_log(rounds: int, actions: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    chances, wanted = rng.dirichlet(np.ones(actions), rounds), rng.dirichlet(np.ones(actions), rounds)
    weights = wanted / chances
    return weights[:, 0].copy(), chances.ravel(), weights.ravel(), actions * np.arange(rounds + 1)


def test_many_rounds() -> None:
    log = a_log(20_011, 18)
    for ours, theirs in zip(redraw(*log, block=0, lanes=20), by_numpy(redraw, *log, block=0, lanes=20), strict=True):
        assert ours == pytest.approx(theirs, rel=2e-15)


def test_a_lane_draws_the_same_whoever_else_draws_and_every_block_others() -> None:
    log = a_log(100, 5)
    all_lanes, few = redraw(*log, block=3, lanes=LANES)[0], redraw(*log, block=3, lanes=9)[0]
    assert few == pytest.approx(all_lanes[:9], rel=1e-15)
    others = [redraw(*log, block=block, lanes=LANES)[0] for block in (0, 1, 2)]
    assert len({*all_lanes.tolist(), *np.concatenate(others).tolist()}) == 4 * LANES


def test_columns_are_drawn_as_often_as_their_chances() -> None:
    """One round, whose redrawn weight w' comes back as (w / w + w' / w')^2 or (w / w)^2: 4, or 1 where w' is 0."""
    chances, draws = np.array([0.05, 0.2, 0.45, 0.3]), 200
    for action in range(4):
        weights = (np.arange(4) == action).astype(float)
        found = [
            redraw(np.ones(1), chances, weights, np.array([0, 4]), block=block, lanes=LANES)[0] for block in range(draws)
        ]
        taken = np.count_nonzero(np.concatenate(found) == 4.0)
        spread = np.sqrt(chances[action] * (1 - chances[action]) / (LANES * draws))
        assert taken / (LANES * draws) == pytest.approx(chances[action], abs=5 * spread)
