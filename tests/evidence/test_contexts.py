"""Loggers that met the same contexts are refused rarely enough, and others found."""

from itertools import product
from math import comb

import numpy as np
import pytest

from surelift.traits.logger_tests import (
    BINS,
    MISSING,
    NUMBERS,
    VECTOR,
    context_contrast,
    number_bins,
    shares_e_value,
)


def counts_of(bins: list[int], loggers: list[int]) -> np.ndarray:
    counts = np.zeros((2, BINS))
    np.add.at(counts, (loggers, bins), 1.0)
    return counts


@pytest.mark.parametrize("chances", [(0.5, 0.5), (0.9, 0.1), (0.98, 0.02)])
def test_a_false_alarm_is_as_rare_as_it_says_exactly(chances: tuple[float, float]) -> None:
    """All pairs of counts of two loggers with 14 and 9 rounds, in two bins of a known law."""
    first, second = 14, 9
    for level in (0.5, 0.1, 0.01):
        alarm = 0.0
        for a, b in product(range(first + 1), range(second + 1)):
            chance = comb(first, a) * comb(second, b) * chances[0] ** (a + b) * chances[1] ** (first + second - a - b)
            contrast = context_contrast(np.array([[a, first - a], [b, second - b]], dtype=float))
            alarm += chance * (contrast.chance <= level)
        assert alarm <= level


def test_a_small_shift_of_a_number_is_found_and_none_is_not() -> None:
    rng = np.random.default_rng(5)
    who = rng.integers(0, 2, 4000)
    same, shifted = number_bins(rng.normal(size=4000)), number_bins(rng.normal(size=4000) + 0.4 * who)
    assert context_contrast(counts_of(same.tolist(), who.tolist())).chance > 0.05
    assert context_contrast(counts_of(shifted.tolist(), who.tolist())).chance < 1e-6


def test_vectors_and_one_logger_tell_nothing() -> None:
    assert context_contrast(counts_of([VECTOR] * 4, [0, 0, 1, 1])).chance == 1.0
    assert context_contrast(counts_of([0, 1, 0, 1], [0, 0, 0, 0])).chance == 1.0


def test_the_e_value_of_the_shares_has_a_mean_of_one() -> None:
    shares = np.array([0.1, 0.3, 0.6])
    mean = sum(
        float(np.prod(shares[list(drawn)])) * shares_e_value(np.bincount(drawn, minlength=3).astype(float), shares)
        for drawn in product(range(3), repeat=5)
    )
    assert mean == pytest.approx(1.0, abs=1e-12)
    assert shares_e_value(np.array([500.0, 500.0]), np.array([0.6, 0.4])) > 1e6


def test_numbers_are_binned_in_their_order() -> None:
    values = np.array([-np.inf, -1e9, -2.0, -1e-9, 0.0, 1e-9, 0.5, 0.6, 0.7, 2.0, 1e9, np.inf])
    bins = number_bins(values)
    assert (np.diff(bins) >= 0).all()
    assert bins.min() >= 0
    assert bins.max() < NUMBERS
    assert number_bins(np.array([np.nan]))[0] == MISSING
