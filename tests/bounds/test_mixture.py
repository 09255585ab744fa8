import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift import grids
from surelift.arrays import FloatArray
from surelift.bounds import logarithmic_smoothing, mixture
from surelift.bounds.mixture import log_wealth
from surelift.grids import Grid
from surelift.kernels.log_sums import log_terms
from surelift.statistics import Component, TermSums, on_grid
from tests import reference
from tests.strategies import LoggedRounds, deltas, logged_rounds, smoothings
from tests.term_sums import from_logs


def parts(terms: FloatArray, grid: Grid, offset: float = 0.0) -> TermSums:
    components = on_grid(grid, offset=offset).components
    log_sums = [log_terms(terms + offset, smoothing=component.smoothing).sum() for component in components]
    return from_logs(log_sums, components, rounds=len(terms))


def bound(terms: FloatArray, grid: Grid, delta: float, offset: float = 0.0) -> float:
    lower: float = mixture.lower_bound(parts(terms, grid, offset), delta=delta)
    return lower


@given(rounds=logged_rounds(), delta=deltas())
def test_it_equals_the_reference_by_bisection(rounds: LoggedRounds, delta: float) -> None:
    terms = rounds.weights * rounds.reward
    ours, theirs = bound(terms, grids.anytime(), delta), reference.lower(terms, delta)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@given(rounds=logged_rounds(), delta=deltas())
def test_it_is_rounded_down(rounds: LoggedRounds, delta: float) -> None:
    """At the number given there is, in exact sums, still a little more evidence than asked for."""
    terms = rounds.weights * rounds.reward
    found = bound(terms, grids.anytime(), delta)
    if found > 0.0:
        assert reference.wealth(found * (1 + 3e-14), terms, reference.ANYTIME, 0.0) >= math.log(1 / delta)


@given(rounds=logged_rounds(), delta=deltas())
def test_it_is_never_looser_than_the_union_bound_with_the_same_prior(rounds: LoggedRounds, delta: float) -> None:
    terms, grid = rounds.weights * rounds.reward, grids.anytime()
    union = max(
        bound(terms, grids.single(smoothing), delta * prior)
        for smoothing, prior in zip(grid.smoothings, grid.prior, strict=True)
    )
    assert bound(terms, grid, delta) >= union * (1 - 1e-11)


@given(rounds=logged_rounds(), delta=deltas(), smoothing=smoothings())
def test_no_lower_bound_exceeds_the_mean(rounds: LoggedRounds, delta: float, smoothing: float) -> None:
    terms = rounds.weights * rounds.reward
    mean = terms.mean() * (1 + 1e-12)
    assert bound(terms, grids.anytime(), delta) <= mean
    assert bound(terms, grids.single(smoothing), delta) <= mean


@given(rounds=logged_rounds(), delta=st.floats(1e-6, 0.4))
def test_a_smaller_delta_is_never_narrower(rounds: LoggedRounds, delta: float) -> None:
    terms = rounds.weights * rounds.reward
    assert bound(terms, grids.anytime(), delta) <= bound(terms, grids.anytime(), 2 * delta) * (1 + 1e-12)


@given(rounds=logged_rounds(), delta=deltas(), smoothing=smoothings())
def test_one_component_is_logarithmic_smoothing(rounds: LoggedRounds, delta: float, smoothing: float) -> None:
    terms = rounds.weights * rounds.reward
    closed = logarithmic_smoothing.lower_bound(parts(terms, grids.single(smoothing)), delta=delta)
    assert bound(terms, grids.single(smoothing), delta) == pytest.approx(closed, rel=1e-9, abs=1e-12)


@given(rounds=logged_rounds(), delta=deltas(), alpha=st.floats(0.01, 1.0))
def test_the_certificate_of_a_mixture_is_alpha_times_that_of_its_candidate(
    rounds: LoggedRounds, delta: float, alpha: float
) -> None:
    def ask(policy: Any) -> tuple[float, float] | None:
        try:
            answer = sl.compare(rounds.logs(), {"new": policy}, delta=delta, control="none")
        except sl.LogsError:
            return None  # weights that no right log has
        return answer.lower, answer.upper

    whole, part = ask(rounds.probability), ask(sl.blend(rounds.probability, alpha))
    if whole is None or part is None:
        assert whole is part
    else:
        assert part == pytest.approx((alpha * whole[0], alpha * whole[1]), abs=1e-9 * max(1.0, rounds.weights.max()))


def test_wealth_by_hand() -> None:
    # Terms 2 and 0 and smoothing 0.5, held against a mean of 0: the factors are 2 and 1.
    sums = from_logs([math.log(2)], [Component(0.5, 0.0, 1.0)], rounds=2)
    assert math.exp(log_wealth(0.0, sums)) == pytest.approx(2.0)


def test_by_hand() -> None:
    # Terms 2 and 0, smoothing 1/2: factors (2)(1)/(1 + m/2)^2 = 1/delta = 1.28 at 1 + m/2 = 1.25, so m = 0.5.
    assert bound(np.array([2.0, 0.0]), grids.single(0.5), 1 / 1.28) == pytest.approx(0.5, rel=1e-9)


def test_two_components_by_hand() -> None:
    # One round with term 3 and smoothings 1 and 1/3 at even odds: (4/(1+m) + 2/(1+m/3))/2 = 2 at m = 0.7720019.
    grid = Grid("mine", (1.0, 1 / 3), (0.5, 0.5))
    found = bound(np.array([3.0]), grid, 0.5)
    assert 0.5 * 4 / (1 + found) + 0.5 * 2 / (1 + found / 3) == pytest.approx(2.0, rel=1e-9)


def test_without_evidence_the_answer_is_the_floor() -> None:
    assert bound(np.zeros(10), grids.anytime(), 0.05) == 0.0
    assert math.copysign(1.0, bound(np.zeros(10), grids.anytime(), 0.05)) == 1.0
    assert bound(np.full(10, -0.1), grids.anytime(), 0.05, offset=0.1) == -0.1
    assert mixture.lower_bound(from_logs([0.0], [Component(1.0, 0.25, 1.0)], rounds=0), delta=0.05) == -0.25


@pytest.mark.parametrize("size", [1e-30, 1e-9, 1.0, 1e9, 1e30, 1e300])
def test_quantities_of_any_size_are_bounded(size: float) -> None:
    terms = np.full(1_000, size)
    found = bound(terms, grids.anytime(), 0.05)
    assert 0.0 <= found <= size
    assert math.isfinite(found)
    if 1e-3 < size < 1e6:
        assert found > 0.9 * size


def test_a_component_that_overflows_does_no_harm() -> None:
    # One round of weight 1e308: 64 * 1e308 is no float, yet the logarithm is.
    found = bound(np.r_[1e308, np.ones(999)], grids.anytime(), 0.05)
    assert math.isfinite(found)
    assert found > 0.5
