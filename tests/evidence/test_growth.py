"""How evidence grows: by hand, and simulated bets held against bets on one log at a time."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from surelift.bounds.betting import BlockBets
from surelift.evidence.growth import BlockTotals, Growth

# Two blocks with one and three rounds, and one component with smoothing 1 and offset 1.
TOTALS = BlockTotals(
    np.array([1.0, 3.0]), np.array([[0.0], [4.0]]), np.array([[2.0], [6.0]]), np.array([1.0]), np.array([1.0])
)


def test_means_and_residuals_by_hand() -> None:
    # (2 + 6)/4 rounds is a mean of 2 with the offset; the logs are 1 a round, whose blocks miss it by -1 and 1.
    assert TOTALS.means == pytest.approx([1.0])
    assert TOTALS.log_means(1.0) == pytest.approx([1.0])
    assert TOTALS.log_means(0.0) == pytest.approx([1.0 + math.log(2) - math.log(3)])
    assert (TOTALS.residuals(TOTALS.logs) ** 2).sum() == pytest.approx(1.0 + 1.0 / 3.0)


def test_resamples_begin_with_the_blocks_themselves() -> None:
    drawn = TOTALS.resampled(50)
    assert drawn.rounds.shape == (51, 2)
    assert drawn.rounds[0].tolist() == [1.0, 3.0]
    assert {1.0, 3.0} == set(drawn.rounds.ravel())
    assert drawn.log_means(np.full(51, 0.5))[7] == pytest.approx(drawn[7].log_means(0.5))
    assert drawn.residuals(drawn.logs)[7] == pytest.approx(drawn[7].residuals(drawn[7].logs))


@given(mean=st.floats(0.001, 0.5), deviation=st.floats(0.0, 1.0), power=st.floats(0.5, 0.99), prior=st.floats(0.01, 1.0))
def test_one_component_needs_what_a_quadratic_equation_says(
    mean: float, deviation: float, power: float, prior: float
) -> None:
    """The least n with n mean - z sqrt(n) deviation = log(20) - log(prior)."""
    growth = Growth(np.log([prior]), np.array([mean]), np.array([deviation]), math.log(20.0))
    missing, spread = math.log(20.0 / prior), float(stats.norm.ppf(power)) * deviation
    root = (spread + math.sqrt(spread**2 + 4.0 * mean * missing)) / (2.0 * mean)
    needed = float(growth.rounds_needed(power))
    assert needed == pytest.approx(root**2, abs=1.0 + 1e-6)
    if deviation > 0.01:
        assert growth.power_at(root**2) == pytest.approx(power, abs=1e-6)
    shrinking = replace(growth, mean=np.array([-mean]))
    assert math.isinf(shrinking.rounds_needed(power))


def test_several_logs_are_bet_on_as_each_alone() -> None:
    rng = np.random.default_rng(0)
    blocks, logs, components = 6, 5, 4
    smoothing, offset = np.array([0.1, 0.2, 0.4, 0.8]), np.ones(components)
    rounds = np.array([10.0, 20.0, 30.0, 20.0, 10.0, 5.0])
    sums = rounds[:, None, None] * (1.2 + 0.2 * rng.standard_normal((blocks, logs, components)))
    logarithms = rounds[:, None, None] * (np.log1p(smoothing * sums / rounds[:, None, None]) - 0.01)
    prior, alike = np.log(np.full(4, 0.25)), [[0, 1], [2, 3]]
    together = BlockBets(rounds, logarithms, sums, smoothing, offset, prior, alike, math.log(20.0))
    means = np.linspace(-0.1, 0.1, logs)
    wealth = together.against(means)
    assert len({tuple(row.any(axis=1)) for row in wealth.shares}) > 1  # they stop after different blocks
    for log in range(logs):
        alone = replace(together, logs=logarithms[:, log], sums=sums[:, log]).against(means[log : log + 1])
        assert wealth.logarithm[log] == alone.logarithm[0]
        assert (wealth.shares[log] == alone.shares[0]).all()
