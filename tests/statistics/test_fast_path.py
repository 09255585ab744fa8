"""The fast path, and weight control in compiled loops, against plain NumPy."""

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
from surelift.batch import Batch
from surelift.bounds import BOUNDS, mixture
from surelift.engines import collect
from surelift.kernels.control import ControlComponents, ControlledTerms, controlled_log_sums
from surelift.kernels.loop import LoopUnits
from surelift.kernels.sorting import Sorted
from surelift.logs import fingerprint
from surelift.logs.vectors import Vectors
from surelift.policies.resolve import name_policies
from surelift.quantities import Decline, Gain, Quantity, Shortfall, Value
from surelift.statistics import Plan, Sums, Term, plan_of
from surelift.statistics.sums import accumulate
from tests.numpy_loops import in_numpy
from tests.same_sums import assert_same_sums
from tests.term_sums import offset_of


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


def is_fast(logs: sl.Logs, plan: Plan) -> bool:
    """Whether the columns are added up as they lie in memory: no batch is turned into numbers of its own."""
    batches = [Batch(logs, table, plan.policies, plan.outcomes) for table in logs.batches(plan.needs(logs))]
    for batch in batches:
        accumulate(batch, plan)
    return not any(batch.is_read for batch in batches)


def both_ways(source: Any, policies: dict[str, Any], **declared: Any) -> tuple[Sums, Sums]:
    logs = sl.Logs(source, **{"reward": "r", "propensity": "q", **declared})
    plan = whole_plan(policies)
    assert is_fast(logs, plan)
    fast = collect(logs, plan)
    with in_numpy():
        return fast, collect(logs, plan)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("paying", [0.0, 0.01, 0.9])
def test_the_fast_path_is_the_slow_one(precision: Any, paying: float) -> None:
    policies = {"new": "p", "other": "o", "some": sl.blend("p", 0.1), "less": sl.blend(sl.blend("o", 0.5), 0.02)}
    table = plain_table(1, 70_001, precision=precision, paying=paying)
    assert_same_sums(*both_ways(table, policies))
    scaled = {**table, "r": 5 * table["r"] - 2}
    assert_same_sums(*both_ways(scaled, policies, reward_range=(-2, 3)))
    assert_same_sums(*both_ways(scaled, policies, reward=None, cost="r", reward_range=(-2, 3)))


def test_the_fingerprint_of_sampled_clusters_tells_how_likely_they_were_kept() -> None:
    table = plain_table(3, 400)
    table |= {"u": np.arange(400) // 2, "k": np.repeat([0.5, 1.0], 200), "other k": np.repeat([1.0, 0.5], 200)}
    found = []
    for column in ("k", "other k"):
        fast, slow = both_ways(table, {"new": "p"}, cluster="u", cluster_size=2, keep_probability=column)
        assert fast.fingerprint == slow.fingerprint
        found.append(fast.fingerprint)
    assert found[0] != found[1]


def test_whole_numbers_truth_values_and_mixed_types() -> None:
    table = plain_table(2, 30_000)
    odd = {**table, "r": table["r"] > 0, "p": table["p"].astype(np.float32)}
    assert_same_sums(*both_ways(odd, {"new": "p", "other": "o"}))
    ones = {**table, "q": np.ones(30_000, dtype=np.int8), "r": (table["r"] > 0).astype(np.int64)}
    assert_same_sums(*both_ways(ones, {"new": "p"}))


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


def test_nulls_and_batches_of_every_size(tmp_path: Path) -> None:
    table = pa.table(plain_table(4, 100_000))
    writer = pq.ParquetWriter(tmp_path / "log.parquet", table.schema)
    for start, size in ((0, 10), (10, 50_000), (50_010, 25_000), (75_010, 24_990)):
        writer.write_table(table.slice(start, size), row_group_size=size)
    writer.close()
    assert_same_sums(*both_ways(tmp_path / "log.parquet", {"new": "p"}))
    nulls = table.set_column(0, "r", pa.array([None if i == 60_000 else 0.5 for i in range(100_000)]))
    with pytest.raises(sl.LogsError, match=r"1 of 100,000 values are missing \(null\); the first is null in row 60,000"):
        sl.compare(sl.Logs(nulls, reward="r", propensity="q"), "p")


def test_what_the_fast_path_leaves_alone() -> None:
    logs = sl.Logs(plain_table(5, 10), reward="r", propensity="q")
    for policies in ({"new": [0.5] * 10}, {"new": sl.bounded("p", 50.0)}):
        assert not is_fast(logs, whole_plan(policies))
    density = sl.Logs(plain_table(5, 10), reward="r", propensity="q", density=True)
    assert not is_fast(density, whole_plan({"new": "p"}))
    term = Term("new", Value(), BOUNDS["implicit-exploration"].plan(quantity=Value(), offset=0.0, count=lambda: 10))
    assert not is_fast(logs, plan_of(name_policies({"new": "p"}), (term,)))


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
    with in_numpy():
        slow = ask()
    assert fast == pytest.approx(slow, abs=1e-12)


def test_compiled_hashes_are_the_plain_ones() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 60_000)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = np.where(rng.random(starts[-1]) < 0.1, -0.0, rng.random(starts[-1]))

    def hashes() -> fingerprint.RoundHashes:
        found = fingerprint.RoundHashes(60_000)
        found.mix(values[:60_000])
        found.mix(Vectors(values, starts, 0.0))
        found.mix(values[7:60_007])
        return found

    fast = hashes().fingerprint(), hashes().words()
    with in_numpy():
        slow = hashes().fingerprint(), hashes().words()
    assert fast[0] == slow[0]
    assert (fast[1] == slow[1]).all()
    [again] = hashes().fingerprints(Sorted.whole(60_000))
    assert again == fast[0]


def test_a_false_floor_is_seen() -> None:
    terms = ControlledTerms(np.array([-3.0]), np.zeros(1), np.array([0, 1]), np.zeros(1), np.ones(1))
    components = ControlComponents(np.ones(1), np.ones(1), np.ones(1))
    assert controlled_log_sums(terms, LoopUnits(1, 1), components)[2] == pytest.approx(1.0)
    with in_numpy():
        assert controlled_log_sums(terms, LoopUnits(1, 1), components)[2] == pytest.approx(1.0)
