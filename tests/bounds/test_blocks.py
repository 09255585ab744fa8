"""Bets in blocks: exact means on small laws, the scan, coverage, what breaks it, and what the sums of a block are."""

import hashlib
import math
import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import surelift as sl
from surelift.arrays import FloatArray
from surelift.bounds.betting import BlockBets
from surelift.bounds.blocks import BLOCKS, _means_from, log_wealth, lower_bound
from surelift.policies.resolve import name_policies
from surelift.quantities import Gain, Quantity, Value
from surelift.questions.claims import consistent
from surelift.questions.method import choose_method
from surelift.statistics import Component, Needed, Term, TermSums, WeightSums, plan_of
from surelift.statistics.dealing import PLACES, key_places
from tests.controls.exact import cases, factors_of, log_of
from tests.laws import LAWS, SIMULATORS, Law

DELTA, LOGS = 0.05, 60
METHOD = choose_method("blocks")


def dealt(
    logs: FloatArray, sums: FloatArray, blocks: Sequence[Sequence[int]], components: Sequence[Component], offset: float
) -> TermSums:
    """The sums of rounds, (rounds, components), that lie in these blocks."""
    needed = Needed(offset=offset, components=tuple(components))

    def part(rows: Sequence[int], inside: tuple[TermSums, ...] = ()) -> TermSums:
        own = list(rows)
        return TermSums(len(own), needed, logs[own].sum(axis=0), sums[own].sum(axis=0), {}, None, WeightSums(), None, inside)

    return part(range(len(logs)), tuple(part(rows) for rows in blocks if len(rows)))


def outcomes_of(
    law: Law, term: Term, policies: dict[str, Any], rounds: int
) -> Iterator[tuple[float, FloatArray, FloatArray]]:
    """Every log of so many rounds: its chance, and the log factors and sums of its rounds."""
    chances, logs = log_of(law)
    factors = factors_of(logs, plan_of(policies, (term,)), term)
    table = np.stack(list(factors.values()), axis=1)
    smoothing = np.array([part.smoothing for part in term.needed.components])
    for rows in product(range(len(chances)), repeat=rounds):
        chosen = table[list(rows)]
        yield math.prod(chances[list(rows)]), np.log(chosen), (chosen - 1.0) / smoothing


def wealth_at(mean: float, sums: TermSums) -> float:
    bets = BlockBets.of(sums, delta=0.3)
    means = next(means for means in _means_from(mean, sums) if len(means))
    return math.exp(bets.within(mean, bets.against(means[:1]).shares[0]))


def mean_wealth(law: Law, term: Term, policies: dict[str, Any], target: float, blocks: Sequence[Sequence[int]]) -> float:
    rounds, total = sum(map(len, blocks)), 0.0
    for chance, logs, sums in outcomes_of(law, term, policies, rounds):
        found = dealt(logs, sums, blocks, term.needed.components, term.needed.offset)
        total += chance * wealth_at(target, found)
    return total


def vectors_of(law: Law, count: int) -> dict[str, Any]:
    return {
        "new": np.tile(np.array(law.candidate), (count, 1)), "rival": np.tile(np.array(law.rival), (count, 1)),
    }  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("control", ["none", "weights"])
def test_the_mean_wealth_is_at_most_one_against_the_truth(name: str, control: str) -> None:
    law = LAWS[name]
    chances, _ = log_of(law)
    policies = dict(name_policies(vectors_of(law, len(chances))))
    method = choose_method("blocks", control)
    new, now, rival = (law.value(policy) for policy in (law.candidate, law.logging, law.rival))
    blocks = ([0], [1], [2]) if len(chances) > 4 else ([0], [1, 2], [3])
    for candidate, quantity, target in cases(new, now, rival):
        known = frozenset(policies) if control == "weights" else frozenset[str]()
        term = method.plan(
            candidate,
            quantity,
            limits={name: policy.limits for name, policy in policies.items()},
            count=lambda: 40,
            known=known,
        )
        mean = mean_wealth(law, term, policies, target, blocks)
        assert mean <= 1.0 + 1e-12, (candidate, quantity)
        if law.full_support and control == "none":
            assert mean == pytest.approx(1.0, abs=1e-9), (candidate, quantity)


def test_a_block_that_shows_the_reward_is_bet_on() -> None:
    """The exact counterexample: dealt by what they hold, ones last, the mean exceeds 1 at the truth."""
    parts = (Component(0.5, 0.0, 0.5), Component(4.0, 0.0, 0.5))
    total = 0.0
    for rewards in product([0.0, 1.0], repeat=6):
        values = np.array(rewards)[:, None]
        logs, sums = np.log1p(values * [part.smoothing for part in parts]), np.repeat(values, 2, axis=1)
        blocks = [[row for row in range(6) if rewards[row] == level] for level in (0.0, 1.0)]
        total += 0.5**6 * wealth_at(0.5, dealt(logs, sums, blocks, parts, 0.0))
    assert total > 1.05


def terms_of(rng: np.random.Generator, rounds: int) -> tuple[FloatArray, float]:
    """Terms at least minus an offset, of which few are large."""
    offset = float(rng.choice([0.0, 0.05, 1.0]))
    values = rng.exponential(1.0, rounds) * rng.choice([0.0, 0.3, 5.0], rounds, p=[0.5, 0.45, 0.05])
    return values - offset * (values == 0.0), offset


def on_terms(values: FloatArray, offset: float, places: FloatArray | None = None) -> TermSums:
    """Dealt by chance, or by places between 0 and 1."""
    quantity: Quantity = Gain() if offset else Value()
    needed = METHOD.choice.plan(quantity=quantity, offset=offset, count=lambda: len(values))
    smoothing, shifted = np.array([part.smoothing for part in needed.components]), values[:, None] + offset
    places = np.random.default_rng(1).random(len(values)) if places is None else places
    codes = np.searchsorted(np.cumsum(BLOCKS.shares), places)
    blocks = [np.flatnonzero(codes == block).tolist() for block in range(len(BLOCKS.shares))]
    sums = np.repeat(shifted, len(smoothing), axis=1)
    return dealt(np.log1p(smoothing * shifted), sums, blocks, needed.components, offset)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), rounds=st.sampled_from([1, 2, 5, 40, 300]), delta=st.sampled_from([0.01, 0.05, 0.5]))
def test_every_mean_below_the_bound_is_rejected_by_its_own_test(seed: int, rounds: int, delta: float) -> None:
    """And the evidence says at every mean what the bound says."""
    values, offset = terms_of(np.random.default_rng(seed), rounds)
    sums = on_terms(values, offset)
    lower = lower_bound(sums, delta=delta)
    assert lower >= -offset
    room = 1e-9 * (1.0 + abs(lower))
    for mean in np.linspace(-offset, max(lower, 0.01) * 1.5 + 0.02, 9):
        certified = log_wealth(float(mean), sums, delta=delta) >= math.log(1.0 / delta)
        if mean < lower - room:
            assert certified
        if mean > lower + room:
            assert not certified


@given(seed=st.integers(0, 10_000))
def test_between_two_means_of_the_list_the_wealth_falls(seed: int) -> None:
    values, offset = terms_of(np.random.default_rng(seed), 60)
    sums = on_terms(values, offset)
    bets = BlockBets.of(sums, delta=DELTA)
    means = next(_means_from(-offset, sums))[:6]
    shares = bets.against(means).shares
    assert (shares >= 0.0).all()
    assert (shares.sum(axis=2) <= 1.0 + 1e-12).all()
    assert not shares[:, 0].any()
    for place in range(1, len(means)):
        inside = np.linspace(means[place - 1], means[place], 7)
        wealth = [bets.within(float(mean), shares[place]) for mean in inside]
        assert (np.diff(wealth) <= 1e-12).all()


def test_the_list_of_means_does_not_depend_on_where_one_starts() -> None:
    for offset in (0.0, 0.05, 1.0):
        sums = on_terms(np.full(50, 0.1), offset)
        whole = np.concatenate([means for means, _ in zip(_means_from(-offset, sums), range(30), strict=False)])
        for start in (-offset / 2, 0.0, 0.003, 0.04 * (offset or 1.0)):
            first = next(means for means in _means_from(start, sums) if len(means))[0]
            assert first == whole[whole >= start].min()


@pytest.mark.parametrize("law", SIMULATORS)
def test_coverage(law: str) -> None:
    """Thousands of logs of these and other laws are in the campaign of this name."""
    rounds = 300
    drawn = SIMULATORS[law](np.random.default_rng(rounds), LOGS, rounds)
    gain, allowed = drawn.true_value - drawn.production_value, stats.binom.isf(1e-6, LOGS, DELTA)
    w, r = drawn.weights, drawn.reward
    for terms, truth, offset in (
        (w * r, drawn.true_value, 0.0), (w * (1 - r), 1 - drawn.true_value, 0.0), ((w - 1) * r, gain, 1.0),
        ((w - 1) * (1 - r), -gain, 1.0),
    ):  # fmt: skip
        missed = sum(lower_bound(on_terms(one, offset), delta=DELTA) > truth for one in terms)
        assert missed <= allowed, offset


def test_dealt_by_what_they_hold_or_by_a_time_that_drifts_it_fails() -> None:
    """Ones in the later half of the blocks; and a rate that rises from 0.2 to 0.8, in the order of time."""
    rng, missed = np.random.default_rng(3), np.zeros(3)
    for _ in range(20):
        rewards, chance = (rng.random(300) < 0.5).astype(np.float64), rng.random(300)
        later = (rng.random(300) < np.where(np.arange(300) < 150, 0.2, 0.8)).astype(np.float64)
        for place, (values, places) in enumerate(
            ((rewards, (rewards + chance) / 2.0), (later, np.arange(300) / 300), (rewards, chance))
        ):
            missed[place] += lower_bound(on_terms(values, 0.0, places), delta=DELTA) > 0.5
    assert (missed[:2] >= 10).all()
    assert missed[2] <= stats.binom.isf(1e-6, 20, DELTA)


def test_blocks_do_not_show_who_was_assigned_by_the_md5_of_an_id() -> None:
    """Half of the users, by its first digits: dealt by the same digits, their actions would fill half of the blocks."""
    ids = [f"user-{number}" for number in range(2_000)]
    assigned = np.array([int(hashlib.md5(one.encode()).hexdigest()[:3], 16) < PLACES // 2 for one in ids])
    early = key_places(pa.array(ids)) < PLACES // 2
    assert stats.binomtest(int((early == assigned).sum()), len(ids)).pvalue > 1e-6


def test_a_margin_at_the_end_of_the_range_and_evidence_beyond_all_floats() -> None:
    rewards = np.tile([1.0, 0.0], 20_000)
    logs = sl.Logs(reward=rewards, propensity=np.full(40_000, 0.5))
    assert sl.compare(logs, {"new": rewards}, method="blocks", margin=np.nextafter(1.0, 0.0)).e_value <= 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sl.compare(logs, {"new": rewards}, method="blocks").e_value > 1e300


def test_impossible_logs_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of a thousand: what is above all possible values is not looked through."""
    rounds, against = 2_000, BlockBets.against
    asked: list[float] = []

    def counted(bets: BlockBets, means: FloatArray) -> Any:
        asked.extend(means)
        return against(bets, means)

    monkeypatch.setattr(BlockBets, "against", counted)
    logs = sl.Logs(reward=np.tile([1.0, 0.0], rounds // 2), propensity=np.full(rounds, 0.001))
    with pytest.raises(sl.LogsError, match="contradict each other"):
        sl.evaluate(logs, {"new": np.ones(rounds)}, method="blocks")
    assert len(asked) <= 1_000


def test_a_bound_at_half_of_delta_never_narrows_the_answer() -> None:
    """Bets that aim at another level are another test: where the first pair contradicts, the wider of both is the answer."""
    found = consistent([(0.6, 0.5), (0.65, 0.7)], possible=(0.0, 1.0), subject="value", mean_weight=1.0)
    assert found == (0.6, 0.7)


@pytest.mark.parametrize("key", [None, "number"])
def test_a_certificate_of_rows_in_another_order(key: str | None) -> None:
    rng, rounds = np.random.default_rng(4), 500
    table = pa.table(
        {"r": rng.random(rounds), "p": np.full(rounds, 0.5), "new": rng.random(rounds), "number": range(rounds)}
    )
    answer = sl.compare(sl.Logs(table, reward="r", propensity="p", id=key), {"new": "new"}, method="blocks")
    assert any("sorted or grouped" in assumed for assumed in answer.assumptions)
    again = sl.verify(sl.Certificate.of(answer), table.take(pa.array(rng.permutation(rounds))))
    assert again.same == bool(key)
    assert again.same or "dealt by row number" in again.differences[-1]


def test_parts_are_dealt_by_id_as_the_whole_log_is() -> None:
    """Row numbers begin anew in every part: rows that each part sorts alike would share their blocks."""
    rng, rounds = np.random.default_rng(2), 400
    table = pa.table(
        {"r": rng.random(rounds), "p": np.full(rounds, 0.5), "new": rng.random(rounds), "number": range(rounds)}
    )
    by_row, by_id = (
        sl.Question.of("compare", {"reward": "r", "propensity": "p", **key}, {"new": "new"}, method="blocks", grid="anytime")
        for key in ({}, {"id": "number"})
    )
    parts = [table.slice(0, 150), table.slice(150)]
    with pytest.raises(sl.UsageError, match="declare id="):
        sl.partial_sums(parts, by_row)
    total = sl.partial_sums(parts[:1], by_id) + sl.partial_sums(parts[1:], by_id)
    whole = by_id.ask(sl.Logs(table, reward="r", propensity="p", id="number"))
    assert by_id.answer(total).lower == pytest.approx(whole.lower, abs=1e-12)


def test_no_rounds_and_one_round() -> None:
    logs = sl.Logs(reward=[1.0], propensity=[0.5])
    found = sl.evaluate(logs, {"new": [0.6]}, method="blocks")["new"]
    assert (found.lower, found.upper) == (0.0, 1.0)


def test_what_is_not_a_number_is_not_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, against = on_terms(np.full(300, 0.9), 0.0), BlockBets.against
    lower = lower_bound(sums, delta=DELTA)
    monkeypatch.setattr(
        BlockBets, "against", lambda bets, means: against(bets, means)._replace(logarithm=np.full(len(means), np.nan))
    )
    assert lower_bound(sums, delta=DELTA) < lower


def test_it_is_much_narrower_than_the_mixture() -> None:
    drawn = SIMULATORS["even"](np.random.default_rng(5), 20, 2_000)
    radii = np.zeros(2)
    for w, r, q in zip(drawn.weights, drawn.reward, drawn.propensity, strict=True):
        logs = sl.Logs(reward=r, propensity=q)
        for place, options in enumerate(({"method": "blocks"}, {"grid": "planned"})):
            lower = sl.evaluate(logs, {"new": w * q}, sides="lower", **options)["new"].lower  # type: ignore[call-overload]
            radii[place] += drawn.true_value - lower
    assert radii[0] < 0.85 * radii[1]


def test_what_it_does_not_go_with() -> None:
    logs = sl.Logs(reward=[1.0], propensity=[0.5])
    with pytest.raises(sl.UsageError, match="does not support control='model'"):
        sl.compare(logs, {"new": [0.6]}, method="blocks", control="model")
    with pytest.raises(sl.UsageError, match="aim at a level that is fixed before"):
        sl.select(logs, {"a": [0.6], "b": [0.4]}, method="blocks", many="e-holm")
