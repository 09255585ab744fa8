"""A propensity that production's vector and the logged action determine may be left out."""

from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.batch import Batch

RNG = np.random.default_rng(4)
LOGGING = RNG.dirichlet([1.0, 2.0, 3.0], 500)
ACTION = (RNG.random(500)[:, None] > np.cumsum(LOGGING, axis=1)[:, :-1]).sum(axis=1)
COLUMNS: dict[str, Any] = {
    "r": (RNG.random(500) < 0.2 + 0.3 * ACTION).astype(float), "a": ACTION, "l": LOGGING,
    "q": LOGGING[np.arange(500), ACTION], "v": RNG.dirichlet([3.0, 2.0, 1.0], 500), "x": RNG.random(500),
}  # fmt: skip
DECLARED: dict[str, Any] = {"reward": "r", "logging": "l", "action": "a"}


def test_it_is_the_entry_of_the_vector() -> None:
    told, found = sl.Logs(COLUMNS, propensity="q", **DECLARED), sl.Logs(COLUMNS, **DECLARED)
    for one, other in zip(told.batches(), found.batches(), strict=True):
        assert (Batch(told, one).propensity == Batch(found, other).propensity).all()
    answer = sl.compare(found, "v")
    assert (answer.lower, answer.upper) == (sl.compare(told, "v").lower, sl.compare(told, "v").upper)
    assert sl.check(found, "v").ok
    assert sl.verify(sl.Certificate.of(answer).content, found).same
    arrays = sl.Logs(reward=COLUMNS["r"], action=ACTION, logging=LOGGING)
    assert sl.compare(arrays, {"new": COLUMNS["v"]}).lower == answer.lower


def test_a_vector_that_falls_short_of_one_understates_no_propensity() -> None:
    short = sl.Logs({**COLUMNS, "l": LOGGING * (1 - 5e-7)}, **DECLARED)
    (batch,) = short.batches()
    assert (Batch(short, batch).propensity >= COLUMNS["q"] * (1 - 1e-12)).all()


def test_what_is_refused() -> None:
    for missing, says in {
        "logging": "no propensity: name the column",
        "action": "action= must name the column",
    }.items():
        declared = {role: column for role, column in DECLARED.items() if role != missing}
        with pytest.raises(sl.UsageError, match=says):
            sl.Logs(COLUMNS, **declared)
    zero = LOGGING.copy()
    zero[7] = np.roll([0.0, 0.4, 0.6], ACTION[7])
    with pytest.raises(sl.LogsError, match=r"the entry of logging= at action=: 1 of 500 values lie outside .* row 7"):
        sl.compare(sl.Logs({**COLUMNS, "l": zero}, **DECLARED), "v")


def test_learning_without_it() -> None:
    pytest.importorskip("torch")
    learner = sl.PolicyLearner(epochs=1)
    assert learner.fit(COLUMNS["x"], ACTION, reward=COLUMNS["r"], logging=LOGGING).certificate_ is not None
