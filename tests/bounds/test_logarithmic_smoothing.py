import math

import numpy as np
import pytest
from hypothesis import given

import surelift as sl
from surelift.arrays import FloatArray
from surelift.bounds.single_smoothing import logarithmic_smoothing_bound, unfloored_logarithmic_smoothing
from surelift.kernels.log_sums import log_terms
from surelift.statistics import Component
from tests.strategies import LoggedRounds, deltas, logged_rounds, smoothings
from tests.term_sums import from_logs


def test_log_terms_by_hand() -> None:
    # 1 + 0.5 * 2 = 2, so the first term is log 2; a quantity of zero adds nothing.
    assert log_terms(np.array([2.0, 0.0]), smoothing=0.5) == pytest.approx([math.log(2), 0.0])
    # Where the product overflows the logarithms are added instead.
    assert log_terms(np.array([1e308]), smoothing=1e5) == pytest.approx([math.log(1e5) + math.log(1e308)])


def test_by_hand() -> None:
    # Four rounds of term 1, smoothing 1: (2^4 delta)^(1/4) - 1 = 2 delta^(1/4) - 1 = 0 at delta = 1/16.
    component = Component(1.0, 0.0, 1.0)
    sums = from_logs([4 * math.log(2)], [component], rounds=4)
    assert unfloored_logarithmic_smoothing(sums, delta=1 / 16) == pytest.approx(0.0, abs=1e-15)
    assert unfloored_logarithmic_smoothing(sums, delta=1 / 256) == pytest.approx(-0.5)
    assert logarithmic_smoothing_bound(sums, delta=1 / 256) == 0.0


@given(rounds=logged_rounds(), smoothing=smoothings(), delta=deltas())
def test_evaluate_gives_the_papers_bound(rounds: LoggedRounds, smoothing: float, delta: float) -> None:
    def papers(terms: FloatArray, delta: float) -> float:
        exponent = np.log1p(smoothing * terms).mean() - math.log(1 / delta) / len(terms)
        return max(0.0, math.expm1(exponent) / smoothing)

    earned, missed = rounds.weights * rounds.reward, rounds.weights * (1 - rounds.reward)
    paper, high = papers(earned, delta), 1 - papers(missed, delta / 2)
    # The other side, at delta/2, is made for contradictions only; those are judged by both at delta/2.
    if papers(earned, delta / 2) > min(1.0, high) or high < 0.0:
        with pytest.raises(sl.LogsError, match="contradict"):
            ask(rounds, smoothing, delta)
    elif paper <= min(1.0, high):
        assert ask(rounds, smoothing, delta) == pytest.approx(paper, rel=1e-9, abs=1e-12)


def ask(rounds: LoggedRounds, smoothing: float, delta: float) -> float | None:
    return sl.evaluate(
        rounds.logs(), {"new": rounds.probability}, delta=delta, sides="lower", method="logarithmic-smoothing",
        smoothing=smoothing, control="none",
    )["new"].lower  # fmt: skip


def test_the_papers_default_smoothing_is_vacuous_where_rewards_are_rare() -> None:
    # THEORY: value 1%, n = 20,000: relative radius 1.00 for 1/sqrt(n), 0.25 for the mixture.
    rewards = np.zeros(20_000)
    rewards[::100] = 1.0
    logs = sl.Logs(reward=rewards, propensity=np.full(20_000, 0.5))
    same = {"same": np.full(20_000, 0.5)}
    paper = sl.evaluate(logs, same, method="logarithmic-smoothing", sides="lower", control="none")["same"]
    ours = sl.evaluate(logs, same, sides="lower", control="none")["same"]
    assert paper.lower == 0.0
    assert ours.lower is not None
    assert ours.lower > 0.0075
