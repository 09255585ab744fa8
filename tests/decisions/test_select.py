"""Selection by e-Holm: what is certified, and exactly what is printed beside it."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import surelift as sl
from surelift.arrays import FloatArray
from tests import reference
from tests.strategies import LoggedRounds, deltas, logged_rounds

MARGINS = st.sampled_from([0.0, 0.02, -0.05])
SHOP = sl.datasets.shop(2_000)
THREE = {"better": "p_better", "slight": "p_slight", "worse": "p_worse"}


def printed_by_definition(terms: list[FloatArray], delta: float, margin: float) -> list[tuple[float, bool]]:
    """Lower bound and verdict of each, by brute force over all sets of candidates and bisection.

    A point in which k improves by c, and some others do not exceed the margin, is refuted by the mean of their e-values;
    the others' are least at the margin.
    """

    def e(k: int, mean: float) -> float:
        return float(np.exp(min(reference.wealth(mean, terms[k], reference.ANYTIME, 1.0), 700.0)))

    def refuted(k: int, mean: float) -> bool:
        others = [e(j, margin) for j in range(len(terms)) if j != k]
        own = e(k, mean)
        return all(
            (own + sum(some)) / (len(some) + 1) >= 1.0 / delta
            for size in range(len(terms))
            for some in itertools.combinations(others, size)
        )

    def largest(k: int) -> float:
        low, high = -1.0, margin
        if not refuted(k, low + 1e-12):
            return low
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if refuted(k, middle) else (low, middle)
        return low

    certified = [refuted(k, margin) for k in range(len(terms))]
    if all(certified):
        alone = [reference.lower(own, delta / len(terms), reference.ANYTIME, 1.0) for own in terms]
        return [(max(bound, margin), True) for bound in alone]
    return [(margin, True) if yes else (largest(k), False) for k, yes in enumerate(certified)]


@pytest.mark.slow
@given(rounds=logged_rounds(30), delta=deltas(), margin=MARGINS, shift=st.sampled_from([1.0, 0.5, 0.0]))
def test_what_is_printed_is_what_partitioning_allows(
    rounds: LoggedRounds, delta: float, margin: float, shift: float
) -> None:
    between = shift * rounds.probability + (1.0 - shift) * rounds.propensity
    policies = {"new": rounds.probability, "other": rounds.other, "between": between}
    try:
        found = sl.select(rounds.logs(), policies, delta=delta, margin=margin)
    except sl.LogsError:
        assume(False)
    assume(all(each.lower < each.upper - 1e-9 for each in found.improvements.values()))
    terms = [(p / rounds.propensity - 1.0) * rounds.reward for p in policies.values()]
    expected = printed_by_definition(terms, delta, margin)
    # One that its upper bound would contradict is not printed.
    assume(all(lower <= each.upper for each, (lower, _) in zip(found.improvements.values(), expected, strict=True)))
    assume(all(abs(each.e_value / each.e_value_needed - 1.0) > 1e-6 for each in found.improvements.values()))
    for each, (lower, certified) in zip(found.improvements.values(), expected, strict=True):
        assert each.certified == certified
        assert each.lower == pytest.approx(lower, rel=1e-7, abs=1e-8)
        assert each.delta == delta


@given(rounds=logged_rounds(40), delta=deltas(), margin=MARGINS)
def test_it_certifies_whatever_a_share_of_delta_does(rounds: LoggedRounds, delta: float, margin: float) -> None:
    policies = {"new": rounds.probability, "other": rounds.other}
    try:
        holm, bounds = (
            sl.select(rounds.logs(), policies, delta=delta, margin=margin, many=many) for many in ("e-holm", "simultaneous")
        )
    except sl.LogsError:
        assume(False)
    assert set(bounds.discoveries) <= set(holm.discoveries)
    assert (holm.chosen in holm.discoveries) == bool(holm.discoveries)
    for name in policies:
        assert holm[name].upper == bounds[name].upper
        assert holm[name].lower >= min(bounds[name].lower, margin)
    if len(holm.discoveries) == len(policies):
        assert {name: max(bounds[name].lower, margin) for name in policies} == {name: holm[name].lower for name in policies}


def walks(rng: np.random.Generator, runs: int, rounds: int) -> tuple[Any, ...]:
    """Actions of two bits; the first candidate follows a useless one, the second a useful one."""
    useless, useful = rng.integers(0, 2, (2, runs, rounds))
    reward = (rng.random((runs, rounds)) < np.where(useful == 1, 0.8, 0.2)).astype(float)
    return reward, 1.0 + SHIFT * (2 * useless - 1), 1.0 + SHIFT * (2 * useful - 1)


SHIFT, SMOOTHING, DELTA = 0.2, 1.0, 0.05


def log_wealth(weights: FloatArray, reward: FloatArray, mean: float) -> FloatArray:
    gains = (weights - 1.0) * reward
    wealth: FloatArray = np.cumsum(np.log1p(SMOOTHING * (gains + 1.0)) - np.log1p(SMOOTHING * (mean + 1.0)), axis=1)
    return wealth


def test_bounds_at_a_share_of_delta_beside_e_holm_err_more_than_delta_and_what_is_printed_does_not() -> None:
    """Two candidates, of which one is useless, looked at after every round; no drift, so that e-Holm holds at all looks."""
    rng, runs, truth = np.random.default_rng(15), 6_000, SHIFT * 0.3
    naive, ours, asked = 0, 0, 0
    for _ in range(runs // 250):
        reward, useless, useful = walks(rng, 250, 6_000)
        null, other = (
            np.exp(log_wealth(useless, reward, 0.0)),
            np.exp(np.minimum(log_wealth(useful, reward, 0.0), 700.0)),
        )
        rejected = (null >= 1.0 / DELTA) & (null + other >= 2.0 / DELTA)
        too_high = log_wealth(useful, reward, truth) >= np.log(2.0 / DELTA)
        naive += int((rejected | too_high).any(axis=1).sum())
        ours += int(rejected.any(axis=1).sum())
        for run in np.flatnonzero(too_high.any(axis=1) & ~rejected.any(axis=1))[:3]:
            look = int(np.argmax(too_high[run])) + 1
            logs = sl.Logs(reward=reward[run, :look], propensity=np.full(look, 0.25))
            policies = {"useless": 0.25 * useless[run, :look], "useful": 0.25 * useful[run, :look]}
            options: dict[str, Any] = {"method": "logarithmic-smoothing", "smoothing": SMOOTHING, "control": "none"}
            # Where the bounds contradict each other, the library holds them to half of delta, and this one is right again.
            asked += sl.select(logs, policies, many="simultaneous", **options)["useful"].lower > truth
            shown = sl.select(logs, policies, many="e-holm", **options)
            assert shown["useful"].certified
            assert (shown["useful"].lower, shown["useless"].lower <= 0.0) == (0.0, True)
    assert asked > 10
    # A valid procedure exceeds this about once in a million times.
    error = 4.9 * np.sqrt(DELTA * (1 - DELTA) / runs)
    assert ours / runs <= DELTA + error
    assert naive / runs > DELTA + 0.6 * error


def test_it_certifies_more() -> None:
    """Ten candidates that are all better: how many of 200 are certified on logs of 600 rounds."""
    found = {"e-holm": 0, "simultaneous": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        good = rng.random(600) < 0.5
        reward = (rng.random(600) < np.where(good, 0.6, 0.4)).astype(float)
        logs = sl.Logs(reward=reward, propensity=np.full(600, 0.5))
        policies = {f"c{k}": 0.5 + np.where(good, 1, -1) * rng.uniform(0.1, 0.4, 600) for k in range(10)}
        for many in found:
            found[many] += len(sl.select(logs, policies, many=many).discoveries)  # type: ignore[arg-type]
    assert found["e-holm"] > found["simultaneous"]


def test_it_is_the_default_where_it_has_something_to_say() -> None:
    logs = SHOP.logs()
    assert sl.select(logs, THREE).many == "e-holm"
    assert sl.select(logs, {"better": "p_better"}).many == "simultaneous"
    assert sl.select(logs, THREE, method="normal").many == "simultaneous"
    with pytest.raises(
        sl.UsageError, match=r"e-values \(many=\) and method 'normal' do not go together: it gives no evidence to share"
    ):
        sl.select(logs, THREE, method="normal", many="e-holm")
    assert sl.report(logs, THREE).selection.many == "simultaneous"  # type: ignore[union-attr]
    watch = sl.Monitor(THREE, **SHOP.columns())
    watch.update(SHOP.table)
    assert watch.answer().many == "simultaneous"  # type: ignore[union-attr]
    assert watch.answer().first.promise == "any number of looks"  # type: ignore[union-attr]


def test_its_promise_and_its_assumption_are_stated() -> None:
    cases: list[tuple[dict[str, Any], bool]] = [({}, True), ({"grid": "planned"}, False), ({"by": "device"}, False)]
    for options, more in cases:
        answer: Any = sl.select(SHOP.logs(), THREE, **options)
        answer = answer["phone"] if "by" in options else answer
        assert answer.first.promise == "one look"
        (steady,) = (text for text in answer.assumptions if text.startswith("rounds are independent"))
        assert steady.startswith("rounds are independent, so that they do not decide which candidates are better")
        assert "did not adapt" in steady
        assert ("where nothing drifts either, more looks do no harm" in steady) == more
    simultaneous = sl.select(SHOP.logs(), THREE, many="simultaneous").assumptions
    assert not any(text.startswith("rounds are independent") for text in simultaneous)


def test_one_candidate_is_judged_as_compare_judges_it() -> None:
    one, alone = (
        sl.select(SHOP.logs(), {"better": "p_better"}, many="e-holm")["better"],
        sl.compare(SHOP.logs(), "p_better"),
    )
    assert (one.lower, one.upper, one.certified) == (alone.lower, alone.upper, alone.certified)


def test_a_doubt_brings_no_evidence_and_still_counts() -> None:
    rng = np.random.default_rng(3)
    dose = rng.uniform(0, 1, 3_000)
    table = {"r": (rng.random(3_000) < dose).astype(float), "d": dose, "q": np.ones(3_000), "p": 2.0 * dose}
    table["mean"] = np.full(3_000, 0.8)
    logs = sl.Logs(table, reward="r", propensity="q", action="d", density=True)
    answer = sl.select(logs, {"sure": "p", "doubted": sl.densities.kernel("mean", 0.1)})
    assert answer.discoveries == ("sure",)
    assert answer["doubted"].doubts
    assert answer["sure"].e_value_needed == pytest.approx(2 / 0.05)
    assert answer["sure"].lower == answer["doubted"].lower == 0.0
    assert "it looks as if" in answer["doubted"].sentence()


@pytest.mark.parametrize("over", ["production", {"slight": "p_slight"}])
def test_costs_and_units(over: Any) -> None:
    """A cost of 60 minus 30 times the reward: improvements, bounds and margins are 30 times as large."""
    table = SHOP.table.to_pandas()
    table["minutes"] = 60.0 - 30.0 * table["click"]
    policies = {"better": "p_better", "worse": "p_worse"}
    reward = sl.select(sl.Logs(table, reward="click", propensity="propensity"), policies, over=over, margin=0.01)
    cost = sl.select(
        sl.Logs(table, cost="minutes", propensity="propensity", reward_range=(30, 60)), policies, over=over, margin=0.3
    )
    assert cost.discoveries == reward.discoveries == ("better",)
    for name in policies:
        assert cost[name].lower == pytest.approx(30.0 * reward[name].lower)
        assert cost[name].e_value_needed == pytest.approx(reward[name].e_value_needed)


def test_clusters_samples_and_segments() -> None:
    rng = np.random.default_rng(7)
    good = rng.random(4_000) < 0.5
    table = {
        "r": (rng.random(4_000) < np.where(good, 0.7, 0.3)).astype(float), "q": np.full(4_000, 0.5),
        "a": np.where(good, 0.8, 0.2), "b": np.where(good, 0.3, 0.7), "u": np.repeat(np.arange(2_000), 2),
        "s": np.repeat(["x", "y"], 2_000), "keep": np.full(4_000, 0.5),
    }  # fmt: skip
    declared: list[dict[str, Any]] = [
        {"cluster": "u", "cluster_max": 2}, {"keep_probability": "keep", "rounds_before_sampling": 8_000}
    ]  # fmt: skip
    for options in declared:
        logs = sl.Logs(table, reward="r", propensity="q", **options)
        holm, bounds = (sl.select(logs, ["a", "b"], many=many) for many in ("e-holm", "simultaneous"))
        assert holm.discoveries == bounds.discoveries == ("a",)
        assert holm["a"].lower == 0.0
        assert bounds["b"].lower < holm["b"].lower < 0.0
        assert sl.verify(sl.Certificate.of(holm), logs).same
    assert "clusters are independent" in str(
        sl.select(sl.Logs(table, reward="r", propensity="q", **declared[0]), ["a", "b"]).assumptions
    )
    segments = sl.select(sl.Logs(table, reward="r", propensity="q"), ["a", "b"], by="s")
    for name, answer in segments.items():
        here = table["s"] == name
        part = sl.Logs({column: values[here] for column, values in table.items()}, reward="r", propensity="q")
        alone = sl.select(part, ["a", "b"], delta=0.025)
        assert {each.policy: each.lower for each in answer.parts()} == pytest.approx(
            {each.policy: each.lower for each in alone.parts()}
        )
        assert answer.chosen == alone.chosen == "a"


def test_a_certificate_says_how_and_is_verified(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    sl.Certificate.of(sl.select(SHOP.logs(), THREE)).save(path)
    content = json.loads(path.read_text())
    assert content["question"]["many"] == content["answer"]["many"] == "e-holm"
    assert content["answer"]["improvements"]["better"]["promise"] == "one look"
    assert content["answer"]["improvements"]["better"]["e_value_needed"] > 20.0
    assert sl.verify(path, SHOP.logs()).same
    asked = sl.Question.of("select", SHOP.columns(), THREE)
    assert sl.Question.from_dict(asked.to_dict()) == asked
    assert asked.ask(SHOP.logs()) == sl.select(SHOP.logs(), THREE)
