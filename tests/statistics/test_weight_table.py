"""A table of weights by reward: whatever is read off it is at most what the rounds themselves say."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.arrays import FloatArray
from surelift.engines import collect
from surelift.kernels.sorting import Sorted
from surelift.kernels.weight_tables import weight_tables
from surelift.policies.resolve import name_policies
from surelift.quantities import Decline, Difference, Gain, Quantity
from surelift.statistics import Plan, Request, Sums
from surelift.statistics.weight_table import Side, WeightCells, WeightTable
from tests.numpy_loops import in_numpy
from tests.statistics.test_fast_path import is_fast

WEIGHTS = st.floats(0.0, 3.0) | st.floats(0.0, 1e7) | st.sampled_from([0.0, 1.0, 1.0 + 2.0**-30])
REWARDS = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0])
ROUNDS = st.lists(st.tuples(WEIGHTS, REWARDS), min_size=1, max_size=30)


def cells_of(weight: FloatArray, reward: FloatArray) -> WeightCells:
    _, bins, sums = weight_tables(weight - 1.0, reward, Sorted.whole(len(weight)))
    return WeightCells.of_bins(bins, sums)


def parts(side: Side, weight: FloatArray, reward: FloatArray) -> tuple[FloatArray, FloatArray]:
    if side == "gain":
        return weight * reward, 1.0 - reward
    return (reward if side == "decline" else weight * reward), weight * (1.0 - reward)


@given(ROUNDS, st.sampled_from(["gain", "decline", "pair"]), st.floats(1e-6, 64.0), st.floats(1e-3, 1e3))
def test_the_table_never_overstates_a_log_sum(
    rounds: list[tuple[float, float]], side: Side, smoothing: float, scale: float
) -> None:
    """The factor is affine in each of weight and reward: a chord of its logarithm lies below it."""
    weight, reward = np.array(rounds).T
    cells = cells_of(weight, reward)
    for scales in ((scale, 1.0), (1.0, scale)):
        first, second = cells.pairs(side)
        found = np.log1p(smoothing * (scales[0] * first + scales[1] * second)) @ cells.rounds
        first, second = parts(side, weight, reward)
        exact = np.log1p(smoothing * (scales[0] * first + scales[1] * second)).sum()
        assert found <= exact * (1.0 + 1e-12) + 1e-12
    assert cells.rounds.sum() == pytest.approx(len(rounds), rel=1e-7)


@given(ROUNDS, ROUNDS)
def test_tables_add_up_and_come_back_from_json(one: list[tuple[float, float]], two: list[tuple[float, float]]) -> None:
    left, right, whole = (cells_of(*np.array(rounds).T) for rounds in (one, two, one + two))
    statistic, added = WeightTable("new"), left + right
    again = statistic.decode(statistic.encode(added))
    assert again.corners.tolist() == added.corners.tolist()
    assert again.rounds.tolist() == added.rounds.tolist()
    assert again.complete
    assert not (added + statistic.absent()).complete
    for side in ("gain", "decline"):
        ours, theirs = (first @ cells.rounds for cells in (added, whole) for first, _ in (cells.pairs(side),))
        assert ours == pytest.approx(theirs, rel=1e-9)


def table_of(rounds: int, *, binary: bool) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    q = rng.uniform(0.05, 1.0, rounds)
    reward = rng.random(rounds)
    return {
        "r": np.where(reward < 0.2, 1.0, 0.0) if binary else reward,
        "q": q,
        "p": np.minimum(1.0, q * rng.uniform(0, 2, rounds)),
        "o": np.minimum(1.0, q * rng.uniform(0, 2, rounds)),
        "user": np.repeat(np.arange(rounds // 5 + 1), 5)[:rounds],
        "kept": rng.choice([0.25, 1.0], rounds),
    }


def collected(table: dict[str, Any], statistic: WeightTable, policies: dict[str, Any], **declared: Any) -> Sums:
    logs = sl.Logs(table, reward="r", propensity="q", **declared)
    return collect(logs, Plan(name_policies(policies), (Request(statistic),)))


@pytest.mark.parametrize("binary", [True, False])
def test_the_fast_path_fills_the_same_table(binary: bool) -> None:
    table, policies = table_of(50_001, binary=binary), {"new": "p", "some": sl.blend("p", 0.1)}
    logs = sl.Logs(table, reward="r", propensity="q")
    plan = Plan(name_policies(policies), tuple(Request(WeightTable(name, d)) for name, d in (("new", 1.0), ("some", 0.1))))
    assert is_fast(logs, plan)
    fast = collect(logs, plan)
    with in_numpy():
        slow = collect(logs, plan)
    for request in plan.requests:
        left, right = (sums.states[request][()] for sums in (fast, slow))
        for side in ("gain", "decline", "pair"):
            for ours, theirs in zip(left.pairs(side), right.pairs(side), strict=True):
                assert ours @ left.rounds == pytest.approx(theirs @ right.rounds, rel=1e-12)
    new, some = (fast.states[request][()] for request in plan.requests)
    # Of a blend the weights are those of what is blended: its table is the candidate's own.
    assert new.pairs("gain")[0] @ new.rounds == pytest.approx(some.pairs("gain")[0] @ some.rounds, rel=1e-12)


@pytest.mark.parametrize("quantity", [Gain(), Decline(), Difference("over")], ids=lambda each: type(each).__name__)
def test_units_of_several_rounds_have_a_pair_of_their_own(quantity: Quantity) -> None:
    """Sums of both parts are kept as they are, with clusters filled up, and sampled rounds standing for others."""
    table, policies = table_of(1000, binary=False), {"new": "p", "over": "o"}
    w, v, r = table["p"] / table["q"], table["o"] / table["q"], table["r"]
    first, second = (r, w * (1 - r)) if isinstance(quantity, Decline) else (w * r, 1 - r)
    if isinstance(quantity, Difference):
        second = v * (1 - r)
    statistic = WeightTable("new", 1.0, quantity)
    request = Request(statistic)
    for declared, scale, padding in (
        ({"cluster": "user", "cluster_max": 8}, 1 / 8, 200 * 3 / 8),
        ({"keep_probability": "kept", "rounds_before_sampling": 5000}, 1 / table["kept"], 0.0),
    ):
        cells = collected(table, statistic, policies, **declared).states[request][()]
        found = [part @ cells.rounds for part in cells.pairs("pair")]
        assert found == pytest.approx([(scale * first).sum(), (scale * second).sum() + padding], rel=1e-9)


def test_tables_of_segments_add_up_to_the_whole() -> None:
    table = {**table_of(3000, binary=False), "s": np.arange(3000) % 7}
    logs = sl.Logs(table, reward="r", propensity="q")
    answer = sl.compare(logs, "p", by="s", segments=list(range(7)))
    assert all(part.lift for part in answer.values())
    own = {name: column[table["s"] == 2] for name, column in table.items()}
    alone = sl.compare(sl.Logs(own, reward="r", propensity="q"), "p", delta=0.05 / 7)
    assert answer["2"].relative_lower == pytest.approx(alone.relative_lower, rel=1e-9)


def test_partial_sums_answer_like_the_whole_log() -> None:
    table = table_of(3000, binary=False)
    logs = sl.Logs(table, reward="r", propensity="q")
    question = sl.Question.of("compare", logs, "p")
    halves = [{name: column[part] for name, column in table.items()} for part in (slice(1000), slice(1000, None))]
    found, whole = question.answer(sl.partial_sums(halves, question)), question.ask(logs)
    assert found.relative_lower == pytest.approx(whole.relative_lower, rel=1e-9)
    assert found.relative_upper == pytest.approx(whole.relative_upper, rel=1e-9)
