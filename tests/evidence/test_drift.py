"""Days that differ by more than chance are found, and days that do not are not, also where rewards are rare."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.evidence.drift import Contrast, Drift


def moments(values: "list[float] | np.typing.NDArray[np.float64]") -> "np.typing.NDArray[np.float64]":
    numbers = np.asarray(values, dtype=np.float64)
    return np.array([len(numbers), numbers.sum(), (numbers * numbers).sum()])


def clicks(counts: "list[int]", rounds: int) -> Drift:
    return Drift({f"2024-03-{day:02d}": np.array([rounds, count, count]) for day, count in enumerate(counts, start=1)})


def worst(drift: Drift) -> Contrast:
    found = drift.contrast(level=1e300)
    assert found is not None
    return found


def test_two_days_by_hand() -> None:
    # 10 of 20 clicks, 9 of them on one day of ten: 10 KL(0.9 || 0.5) = 10 (0.9 log 1.8 + 0.1 log 0.2).
    found = worst(clicks([9, 1], 10))
    assert found.surprise == pytest.approx(9 * math.log(1.8) + math.log(0.2))
    assert (found.mean, found.other_mean) == (0.9, 0.1)
    # Two contrasts, both sides: 4 chances of exp(-surprise).
    chance = 4 * math.exp(-found.surprise)
    assert clicks([9, 1], 10).contrast(level=chance * 0.999) is None
    assert clicks([9, 1], 10).contrast(level=chance * 1.001) is not None


def test_a_small_variance_counts_for_more_than_the_range() -> None:
    """Numbers in [0.4, 0.6]: by their range alone, 1,000 rounds of a difference of 0.02 would be no surprise."""
    values = np.tile([0.4, 0.6], 500)
    drift = Drift({"2024-03-01": moments(values), "2024-03-02": moments(values + 0.02)})
    # Mean 0.51, variance 0.0101, reach 0.49: KL(0.0150 / 0.2502 || 0.0101 / 0.2502), a thousand times.
    assert worst(drift).surprise == pytest.approx(4.3288, abs=1e-4)


@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), min_size=2, max_size=9), st.data())
def test_the_chance_of_a_surprise_is_at_most_what_it_says(pool: list[float], data: st.DataObject) -> None:
    """Over all ways to draw the rounds of one day from those of two, on each side."""
    size = data.draw(st.integers(1, len(pool) - 1))
    surprises: dict[bool, list[float]] = {True: [], False: []}
    draws = list(combinations(range(len(pool)), size))
    for drawn in draws:
        rest = [pool[place] for place in range(len(pool)) if place not in drawn]
        found, _ = Drift({"1": moments([pool[place] for place in drawn]), "2": moments(rest)}).contrasts()
        surprises[found.mean > found.other_mean].append(found.surprise)
    for side in surprises.values():
        for surprise in side:
            assert sum(other >= surprise - 1e-9 for other in side) <= len(draws) * math.exp(-surprise) + 1e-6


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.5])
@pytest.mark.parametrize("days, rounds", [(2, 20), (2, 10_000), (28, 20), (28, 10_000)])
def test_days_of_one_law_are_left_alone(rate: float, days: int, rounds: int) -> None:
    rng = np.random.default_rng(7)
    counts = rng.binomial(rounds, rate, (300, days))
    alarms = sum(clicks(row.tolist(), rounds).contrast(level=0.01) is not None for row in counts)
    assert alarms <= 14  # at a chance of 0.01 each, more come with probability below one in a million


def test_what_drifts_is_named() -> None:
    step = clicks([100] * 10 + [160] * 10, 1_000).contrast(level=0.001)
    assert step is not None
    assert (step.days, step.others) == ("until 2024-03-10", "from 2024-03-11 on")
    assert (step.mean, step.other_mean) == (0.1, 0.16)
    spike = clicks([100] * 10 + [200] + [100] * 9, 1_000).contrast(level=0.001)
    assert spike is not None
    assert (spike.days, spike.others, spike.mean, spike.other_mean) == ("on 2024-03-11", "on the other days", 0.2, 0.1)


def test_equal_numbers_do_not_drift_by_their_rounding() -> None:
    days = {str(day): np.array([rounds, 0.1 * rounds, 0.1 * 0.1 * rounds]) for day, rounds in enumerate([3, 10**6, 7])}
    assert worst(Drift(days)).surprise < 1e-3
    assert Drift({"1": moments([0.0] * 9), "2": moments([0.0])}).contrast(level=0.9) is None
    assert Drift({"1": moments([1.0] * 9), "2": moments([1.0])}).contrast(level=0.9) is None


def test_one_day_shows_nothing() -> None:
    assert Drift({"2024-03-01": moments([0.0, 1.0])}).contrast(level=0.9) is None
    assert Drift({}).contrast(level=0.9) is None
