"""Prefix weights: exact on small trees, where simpler weights and paddings are false."""

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import surelift as sl
from surelift.batch import Batch
from surelift.engines import collect
from surelift.logs.decisions import Limits
from surelift.logs.units import Sequences, Weights
from surelift.policies import Policy
from surelift.policies.resolve import name_policies
from surelift.quantities import Decline, Difference, Gain, Quantity, Shortfall, Value
from surelift.questions.method import choose_method
from surelift.statistics import Plan, Term
from surelift.statistics.bets import Bets
from surelift.statistics.plan import Request
from surelift.statistics.splits import Segment
from surelift.statistics.sums import requests_of
from surelift.traits.units import GIVEN_BEFORE, NO_LATER_ACTIONS
from tests import reference
from tests.importers.test_slates import FIRST, SECOND, SECOND_RATES, draw_rankings
from tests.numpy_loops import in_numpy
from tests.quantities.trees import Node, Tree, logs_of

BY_SESSION = (Segment(("session",)),)


@given(st.lists(st.lists(st.floats(-1.0, 3.0), min_size=1, max_size=6), min_size=1, max_size=5), st.floats(1e-13, 1.0))
def test_prefix_weights_are_running_products(steps: list[list[float]], scale: float) -> None:
    sizes = [len(cluster) for cluster in steps]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    excess = scale * np.array([step for cluster in steps for step in cluster])
    units = Sequences(len(sizes), starts, np.array(sizes, dtype=float))
    found = units.weights(Weights(1.0 + excess, excess))
    for first, last in pairwise(starts):
        products = [math.prod(Fraction(1) + Fraction(step) for step in excess[first : k + 1]) for k in range(first, last)]
        assert found.weight[first:last] == pytest.approx([float(product) for product in products], rel=1e-12, abs=1e-300)
        # To rounding in the largest partial product, also where all are near 1.
        exact = [float(product - 1) for product in products]
        assert found.excess[first:last] == pytest.approx(exact, rel=1e-12, abs=1e-14 * max(map(abs, exact)))


def limits_of(logs: sl.Logs, policies: Mapping[str, Policy]) -> dict[str, Limits]:
    return {name: logs.declaration.unit.limits(policy.limits) for name, policy in policies.items()}


def factors(logs: sl.Logs, policies: dict[str, Any], term: Term) -> Any:
    """(sessions, components): 1 + smoothing (term + offset) of each session, from the library's own sums."""
    plan = Plan(name_policies(policies), tuple(requests_of(policies, [term], BY_SESSION)))
    sums, sessions = collect(logs, plan), sorted(map(int, set(logs.source._columns["session"])))  # type: ignore[attr-defined]
    assert not sums.invalid
    return np.exp([sums.of(term, BY_SESSION, (str(session),)).log_sums for session in sessions])


def cases(now: float, new: float, rival: float) -> list[tuple[str, Quantity, float]]:
    return [
        ("new", Value(), new), ("new", Shortfall(), 1 - new), ("new", Gain(), new - now),
        ("new", Decline(), now - new), ("new", Difference("rival"), new - rival), ("rival", Difference("new"), rival - new),
    ]  # fmt: skip


@pytest.mark.parametrize("alpha", [1.0, 0.3])
@pytest.mark.parametrize("control", ["none", "weights"])
@pytest.mark.parametrize("supported, may_leave", [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("seed", range(2))
def test_every_factor_has_mean_at_most_one(seed: int, supported: bool, may_leave: bool, control: str, alpha: float) -> None:
    tree = Tree(seed, supported=supported, may_leave=may_leave)
    chances, paths = tree.possible()
    logs = logs_of(tree.table(paths), most=3, vectors=control != "none")
    column = "{}" if control != "none" else "p_{}"
    policies: dict[str, Any] = {name: column.format(name) for name in ("new", "rival")}
    now, new, rival = tree.values
    if alpha < 1.0:
        # A blend at every step; its value is that of a tree with blended chances.
        policies["new"] = sl.blend(policies["new"], alpha)
        for node in tree.nodes.values():
            node.chances[1] = (1 - alpha) * node.chances[0] + alpha * node.chances[1]
        new = tree.values[1]
    named = name_policies(policies)
    method = choose_method("mixture", control)
    known = frozenset(policies) if control != "none" else frozenset[str]()
    limits = limits_of(logs, named)
    for candidate, quantity, target in cases(now, new, rival):
        term = method.plan(candidate, quantity, limits=limits, count=lambda: 1, known=known)
        if isinstance(quantity, Gain):
            assert term.needed.offset == pytest.approx(1 - (1 - alpha) ** 3 if alpha < 1 else 1.0)
        components = term.needed.components
        found = factors(logs, policies, term)
        assert (found >= 1.0 - 1e-9).all()
        largest = np.array([1 + part.smoothing * (target + part.offset) for part in components])
        means = chances @ found / largest
        assert (means <= 1 + 1e-9).all(), (candidate, quantity)
        if supported:
            assert means == pytest.approx(1.0, abs=1e-9)


def leavers(sessions: int, seed: int) -> dict[str, Any]:
    """Production leaves after the first of two positions half the time, the candidate stays; every reward is 1."""
    stays = np.random.default_rng(seed).random(sessions) < 0.5
    rows = [(number, place, stay) for number, stay in enumerate(stays) for place in range(2 if stay else 1)]
    session, place, stay = (np.array(column) for column in zip(*rows, strict=True))
    return {
        "session": session, "place": place, "reward": np.ones(len(rows)),
        "p_logging": np.where(place == 0, 0.5, 1.0), "p_new": np.where((place == 0) & ~stay, 0.0, 1.0),
        # The prefix weight as that of a round on its own.
        "q": np.full(len(rows), 0.5), "prefix": stay * 1.0,
    }  # fmt: skip


def test_after_the_end_of_a_session_its_last_weight_counts() -> None:
    """With 1 instead, as for rounds on their own, the shortfall has mean 1/4 where the candidate misses nothing."""
    table = leavers(2_000, 0)
    right = sl.evaluate(logs_of(table, most=2), "p_new")["p_new"]
    assert right.lower is not None
    assert right.lower > 0.9
    assert right.upper == 1.0
    gain = sl.compare(logs_of(table, most=2), "p_new")
    assert 0.1 < gain.lower < 0.25 < gain.upper  # the true improvement: 1 - 3/4
    declared: dict[str, Any] = {"reward": "reward", "propensity": "q", "cluster": "session", "cluster_max": 2}
    false = sl.Logs(table, **declared)
    assert sl.estimate(false, "prefix")["prefix"].estimate == pytest.approx(right.terms_mean)
    with pytest.raises(sl.LogsError, match=r"at least 0\.93\d* and at most 0\.77"):
        sl.evaluate(false, "prefix")


def test_weights_and_bounds_by_hand() -> None:
    """Session 1: weights 2 and 3/2, rewards 1 and 0; session 2: weight 1/2, reward 1, and left. At most 2 positions."""
    table = {
        "session": [1, 1, 2], "place": [1, 2, 1], "reward": [1.0, 0.0, 1.0], "p_logging": [0.25, 0.5, 0.5],
        "p_new": [0.5, 0.75, 0.25],
    }  # fmt: skip
    logs = logs_of(table, most=2)
    single: dict[str, Any] = {"grid": sl.grids.single(1.0), "delta": 0.5}

    def bound(terms: list[float], offset: float) -> float:
        total = sum(math.log1p(term + offset) for term in terms)
        return math.expm1((total - math.log(2.0)) / 2) - offset

    # Prefix weights 2, 3 and 1/2, and 1/2 after the end.
    gain = sl.compare(logs, "p_new", **single)
    assert gain.estimate == pytest.approx((0.5 - 0.25) / 2)
    assert gain.lower == pytest.approx(bound([0.5, -0.25], 1.0), abs=1e-10)  # (1 + 0)/2 and (-1/2 + 0)/2
    assert gain.upper == pytest.approx(-bound([1.0, -0.25], 1.0), abs=1e-10)  # (0 + 2)/2 and (0 - 1/2)/2
    value = sl.evaluate(logs, "p_new", sides="lower", **single)["p_new"]
    assert value.lower == pytest.approx(bound([1.0, 0.25], 0.0), abs=1e-10)
    assert value.mean_weight == pytest.approx((2.5 + 0.5) / 2)
    shortfall = sl.evaluate(logs, "p_new", sides="upper", **single)["p_new"]
    assert shortfall.upper == pytest.approx(1 - bound([1.5, 0.25], 0.0), abs=1e-10)  # (0 + 3)/2 and (0 + 1/2)/2
    assert set(gain.assumptions) >= {GIVEN_BEFORE, NO_LATER_ACTIONS}
    assert not any("as production played them" in line for line in gain.assumptions)


def test_a_small_blend_loses_nothing_to_rounding() -> None:
    tree = Tree(3)
    logs = logs_of(tree.draw(300, np.random.default_rng(1)), most=3)
    whole, part = (sl.compare(logs, sl.blend("p_new", alpha), control="none") for alpha in (1e-5, 1e-6))
    assert part.lower == pytest.approx(whole.lower / 10, rel=1e-4)
    assert part.lower > -3e-6


def investing() -> Tree:
    """The first action earns now, or later, for which the candidate waits more often: step by step, a loss alone."""
    tree = Tree(0, depth=2)
    tree.nodes[()] = Node(np.array([[0.3, 0.7], [0.8, 0.2], [0.5, 0.5]]), np.array([0.0, 0.5]), np.array([0.1, 0.0]))
    for action, rate in ((0, 0.95), (1, 0.3)):
        for reward in (0, 1):
            chances = np.array([[0.5, 0.5], [0.4, 0.6], [0.9, 0.1]])
            tree.nodes[(action, reward),] = Node(chances, np.array([rate, rate]), np.zeros(2))
    return tree


@pytest.mark.slow
def test_the_bounds_cover_where_weights_of_single_positions_do_not() -> None:
    """100 logs at delta 0.1; a valid bound misses more often than this with probability below one in a million."""
    tree, rng, runs, delta = investing(), np.random.default_rng(11), 100, 0.1
    now, new, rival = tree.values
    assert new > now
    misses, single = np.zeros(6), 0
    for _ in range(runs):
        table = tree.draw(500, rng)
        logs = logs_of(table, most=2, vectors=True)
        value = sl.evaluate(logs, "new", delta=delta)["new"]
        gain = sl.compare(logs, "new", delta=delta)
        other = sl.compare(logs, "new", over="rival", delta=delta)
        assert gain.control == other.control == "weights"
        assert value.lower is not None
        assert value.upper is not None
        misses += [
            value.lower > new, value.upper < new, gain.lower > new - now, gain.upper < new - now,
            other.lower > new - rival, other.upper < new - rival,
        ]  # fmt: skip
        declared: dict[str, Any] = {"reward": "reward", "propensity": "p_logging", "cluster": "session"}
        single += sl.compare(sl.Logs(table, **declared, cluster_max=2), "p_new", delta=delta).upper < new - now
    allowed = stats.binom.isf(1e-6, runs, delta)
    assert misses.max() <= allowed, misses
    assert single > 3 * allowed


def test_rankings_need_the_prefix_and_probabilities_given_the_positions_above() -> None:
    values = {name: float(FIRST[name] @ SECOND[name] @ SECOND_RATES) / 2 for name in ("p", "new")}
    truth = values["new"] - values["p"]
    conditional, marginal = ({**rows, "k": np.tile([1, 2], 20_000)} for rows in draw_rankings(20_000, 5))
    declared: dict[str, Any] = {"reward": "click", "propensity": "p", "cluster": "slate", "cluster_size": 2}
    right = sl.compare(sl.Logs(conditional, **declared, position="k"), "new")
    assert right.lower <= truth <= right.upper < 0.0
    independent = sl.compare(sl.Logs(conditional, **declared), "new")
    assert independent.lower > truth + 0.05
    with pytest.raises(sl.LogsError, match=r"The mean weight is 1\.3"):
        sl.compare(sl.Logs(marginal, **declared, position="k"), "new")


def test_bets_on_the_weights_use_those_of_single_positions() -> None:
    """Over a session the product of 1 + lambda W_k has no mean of at most (1 + lambda)^N; that of single weights has."""
    tree = Tree(9, depth=2, may_leave=False)
    chances, paths = tree.possible()
    logs = logs_of(tree.table(paths), most=2)
    bets = Bets(("p_new",), None)
    sums = collect(logs, Plan(name_policies("p_new"), (Request(bets, BY_SESSION),)))
    won = [sums.get(bets, BY_SESSION, (str(session),)).bets["weights of 'p_new'"] for session in range(len(paths))]
    assert chances @ np.exp([wealth.logs for wealth in won]) == pytest.approx(1.0)
    table = tree.table(paths)
    steps = (np.array(table["p_new"]) / np.array(table["p_logging"])).reshape(-1, 2)
    prefixes = steps.cumprod(axis=1)
    assert chances @ ((1 + prefixes) / 2).prod(axis=1) > 1.05
    assert sl.check(logs, "p_new").ok is not None


def test_methods_and_estimators() -> None:
    tree = Tree(5)
    table = tree.draw(400, np.random.default_rng(0))
    logs = logs_of(table, most=3)
    starts = np.flatnonzero(np.array(table["place"]) == 0)
    blocks = sl.compare(logs, "p_new", method="blocks")
    assert blocks.lower <= tree.values[1] - tree.values[0] <= blocks.upper

    def running(name: str) -> Any:
        parts = np.split(np.array(table[name]), starts[1:])
        return np.concatenate([part.cumprod() for part in parts])

    p, q, r = running("p_new"), running("p_logging"), np.array(table["reward"])
    terms = [part.sum() / 3 for part in np.split(p * r / (q + 0.05), starts[1:])]
    found = sl.estimate(logs, "p_new", estimator="implicit-exploration", smoothing=0.1)["p_new"]
    assert found.estimate == pytest.approx(np.mean(terms))
    values = np.array([part.sum() / 3 for part in np.split(p / q * r, starts[1:])])
    lower = sl.evaluate(logs, "p_new", sides="lower", delta=0.3)["p_new"].lower
    assert lower == pytest.approx(reference.lower(values, 0.3), abs=1e-10)
    with pytest.raises(sl.UsageError, match=r"sequences \(position=\) do not go together: the model predicts single"):
        sl.estimate(logs_of(table, most=3, vectors=True), "new", estimator="dr")
    with pytest.raises(sl.UsageError, match=r"control='weights' needs the whole distributions"):
        sl.compare(logs, sl.bounded("p_new", 1e6), control="weights")


def test_other_methods_smooth_what_stands_after_the_end_of_a_session() -> None:
    """Its last weight, clipped as that of any position, and its last probabilities."""
    table = Tree(5).draw(400, np.random.default_rng(0))
    logs, starts = logs_of(table, most=3), np.flatnonzero(np.array(table["place"]) == 0)
    p, q = (
        np.concatenate([part.cumprod() for part in np.split(np.array(table[name]), starts[1:])])
        for name in ("p_new", "p_logging")
    )
    r, last = np.array(table["reward"]), np.append(starts[1:], len(p)) - 1
    lacking, count, log = 2 + starts - last, len(starts), math.log(1 / 0.1)
    assert lacking.max() == 2

    def units(values: Any, shortfall: bool) -> Any:
        total = np.add.reduceat(values * ((1 - r) if shortfall else r), starts)
        return (total + (values[last] * lacking if shortfall else 0.0)) / 3

    def second_moment(z: Any) -> float:
        return math.expm1(0.5 * z.mean() - 0.125 * (z * z).mean() - log / count) / 0.5

    def bernstein(z: Any) -> float:
        spread = math.sqrt(2 * z.var(ddof=1) * math.log(2 / 0.1) / count)
        return float(z.mean() - spread - 7 * 1.5 * math.log(2 / 0.1) / (3 * (count - 1)))

    def explored(z: Any) -> float:
        return float(z.mean() - log / (0.5 * count))

    cases: list[tuple[str, dict[str, Any], Any, Any]] = [
        ("second-moment", {"smoothing": 0.5}, np.minimum(p / q, 2.0), second_moment),
        ("empirical-bernstein", {"clip": 1.5}, np.minimum(p / q, 1.5), bernstein),
        ("implicit-exploration", {"smoothing": 0.5}, p / (q + 0.25), explored),
    ]
    for method, options, smoothed, bound in cases:
        low, high = (
            sl.Question.of("evaluate", logs, "p_new", sides=side, delta=0.1, method=method, **options).ask(logs)["p_new"]
            for side in ("lower", "upper")
        )
        assert low.lower == pytest.approx(max(0.0, bound(units(smoothed, False))), abs=1e-9)
        assert high.upper == pytest.approx(min(1.0, 1 - bound(units(smoothed, True))), abs=1e-9)
        assert 0.0 < low.lower < high.upper < 1.0


def test_a_reward_model_narrows_and_stays_exact() -> None:
    tree = Tree(1)
    chances, paths = tree.possible()
    table = tree.table(paths)
    logs = logs_of(table, most=3, vectors=True)
    predictions = [(0.8 * np.ones(len(vector))).tolist() for vector in table["new"]]
    model = sl.models.given("predicted")
    logs = logs_of({**table, "predicted": predictions}, most=3, vectors=True)
    term = choose_method("mixture", model).plan(
        "new", Gain(), limits=limits_of(logs, name_policies("new")), count=lambda: 1, known=frozenset(["new"]),
    )  # fmt: skip
    plan = Plan(name_policies("new"), tuple(requests_of(["new"], [term], BY_SESSION)), model)
    sums = collect(logs, plan)
    found = np.exp([sums.of(term, BY_SESSION, (str(session),)).log_sums for session in range(len(paths))])
    target = tree.values[1] - tree.values[0]
    limits = np.array([1 + part.smoothing * (target + part.offset) for part in term.needed.components])
    assert chances @ found / limits == pytest.approx(1.0, abs=1e-9)


def test_numpy_gives_the_same_answers() -> None:
    logs = logs_of(Tree(6).draw(300, np.random.default_rng(2)), most=3, vectors=True)

    def answers() -> list[float]:
        gain = sl.compare(logs, "new", over="rival")
        value: Any = sl.evaluate(logs, "new")["new"]
        return [gain.lower, gain.upper, value.lower, value.upper]

    compiled = answers()
    with in_numpy():
        assert answers() == pytest.approx(compiled, rel=1e-10)


def test_propensities_above_their_entries_multiply_along_a_sequence() -> None:
    """By a relative 4e-7 at each of two positions, which is within the tolerance: 8e-7 for a session, not 4e-7."""
    table = {
        "session": [1, 1, 2], "place": [0, 1, 0], "reward": [1.0, 0.0, 1.0], "action": [0, 1, 0],
        "p_logging": [0.5 * (1 + 4e-7), 0.5 * (1 + 4e-7), 0.5], "logging": [[0.5, 0.5]] * 3, "new": [[0.4, 0.6]] * 3,
    }  # fmt: skip
    logs = logs_of(table, most=2, vectors=True)
    alone = logs_of(table, most=2, vectors=True, position=None)
    for rounds, expected in ((logs, 8e-7), (alone, 4e-7)):
        found = [float(each) for batch in rounds.batches() for each in Batch(rounds, batch).read().overstated]
        assert found == pytest.approx([expected, 0.0], rel=1e-5)
