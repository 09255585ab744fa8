"""Compiled loops against exact sums, and the fast path against the one in plain NumPy."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surelift as sl
from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS, mixture
from surelift.engines import collect, local
from surelift.policies.resolve import name_policies
from surelift.quantities import Decline, Gain, Quantity, Shortfall, Value
from surelift.statistics import Plan, Sums, Term, log_sums, offset_of, plan_of
from surelift.statistics.fused import Fused
from tests.same_sums import assert_same_sums


@pytest.fixture(autouse=True)
def _compile_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_sums, "WORTH_COMPILING", 20_000)
    monkeypatch.setattr(local, "WORTH_COMPILING", 20_000)


RNG = np.random.default_rng(0)
SIZE = 20_011
DATA = {
    "constant": np.full(SIZE, 0.37),
    "exponential": RNG.exponential(size=SIZE),
    "heavy": 100 * RNG.pareto(0.7, SIZE),
    "from 1e-30 to 1e30": 10.0 ** RNG.uniform(-30, 30, SIZE),
    "mostly zero": np.where(RNG.random(SIZE) < 0.01, 50 * RNG.random(SIZE), 0.0),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("smoothing", [1e-12, 1e-8, 1e-4, 0.1, 1.0, 1e3, 1e5])
def test_log_sums_are_exact_to_1e_15(name: str, smoothing: float) -> None:
    from surelift.statistics import kernels

    exact = math.fsum(math.log1p(smoothing * x) for x in DATA[name])
    assert kernels.log_sums(DATA[name], np.array([smoothing]))[0] == pytest.approx(exact, rel=1e-15)


def test_many_smoothings_and_overflow() -> None:
    from surelift.statistics import kernels

    smoothings = np.array(sl.grids.anytime().smoothings)
    huge = np.concatenate([DATA["heavy"], np.full(5, 1e150), np.full(3, 1e308)])
    found = kernels.log_sums(huge, smoothings)
    for value, smoothing in zip(found, smoothings.tolist(), strict=True):
        exact = math.fsum(
            math.log1p(smoothing * x) if smoothing * x < 1e300 else math.log(smoothing) + math.log(x)
            for x in huge.tolist()
        )
        assert value == pytest.approx(exact, rel=1e-14)
    assert kernels.log_sums(np.zeros(0), smoothings).tolist() == [0.0] * len(smoothings)


def plain_table(seed: int, rounds: int, *, precision: Any = np.float64, paying: float = 0.01) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    q = rng.uniform(0.01, 1.0, rounds)
    reward = np.where(rng.random(rounds) < paying, rng.uniform(0.2, 1.0, rounds), 0.0)
    p, other = np.minimum(1, q * rng.uniform(0, 3, rounds)), rng.random(rounds)
    return {
        "r": reward.astype(precision),
        "q": q.astype(precision),
        "p": p.astype(precision),
        "o": other.astype(precision),
    }


def whole_plan(policies: dict[str, Any]) -> Plan:
    named = name_policies(policies)
    quantities: list[Quantity] = [Value(), Shortfall(), Gain(), Decline()]
    terms = [
        Term(name, quantity, mixture.plan(
            quantity=quantity, offset=offset_of(name, quantity, named), count=lambda: 1
        ))
        for name in named for quantity in quantities
    ]  # fmt: skip
    return plan_of(named, tuple(terms))


def both_ways(
    source: Any, monkeypatch: pytest.MonkeyPatch, policies: dict[str, Any], **declared: Any
) -> tuple[Sums, Sums]:
    logs = sl.Logs(source, **{"reward": "r", "propensity": "q", **declared})
    plan = whole_plan(policies)
    assert Fused.of(logs, plan) is not None
    fast = collect(logs, plan)
    with monkeypatch.context() as patched:
        patched.setattr(Fused, "of", lambda *_: None)
        patched.setattr(log_sums, "WORTH_COMPILING", 10**12)
        return fast, collect(logs, plan)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("paying", [0.0, 0.01, 0.9])
def test_the_fast_path_is_the_slow_one(precision: Any, paying: float, monkeypatch: pytest.MonkeyPatch) -> None:
    policies = {"new": "p", "other": "o", "some": sl.blend("p", 0.1), "less": sl.blend(sl.blend("o", 0.5), 0.02)}
    table = plain_table(1, 70_001, precision=precision, paying=paying)
    assert_same_sums(*both_ways(table, monkeypatch, policies))
    scaled = {**table, "r": 5 * table["r"] - 2}
    assert_same_sums(*both_ways(scaled, monkeypatch, policies, reward_range=(-2, 3)))
    assert_same_sums(*both_ways(scaled, monkeypatch, policies, reward=None, cost="r", reward_range=(-2, 3)))


def test_whole_numbers_truth_values_and_mixed_types(monkeypatch: pytest.MonkeyPatch) -> None:
    table = plain_table(2, 30_000)
    odd = {**table, "r": table["r"] > 0, "p": table["p"].astype(np.float32)}
    assert_same_sums(*both_ways(odd, monkeypatch, {"new": "p", "other": "o"}))
    ones = {**table, "q": np.ones(30_000, dtype=np.int8), "r": (table["r"] > 0).astype(np.int64)}
    assert_same_sums(*both_ways(ones, monkeypatch, {"new": "p"}))


@pytest.mark.parametrize(
    "column, value, says",
    [
        ("q", 0.0, "lie outside"), ("q", np.nan, "are NaN"), ("r", 1.5, "declared reward range"), ("p", -0.1, "lie outside"),
        ("p", np.inf, "infinite"), ("q", 1e-200, "weight above 1e150"),
    ],
)  # fmt: skip
def test_a_bad_batch_is_reported_as_ever(column: str, value: float, says: str) -> None:
    table = plain_table(3, 150_000)
    table["p"] = np.maximum(table["p"], 0.1)
    table[column][77_777] = value
    logs = sl.Logs(table, reward="r", propensity="q")
    with pytest.raises(sl.LogsError, match=f"1 of 150,000 values .*{says}.* in row 77,777"):
        sl.compare(logs, "p")


def test_nulls_and_batches_of_every_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table(plain_table(4, 100_000))
    writer = pq.ParquetWriter(tmp_path / "log.parquet", table.schema)
    for start, size in ((0, 10), (10, 50_000), (50_010, 25_000), (75_010, 24_990)):
        writer.write_table(table.slice(start, size), row_group_size=size)
    writer.close()
    assert_same_sums(*both_ways(tmp_path / "log.parquet", monkeypatch, {"new": "p"}))
    nulls = table.set_column(0, "r", pa.array([None if i == 60_000 else 0.5 for i in range(100_000)]))
    with pytest.raises(
        sl.LogsError, match=r"1 of 100,000 values are missing \(null\); the first is null in row 60,000"
    ):
        sl.compare(sl.Logs(nulls, reward="r", propensity="q"), "p")


def test_what_the_fast_path_leaves_alone() -> None:
    logs = sl.Logs(plain_table(5, 10), reward="r", propensity="q")
    for policies in ({"new": [0.5] * 10}, {"new": sl.bounded("p", 50.0)}):
        assert Fused.of(logs, whole_plan(policies)) is None
    density = sl.Logs(plain_table(5, 10), reward="r", propensity="q", density=True)
    assert Fused.of(density, whole_plan({"new": "p"})) is None
    term = Term("new", Value(), BOUNDS["implicit-exploration"].plan(quantity=Value(), offset=0.0, count=lambda: 10))
    assert Fused.of(logs, plan_of(name_policies({"new": "p"}), (term,))) is None


def vectors_log(seed: int, rounds: int, actions: int) -> tuple[sl.Logs, FloatArray]:
    rng = np.random.default_rng(seed)
    logging, new = rng.dirichlet(np.ones(actions), rounds), rng.dirichlet(np.ones(actions), rounds)
    if actions > 3:
        logging[:, 1] = 0.0
        logging /= logging.sum(axis=1, keepdims=True)
    action = np.array((rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1))
    reward = (rng.random(rounds) < 0.2).astype(float)
    return sl.Logs(reward=reward, propensity=logging[np.arange(rounds), action], action=action, logging=logging), new


@settings(max_examples=8)
@given(seed=st.integers(0, 100), actions=st.integers(2, 6), alpha=st.sampled_from([1.0, 0.1]), model=st.booleans())
def test_compiled_control_is_the_plain_one(seed: int, actions: int, alpha: float, model: bool) -> None:
    logs, new = vectors_log(seed, 21_000, actions)
    control: Any = sl.models.given(np.random.default_rng(seed).random((21_000, actions))) if model else "weights"
    policy = {"new": sl.blend(new, alpha)}

    def ask() -> list[float]:
        one = sl.evaluate(logs, policy, control=control)["new"]
        gain = sl.compare(logs, policy, control=control)
        difference = sl.compare(logs, policy, over={"u": sl.uniform()}, control=control)
        assert one.lower is not None
        assert one.upper is not None
        return [one.lower, one.upper, gain.lower, gain.upper, difference.lower, difference.upper]

    fast = ask()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(log_sums, "WORTH_COMPILING", 10**12)
        slow = ask()
    assert fast == pytest.approx(slow, abs=1e-12)


def test_a_false_floor_is_refused_by_compiled_code_too() -> None:
    from surelift.statistics import kernels

    totals = np.zeros(1)
    deepest = kernels.controlled_log_sums(
        np.array([-3.0]), np.array([0.0]), np.array([0.0]), np.array([1.0]), np.array([0, 1]), np.array([1.0]),
        np.array([1.0]), np.array([1.0]), totals,
    )  # fmt: skip
    assert deepest == pytest.approx(1.0)
