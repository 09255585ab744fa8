import numpy as np
import pyarrow as pa
import pytest

import surelift as sl

ROWS = 5_000
RNG = np.random.default_rng(2)


def says(health: sl.results.Health) -> str:
    return " ".join(f"{finding.says} {finding.remedy}" for finding in health.findings)


def test_a_healthy_log_has_no_findings() -> None:
    p = RNG.uniform(0.4, 0.6, ROWS)
    action = RNG.random(ROWS) < p
    logs = sl.Logs(reward=RNG.random(ROWS), propensity=np.where(action, p, 1 - p))
    health = sl.check(logs, {"half": np.full(ROWS, 0.5)})
    assert health.ok
    assert health.findings == ()
    assert health.weights["half"].mean == pytest.approx(1.0, abs=0.02)
    assert health.weights["half"].missing_support is None
    assert health.mean_reward == pytest.approx(0.5, abs=0.02)


def test_effective_sample_size_by_hand() -> None:
    # Weights 2 and 1: (2 + 1)^2 / (4 + 1) = 1.8.
    health = sl.check(sl.Logs(reward=[0, 1], propensity=[0.25, 0.5]), {"new": [0.5, 0.5]})
    assert health.weights["new"].effective_sample_size == pytest.approx(1.8)
    assert health.weights["new"].largest == 2.0
    assert health.weights["new"].mean == 1.5
    assert health.smallest_propensity == 0.25


def test_missing_support_is_known_from_vectors() -> None:
    logging = np.tile([0.5, 0.5, 0.0], (ROWS, 1))
    action = (RNG.random(ROWS) < 0.5).astype(int)
    logs = sl.Logs(reward=RNG.random(ROWS), propensity=np.full(ROWS, 0.5), action=action, logging=logging)
    health = sl.check(logs, {"new": np.tile([0.3, 0.3, 0.4], (ROWS, 1))})
    assert health.weights["new"].missing_support == pytest.approx(0.4)
    assert "40.00% of its decisions are actions that production could not take" in says(health)
    assert "its mean weight" not in says(health)  # the missing support explains it
    assert health.ok


def test_weights_that_are_too_large_point_at_the_propensities() -> None:
    logs = sl.Logs(reward=RNG.random(ROWS), propensity=np.full(ROWS, 0.25))
    assert "propensities were logged too small" in says(sl.check(logs, {"new": RNG.uniform(0.4, 0.6, ROWS)}))


def test_one_round_that_carries_the_weight_is_told() -> None:
    p = np.full(ROWS, 0.5)
    p[7] = 1e-6
    health = sl.check(sl.Logs(reward=RNG.random(ROWS), propensity=p), {"new": np.full(ROWS, 0.5)})
    assert "one round carries 99% of its weight" in says(health)
    assert "the effective sample size is 1 of" in says(health)


def test_weights_beyond_reason_are_refused() -> None:
    p = np.full(ROWS, 0.5)
    p[7] = 1e-200
    health = sl.check(sl.Logs(reward=RNG.random(ROWS), propensity=p), {"new": np.full(ROWS, 0.5)})
    assert "1 of 5,000 values give a weight above 1e150; the first is 5e+199 in row 7" in says(health)
    assert not health.ok


def test_a_log_whose_rows_were_multiplied_is_refused() -> None:
    shop = sl.datasets.shop(2_000, seed=3)
    several = sl.Logs(pa.concat_tables([shop.table] * 4), **shop.columns())
    found = [finding for finding in sl.check(several).findings if "copies of another" in finding.statement]
    assert [finding.severity for finding in found] == ["refuse"]
    some = sl.Logs(pa.concat_tables([shop.table, shop.table.slice(0, 500)]), **shop.columns())
    found = [finding for finding in sl.check(some).findings if "copies of another" in finding.statement]
    assert [finding.severity for finding in found] == ["warn"]


def test_continuous_actions_cut_off_at_a_limit_are_refused() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.normal(5.0, 2.0, 5_000)
    for price, fit in ((drawn, True), (np.minimum(drawn, 8.0), False), (np.maximum(drawn, 1.5), False)):
        logs = sl.Logs(
            {"r": rng.random(5_000), "price": price}, reward="r", action="price", density=True,
            propensity=sl.densities.gaussian(5.0, 2.0),
        )  # fmt: skip
        health = sl.check(logs)
        assert health.ok is fit
        assert any("was taken in" in finding.statement for finding in health.findings) is not fit
