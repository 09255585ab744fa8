"""What a person reads: bounds rounded away from what they promise, and a verdict in a sentence."""

from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.views.numbers import decimals_for, rounded
from tests.prose import flat

ROWS = 3_000
RNG = np.random.default_rng(1)
P = np.full(ROWS, 0.5)
GOOD = RNG.random(ROWS) < 0.5
CLICK = (RNG.random(ROWS) < np.where(GOOD, 0.5, 0.2)).astype(float)
LOGS = sl.Logs(reward=CLICK, propensity=P)


@given(number=st.floats(-1e6, 1e6), decimals=st.integers(2, 12))
def test_rounding_never_promises_more(number: float, decimals: int) -> None:
    down, up = (Decimal(rounded(number, decimals, towards=way).replace(",", "")) for way in ("down", "up"))
    assert down <= Decimal(number) <= up
    assert up - down <= Decimal(1).scaleb(-decimals)


def test_no_minus_zero() -> None:
    assert rounded(-0.0001, 2) == "0.00"
    assert rounded(-0.0001, 2, towards="down") == "-0.01"
    assert rounded(-0.0, 3, sign=True) == "+0.000"
    assert decimals_for(0.0) == 4


def test_a_certified_improvement() -> None:
    text = str(sl.compare(LOGS, {"new": np.where(GOOD, 0.8, 0.2)}))
    assert text.startswith("Improvement of 'new' over production, 3,000 rounds")
    assert "holds with probability 0.95, at any number of looks (mixture)" in flat(text)
    assert text.endswith("Certified: 'new' is better than production.")


def test_what_is_not_certified_is_told_apart() -> None:
    worse = str(sl.compare(LOGS, {"worse": np.where(GOOD, 0.2, 0.8)}))
    assert worse.endswith("Worse: 'worse' performs worse than production.")
    whim = np.random.default_rng(2).random(ROWS) < 0.5
    open_ = str(sl.compare(LOGS, {"same": np.where(whim == GOOD, 0.8, 0.2)}))
    assert open_.endswith("they do not rule it out either.")
    margin = str(sl.compare(LOGS, {"new": np.where(GOOD, 0.8, 0.2)}, margin=0.3))
    assert margin.endswith(
        "Not certified: these rounds rule out that 'new' is better than production by\n  more than 0.3."
    )
    planned = str(sl.compare(LOGS, {"new": np.where(GOOD, 0.8, 0.2)}, grid="planned"))
    assert "at one look" in planned


def test_an_estimate_outside_the_range_says_so() -> None:
    logs = sl.Logs(reward=[1.0, 1.0, 1.0], propensity=[0.3, 0.5, 0.5])
    text = str(sl.evaluate(logs, {"new": [1.0, 1.0, 1.0]}))
    assert "'new': the estimate is not a possible value: it lies outside [0, 1], and the mean weight is 2.44, not 1" in flat(text)


def test_a_choice_and_no_choice() -> None:
    both = {"new": np.where(GOOD, 0.8, 0.2), "worse": np.where(GOOD, 0.2, 0.8)}
    assert "Choose 'new': better than production by at least 0." in str(sl.select(LOGS, both))
    assert "Keep production: no candidate is certified better." in str(sl.select(LOGS, {"worse": both["worse"]}))


def test_names_with_control_characters_are_inert() -> None:
    text = str(sl.compare(LOGS, {"new\x1b[2J\n": np.full(ROWS, 0.5)}))
    assert "\x1b" not in text
    assert text.splitlines()[1].startswith("  estimate")
