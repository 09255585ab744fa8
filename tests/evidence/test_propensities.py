"""Bets against the propensities: fair when they are right, won when they are wrong, and where."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surelift as sl
from surelift.arrays import FloatArray
from surelift.kernels.sorting import Sorted
from surelift.statistics.bets import BOTH_WAYS, ONE_WAY, Bet, log_wealth
from tests.laws import LAWS

ROUNDS, ACTIONS = 8_000, 5
SHARES = np.random.default_rng(1).dirichlet(np.full(ACTIONS, 2.0), 4)


def draw(rng: np.random.Generator, vectors: FloatArray) -> Any:
    return (rng.random(len(vectors))[:, None] > np.cumsum(vectors, axis=1)[:, :-1]).sum(axis=1)


def good(seed: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Eight days, three devices, four kinds of context, two model versions; all as it should be."""
    rng = np.random.default_rng(seed)
    context, device = rng.integers(0, 4, rounds), rng.integers(0, 3, rounds)
    logging = SHARES[context]
    action = draw(rng, logging)
    return {
        "r": (rng.random(rounds) < 0.1 + 0.05 * action).astype(float), "p": logging[np.arange(rounds), action],
        "a": action, "l": logging, "device": np.array(["phone", "tablet", "desktop"])[device],
        "t": np.datetime64("2024-03-01T00:00:00", "ms") + np.sort(rng.integers(0, 8 * 86_400_000, rounds)),
        "new": np.roll(logging, 1, axis=1)[np.arange(rounds), action],
    }  # fmt: skip


def logs_of(table: dict[str, Any], *, vectors: bool = True, **declared: Any) -> sl.Logs:
    listed = {name: list(column) if getattr(column, "ndim", 1) == 2 else column for name, column in table.items()}
    known: dict[str, Any] = {"action": "a", "logging": "l"} if vectors else {}
    return sl.Logs(listed, reward="r", propensity="p", time="t", **known, **declared)


def wealth(observed: list[float], expected: list[float], *, both_ways: bool) -> FloatArray:
    bet = Bet("", np.array(observed), np.array(expected), both_ways)
    won: FloatArray = log_wealth(bet, Sorted.whole(len(observed)))[0]
    return won


@pytest.mark.parametrize("name", LAWS)
def test_every_bet_is_fair_on_laws_written_out(name: str) -> None:
    """The mean of every factor is 1 (of weights and inverse propensities at most), and none is negative."""
    law = LAWS[name]
    logging = np.array(law.logging)
    actions = np.flatnonzero(logging > 0)
    for chosen in range(len(logging)):
        v = (actions == chosen) - logging[chosen]
        for place, beta in enumerate(BOTH_WAYS):
            won = np.exp([wealth([x], [0.0], both_ways=True)[place] for x in v])
            assert won == pytest.approx(1 + beta * v)
            assert (won >= 0).all()
            assert (logging[actions] * won).sum() == pytest.approx(1.0)
    for x, y in ((np.array(law.candidate)[actions] / logging[actions], 1.0), (1 / logging[actions], len(logging))):
        for place in range(len(ONE_WAY.smoothings)):
            won = np.exp([wealth([one], [float(y)], both_ways=False)[place] for one in x])
            assert (logging[actions] * won).sum() <= 1.0 + 1e-12


def test_wealth_in_segments_and_over_many_rounds() -> None:
    rng = np.random.default_rng(0)
    x, codes = rng.uniform(-1, 1, 5_000), rng.integers(0, 3, 5_000)
    found = log_wealth(Bet("", x, np.zeros(5_000), both_ways=True), Sorted.by(codes, 3))
    expected = np.stack([np.log1p(BOTH_WAYS[:, None] * x[codes == code]).sum(axis=1) for code in range(3)])
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-9)
    huge, rate = wealth([1e150] * 10, [1.0] * 10, both_ways=False)[-1], ONE_WAY.smoothings[-1]
    assert huge == pytest.approx(10 * (np.log(rate) + 150 * np.log(10) - np.log1p(rate)))


def test_wealth_where_what_is_expected_varies() -> None:
    rng = np.random.default_rng(0)
    inverse, actions, codes = (
        rng.uniform(1, 9, 5_000),
        rng.integers(2, 6, 5_000).astype(float),
        rng.integers(-1, 3, 5_000),
    )
    found = log_wealth(Bet("", inverse, actions, both_ways=False), Sorted.by(codes, 3))
    rates = np.array(ONE_WAY.smoothings)[:, None]
    each = np.log1p(rates * inverse) - np.log1p(rates * actions)
    assert found == pytest.approx(np.stack([each[:, codes == code].sum(axis=1) for code in range(3)]), rel=1e-10, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("vectors", [True, False])
def test_clean_logs_are_not_refused(vectors: bool) -> None:
    for seed in range(200):
        table = good(seed, 1_500)
        policies: Any = {"new": "new", "u": sl.uniform()} if vectors else {"new": "new"}
        health = sl.check(logs_of(table, vectors=vectors), policies, by="device")
        assert health.ok, (seed, health)


@pytest.mark.slow
def test_false_alarms_under_daily_looks() -> None:
    """At a level of 0.1, looking after each of eight days, no more than one log in ten is ever refused."""
    level, runs, alarms = 0.1, 60, 0
    for seed in range(runs):
        table = good(1_000 + seed, 1_200)
        days = [150 * day for day in range(1, 9)]
        alarms += any(
            not sl.check(logs_of({name: column[:day] for name, column in table.items()}), level=level, by="device").ok
            for day in days
        )
    assert alarms <= stats.binom.isf(1e-6, runs, level)


def refusals(health: sl.results.Health) -> list[sl.results.Finding]:
    return [finding for finding in health.findings if finding.severity == "refuse"]


def corrupted(kind: str, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(100 + seed)
    table = good(seed)
    rows = np.arange(ROUNDS)
    if kind == "one day of another version":
        # On the fourth of eight days the log holds what the version before would have done.
        day = table["t"].astype("datetime64[D]") == np.datetime64("2024-03-04")
        table["l"] = np.where(day[:, None], np.roll(table["l"], 1, axis=1), table["l"])
    if kind == "another version on tablets":
        tablets = table["device"] == "tablet"
        flatter = 0.5 * table["l"] + 0.5 / ACTIONS
        table["l"] = np.where(tablets[:, None], flatter, table["l"])
    if kind == "before business rules":
        # A rule replaces half of the decisions for action 2 by action 0 after the policy drew.
        ruled = (table["a"] == 2) & (rng.random(ROUNDS) < 0.5)
        table["a"] = np.where(ruled, 0, table["a"])
    if kind == "flattened":
        # Production drew from a softmax of half the temperature that was logged.
        sharper = table["l"] ** 1.3
        table["a"] = draw(rng, sharper / sharper.sum(axis=1, keepdims=True))
    table["p"] = table["l"][rows, table["a"]]
    return table


@pytest.mark.parametrize(
    "kind, segment, means",
    [
        ("one day of another version", "day 2024-03-04", "another model version"),
        ("another version on tablets", "device tablet", "another model version"),
        ("before business rules", "action 2", "business rules"),
        ("flattened", "", "business rules"),
    ],
)
def test_corruption_is_found_where_it_is(kind: str, segment: str, means: str) -> None:
    found = refusals(sl.check(logs_of(corrupted(kind)), by="device"))
    assert found
    named = [finding for finding in found if segment in (finding.segment or "")]
    assert named
    assert any(means in finding.remedy for finding in named)
    assert all(finding.e_value is not None and finding.e_value > 1_000 for finding in found)
    families = {finding.segment for finding in found if finding.segment}
    if kind in ("one day of another version", "another version on tablets"):
        assert segment in families  # that segment alone is named in its family


def test_too_small_propensities_are_found_without_distributions() -> None:
    """On one day all propensities were halved: the candidate's weights, and 1/q, are too large there."""
    table = good(3)
    day = table["t"].astype("datetime64[D]") == np.datetime64("2024-03-05")
    table["p"] = np.where(day, table["p"] / 3, table["p"])
    found = refusals(sl.check(logs_of(table, vectors=False), {"new": "new"}))
    assert any(finding.segment == "day 2024-03-05" for finding in found)
    assert any("too small" in finding.remedy for finding in found)
    counted = refusals(sl.check(logs_of(table, vectors=False, action_count=ACTIONS)))
    assert any(finding.segment == "day 2024-03-05" for finding in counted)


def test_rounded_propensities() -> None:
    rng = np.random.default_rng(0)
    logging = rng.dirichlet(np.full(30, 0.7), ROUNDS)
    action = draw(rng, logging)
    exact = logging[np.arange(ROUNDS), action]
    rounded = np.maximum(np.round(exact, 2), 0.01)
    reward = rng.random(ROUNDS)
    health = sl.check(sl.Logs(reward=reward, propensity=rounded))
    assert any("rounded to 2 decimals" in finding.says for finding in health.findings)
    assert not any("rounded" in finding.says for finding in sl.check(sl.Logs(reward=reward, propensity=exact)).findings)
    design = sl.check(sl.Logs(reward=reward, propensity=np.where(reward > 0.5, 0.05, 0.95)))
    assert not any("rounded" in finding.says for finding in design.findings)


def test_rows_joined_twice() -> None:
    table = good(4)
    twice = np.sort(np.concatenate([np.arange(ROUNDS), np.arange(0, ROUNDS, 20)]))
    copied = {name: column[twice] for name, column in table.items()}
    health = sl.check(logs_of(copied))
    assert any("4.8% of the rows are copies" in finding.says for finding in health.findings)
    assert not any("copies" in finding.says for finding in sl.check(logs_of(table)).findings)
    thrice = {name: np.repeat(column, 3, axis=0) for name, column in table.items()}
    assert any("66.7% of the rows are copies" in finding.says for finding in sl.check(logs_of(thrice)).findings)
    coarse = {**copied, "t": copied["t"].astype("datetime64[D]")}  # by the day, copies cannot be told from repetition
    assert not any("copies" in finding.says for finding in sl.check(logs_of(coarse)).findings)


def test_drift() -> None:
    table = good(5)
    late = table["t"] >= np.datetime64("2024-03-06")
    drifted = {**table, "r": np.where(late & (np.arange(ROUNDS) % 4 == 0), 1.0, table["r"])}
    found = [finding for finding in sl.check(logs_of(drifted)).findings if "differs from day to day" in finding.says]
    assert found
    assert found[0].severity == "warn"
    assert not any("day to day" in finding.says for finding in sl.check(logs_of(table)).findings)


def test_missing_support_is_told_apart_from_wrong_propensities() -> None:
    rng = np.random.default_rng(0)
    logging = np.tile([0.5, 0.5, 0.0], (ROUNDS, 1))
    action = draw(rng, logging)
    arrays: dict[str, Any] = {"reward": rng.random(ROUNDS), "propensity": np.full(ROUNDS, 0.5), "action": action}
    right = sl.check(sl.Logs(**arrays, logging=logging), {"new": np.tile([0.3, 0.3, 0.4], (ROUNDS, 1))})
    assert right.ok
    assert [finding.says for finding in right.findings] == [
        "40.00% of its decisions are actions that production could not take"
    ]
    unknown = sl.check(sl.Logs(**arrays), {"new": np.full(ROUNDS, 0.3)})
    (finding,) = (one for one in unknown.findings if one.subject == "policy 'new'")
    assert "up to 40.0% of its decisions, or its column does not hold probabilities" in finding.remedy


def test_tails_of_weights() -> None:
    rng = np.random.default_rng(0)
    heavy = rng.random(ROUNDS) < 0.008
    logs = sl.Logs(reward=rng.random(ROUNDS), propensity=np.where(heavy, 0.005, 0.99))
    health = sl.check(logs, {"new": np.where(heavy, 0.7, 0.3)})
    few, carried = health.weights["new"].heaviest
    assert few == pytest.approx(heavy.mean())
    assert carried == pytest.approx((heavy * 140).sum() / np.where(heavy, 140, 0.3 / 0.99).sum())
    assert any("of the rounds carry" in finding.says for finding in health.findings)


def test_sampled_logs_are_not_tested() -> None:
    """Rounds that were kept by their reward would look wrong, and are not."""
    table = good(6)
    keep = np.where(table["r"] == 1, 1.0, 0.3)
    kept = np.random.default_rng(0).random(ROUNDS) < keep
    sampled = {**{name: column[kept] for name, column in table.items()}, "k": keep[kept]}
    health = sl.check(logs_of(sampled, keep_probability="k", rounds_before_sampling=ROUNDS), {"new": "new"})
    assert health.ok
    assert health.evidence == ()
    assert any("could not be tested" in finding.says for finding in health.findings)


def test_what_is_refused() -> None:
    logs = logs_of(good(0, 100))
    with pytest.raises(sl.UsageError, match="level, the chance of a false alarm"):
        sl.check(logs, level=2)
    with pytest.raises(sl.UsageError, match="must be known before the action"):
        sl.check(logs, by="r")
    with pytest.raises(sl.UsageError, match="no column 'x' for by"):
        sl.check(logs, by=["device", "x"])
    assert sl.check(logs, by=[]).ok


def test_gate_refuses_wrong_propensities() -> None:
    answer = sl.gate(logs_of(corrupted("before business rules")), {"u": sl.uniform()})
    assert not answer.health.ok
    assert answer.improvement is None


@pytest.mark.parametrize("seed, kind", list(product(range(3), ["one day of another version", "before business rules"])))
def test_it_is_found_again_and_again(seed: int, kind: str) -> None:
    assert refusals(sl.check(logs_of(corrupted(kind, seed))))


def test_columns_with_the_names_of_families() -> None:
    table = {**corrupted("one day of another version"), "overall": np.array(["x", "y"] * (ROUNDS // 2))}
    table["day"], table["action"] = table["overall"], table["overall"]
    found = sl.check(logs_of(table), by=["overall", "day", "action"])
    assert any("day 2024-03-04" in (finding.segment or "") for finding in found.findings)
    with pytest.raises(sl.UsageError, match="by must name a column"):
        sl.check(logs_of(table), by=5)  # type: ignore[arg-type]
    with pytest.raises(sl.LogsError, match="more than 1,000 segments"):
        sl.check(logs_of({**table, "id": np.arange(ROUNDS)}), by="id")


def test_timestamps_of_every_unit() -> None:
    table = good(1, 400)
    for unit in ("s", "ms", "us", "ns"):
        times = table["t"].astype(f"datetime64[{unit}]") + np.timedelta64(1, unit)
        assert sl.check(logs_of({**table, "t": times})).ok


def test_silence_is_not_praise() -> None:
    health = sl.check(sl.Logs(reward=[0.0, 1.0] * 50, propensity=[0.001] * 100))
    assert any("could not be tested: nothing is known" in finding.says for finding in health.findings)
