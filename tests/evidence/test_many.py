"""e-BH: the false discovery rate it promises, and what it never does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.evidence import discoveries


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=30), st.floats(0.01, 0.5))
def test_it_is_the_largest_set_that_supports_itself(values: list[float], rate: float) -> None:
    found = discoveries({str(i): value for i, value in enumerate(values)}, rate=rate)
    ordered = sorted(values, reverse=True)
    sizes = [k for k in range(1, len(values) + 1) if ordered[k - 1] * k * rate >= len(values)]
    assert len(found) == max(sizes, default=0)
    assert sorted((values[int(name)] for name in found), reverse=True) == ordered[: len(found)]


def test_the_false_discovery_rate() -> None:
    """Of 12 candidates 8 are no better than production; on average at most 0.2 of what is found is false."""
    rng, rounds, runs, rate = np.random.default_rng(1), 400, 60, 0.2
    shares, found_any = [], 0
    for _ in range(runs):
        action = rng.integers(0, 4, rounds)
        reward = (rng.random(rounds) < np.where(action == 0, 0.8, 0.4)).astype(float)
        logs = sl.Logs(reward=reward, propensity=np.full(rounds, 0.25))
        # Candidates 0 to 3 take the good action more often; the others take the bad ones in other shares.
        policies = {}
        for k in range(12):
            vector = (
                np.array([0.4 + 0.1 * k, *rng.dirichlet(np.ones(3)) * (0.6 - 0.1 * k)])
                if k < 4
                else np.array([0.25, *rng.dirichlet(np.ones(3)) * 0.75])
            )
            policies[f"c{k}"] = vector[action]
        answer = sl.select(logs, policies, delta=rate, many="e-bh")
        assert answer.chosen is None
        assert not answer.certified
        false = sum(int(name[1:]) >= 4 for name in answer.discoveries)
        shares.append(false / max(1, len(answer.discoveries)))
        found_any += bool(answer.discoveries)
    # A mean of numbers in [0, 1] exceeds its expectation by this much once in a million times (Hoeffding).
    assert np.mean(shares) <= rate + np.sqrt(np.log(1e6) / (2 * runs))
    assert found_any > runs / 2


def test_it_finds_at_least_what_is_certified_at_once() -> None:
    rng = np.random.default_rng(2)
    reward = rng.integers(0, 2, 3_000).astype(float)
    logs = sl.Logs(reward=reward, propensity=np.full(3_000, 0.5))
    policies = {f"c{k}": 0.5 + (0.01 + 0.005 * k) * (2 * reward - 1) for k in range(20)}
    one, many = sl.select(logs, policies), sl.select(logs, policies, many="e-bh")
    assert set(one.discoveries) <= set(many.discoveries)
    assert one.chosen == max(one.discoveries, key=lambda name: one.improvements[name].lower)
    assert sl.verify(sl.Certificate.of(many), logs, policies).same
    assert "false discovery rate of at most 0.05" in str(many)


def test_what_is_refused() -> None:
    logs = sl.Logs(reward=[0.0, 1.0], propensity=[0.5, 0.5])
    with pytest.raises(sl.UsageError, match="many must be"):
        sl.select(logs, {"new": [0.5, 0.5]}, many="bonferroni")  # type: ignore[arg-type]
    with pytest.raises(sl.UsageError, match="needs e-values"):
        sl.select(logs, {"new": [0.5, 0.5]}, many="e-bh", method="normal")
    doubted = sl.Logs(reward=[0.0, 1.0] * 300, propensity=[0.5, 0.5] * 300, propensity_is_estimated=True)
    assert sl.select(doubted, {"new": [0.1, 0.9] * 300}, many="e-bh").discoveries == ()


def test_a_margin_below_what_is_possible_is_no_riddle() -> None:
    """With a largest weight of 1.04 no policy can be worse by 0.15: the evidence is as large as it gets, and a number."""
    rng = np.random.default_rng(0)
    action = rng.integers(0, 2, 2_000)
    reward = (rng.random(2_000) < np.where(action == 0, 0.8, 0.2)).astype(float)
    logs = sl.Logs(reward=reward, propensity=np.full(2_000, 0.5))
    policies = {
        "bad": np.where(action == 0, 0.1, 0.9), "near": sl.bounded(np.where(action == 0, 0.52, 0.48), 1.04),
        "good": np.where(action == 0, 0.9, 0.1),
    }  # fmt: skip
    found = sl.select(logs, policies, margin=-0.15, many="e-bh")
    assert set(found.discoveries) == {"near", "good"}
    assert all(np.isfinite(one.e_value) for one in found.improvements.values())
    found.to_json()
