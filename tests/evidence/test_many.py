"""e-BH and e-Holm: what they promise of many questions at once, and what they never do."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.evidence import discoveries, e_holm_levels


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
    with pytest.raises(sl.UsageError, match=r"e-values .*and method .* do not go together: it gives no evidence to share"):
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


def closed(values: list[float], delta: float) -> list[bool]:
    """By the definition: a hypothesis is rejected where every set that contains it has a mean of at least 1/delta."""
    sets = [chosen for size in range(1, len(values) + 1) for chosen in itertools.combinations(range(len(values)), size)]
    return [
        all(sum(values[i] * delta for i in chosen) >= len(chosen) for chosen in sets if k in chosen)
        for k in range(len(values))
    ]


def rejected(values: list[float], delta: float) -> list[bool]:
    levels = e_holm_levels({str(k): value for k, value in enumerate(values)}, delta=delta)
    return [value * level >= 1.0 for value, level in zip(values, levels.values(), strict=True)]


def test_e_holm_by_hand() -> None:
    # At 0.05 each needs 20, and what the others miss of 20: 20 + 5 and 20; then 20 + 10, 20 + 10 and 20 + 0.
    assert list(e_holm_levels({"a": 30.0, "b": 15.0}, delta=0.05).values()) == pytest.approx([1 / 25, 1 / 20])
    assert rejected([30.0, 15.0], 0.05) == [True, False]
    assert rejected([24.9, 15.0], 0.05) == [False, False]
    assert list(e_holm_levels({"a": 31.0, "b": 29.0, "c": 10.0}, delta=0.05).values()) == pytest.approx(
        [1 / 30, 1 / 30, 1 / 20]
    )
    assert rejected([31.0, 29.0, 10.0], 0.05) == [True, False, False]
    assert rejected([20.0, 20.0, 20.0], 0.05) == [True, True, True]  # where delta/3 asks 60 of each
    assert e_holm_levels({"a": 7.0}, delta=0.05) == {"a": 0.05}


E_VALUES = st.floats(0.0, 100.0) | st.sampled_from([0.0, 1.0, 1.7e308])


@given(st.lists(E_VALUES, min_size=1, max_size=6), st.floats(0.01, 0.5))
def test_e_holm_is_closed_testing_of_means(values: list[float], delta: float) -> None:
    levels = e_holm_levels({str(k): value for k, value in enumerate(values)}, delta=delta)
    for value, level, expected in zip(values, levels.values(), closed(values, delta), strict=True):
        if abs(value * level - 1.0) > 1e-9:
            assert (value * level >= 1.0) == expected


@given(st.lists(E_VALUES, min_size=1, max_size=8), st.floats(0.01, 0.5), st.data())
def test_e_holm_rejects_whatever_a_share_of_delta_does(values: list[float], delta: float, data: st.DataObject) -> None:
    levels = e_holm_levels({str(k): value for k, value in enumerate(values)}, delta=delta)
    assert all(delta / len(values) * (1 - 1e-12) <= level <= delta for level in levels.values())
    raised = data.draw(st.integers(0, len(values) - 1))
    more = {str(k): value + 5.0 * (k == raised) for k, value in enumerate(values)}
    after = e_holm_levels(more, delta=delta)
    assert all(after[name] >= levels[name] * (1 - 1e-12) for name in levels)


@given(
    st.lists(st.tuples(st.floats(0.01, 1.0), st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3)), min_size=1, max_size=8),
    st.sets(st.integers(0, 2)), st.sampled_from([0.05, 0.3, 0.6]),
)  # fmt: skip
def test_e_holm_errs_with_probability_delta_at_most_on_any_law(
    atoms: list[tuple[float, list[float]]], false: set[int], delta: float
) -> None:
    """Exactly, on a law of a few atoms: true hypotheses have e-values of mean 1, in any dependence; false ones any."""
    share = np.array([weight for weight, _ in atoms]) / sum(weight for weight, _ in atoms)
    values = np.array([value for _, value in atoms])
    means = share @ values
    values = np.where(means > 1e-6, values / np.maximum(means, 1e-6), 1.0)
    values[:, list(false)] *= 30.0
    wrong = [any(hit for k, hit in enumerate(rejected(row.tolist(), delta)) if k not in false) for row in values]
    assert share @ np.array(wrong) <= delta + 1e-12


def test_e_holm_attains_its_level() -> None:
    """Three true ones, of which one at a time has 60 = 3/delta, with probability delta/3 each."""
    law = [*((0.05 / 3, [60.0 * (k == hit) for k in range(3)]) for hit in range(3)), (0.95, [0.0, 0.0, 0.0])]
    assert sum(chance for chance, row in law if any(rejected(row, 0.05))) == pytest.approx(0.05)
