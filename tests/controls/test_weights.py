"""Weight control: exact on small laws, valid in simulation, never much worse than plain, rejected without vectors."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import surelift as sl
from surelift import grids
from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS, mixture
from surelift.controls import WeightControl
from surelift.engines import collect
from surelift.logs.batch import ROWS_PER_BATCH
from surelift.policies.resolve import name_policies
from surelift.quantities import Difference, Gain, Quantity, Value
from surelift.statistics import Sums, Term, automatic, by_weights, plan_of
from tests.controls.exact import cases
from tests.laws import LAWS, Law
from tests.same_sums import assert_same_sums
from tests.strategies import deltas
from tests.term_sums import offset_of


def problem(rng: np.random.Generator, rounds: int, law: Law) -> sl.Logs:
    logging = np.array(law.logging)
    action = np.searchsorted(np.cumsum(logging)[:-1], rng.random(rounds), side="right")
    high = rng.random(rounds) < np.array(law.high_chance)[action]
    reward = np.where(high, law.reward_levels[1], law.reward_levels[0])
    return sl.Logs(reward=reward, propensity=logging[action], action=action, logging=np.tile(logging, (rounds, 1)))


@pytest.mark.parametrize("name", LAWS)
def test_controlled_bounds_miss_no_more_often_than_delta(name: str) -> None:
    law, rounds, runs, delta = LAWS[name], 300, 150, 0.1
    rng = np.random.default_rng(5)
    policies = name_policies({"new": np.tile(law.candidate, (rounds, 1)), "rival": np.tile(law.rival, (rounds, 1))})
    new, now, other = law.value(law.candidate), law.value(law.logging), law.value(law.rival)
    terms = {
        target: Term(candidate, quantity, mixture.plan(
            quantity=quantity, offset=offset_of(candidate, quantity, policies), count=lambda: rounds,
            narrowing=by_weights(quantity),
        ))
        for candidate, quantity, target in cases(new, now, other)
    }  # fmt: skip
    missed = dict.fromkeys(terms, 0)
    for _ in range(runs):
        sums = collect(problem(rng, rounds, law), plan_of(policies, tuple(terms.values())))
        for target, term in terms.items():
            missed[target] += mixture.lower_bound(sums.of(term), delta=delta) > target
    assert max(missed.values()) <= stats.binom.isf(1e-6, runs, delta)


def random_log(seed: int, rounds: int = 200, actions: int = 4) -> tuple[sl.Logs, FloatArray]:
    rng = np.random.default_rng(seed)
    logging, new = rng.dirichlet(np.ones(actions), rounds), rng.dirichlet(np.ones(actions), rounds)
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    reward = (rng.random(rounds) < 0.9 * new[np.arange(rounds), action]).astype(float)
    logs = sl.Logs(reward=reward, propensity=logging[np.arange(rounds), action], action=action, logging=logging)
    return logs, new


@given(seed=st.integers(0, 10_000), delta=deltas())
def test_control_is_never_worse_than_plain_at_half_the_delta(seed: int, delta: float) -> None:
    logs, new = random_log(seed)
    controlled = sl.evaluate(logs, {"new": new}, delta=delta, sides="lower", control="weights")["new"].lower
    plain = sl.evaluate(logs, {"new": new}, delta=delta / 2, sides="lower", control="none")["new"].lower
    assert controlled is not None
    assert plain is not None
    assert controlled >= plain - 1e-12


@given(seed=st.integers(0, 10_000), delta=deltas())
def test_automatic_control_is_never_worse_than_plain_at_its_share_of_the_delta(seed: int, delta: float) -> None:
    logs, new = random_log(seed)
    policies = name_policies({"new": new, "rival": np.full_like(new, 0.25)})
    for _, quantity, _ in cases(0.0, 0.0, 0.0)[:5]:
        offset = offset_of("new", quantity, policies)
        controlled, plain = (
            Term("new", quantity, mixture.plan(quantity=quantity, offset=offset, count=lambda: 200, **narrowing))
            for narrowing in ({"narrowing": automatic(quantity)}, {})
        )
        sums = collect(logs, plan_of(policies, (controlled, plain)))
        share = 1.0 - sum(quantity.control_prior)
        lower = mixture.lower_bound(sums.of(plain), delta=delta * share)
        assert mixture.lower_bound(sums.of(controlled), delta=delta) >= lower - 1e-12


def test_automatic_control_of_a_difference_has_equal_shares_and_is_told_apart_from_weights() -> None:
    plans = {
        narrow: mixture.plan(
            quantity=Difference("old"), offset=1.0, count=lambda: 1, narrowing=narrow(Difference("old")),
            grid=grids.single(0.5),
        ).components
        for narrow in (automatic, by_weights)
    }  # fmt: skip
    assert [component.prior for component in plans[automatic]] == [0.25] * 4
    assert [component.prior for component in plans[by_weights]] == pytest.approx([1 / 2] + [1 / 6] * 3)
    alike = [[component._replace(prior=0.0) for component in parts] for parts in plans.values()]
    assert alike[0] == alike[1]
    logs, new = random_log(4, rounds=2_000)
    even = {"even": np.full_like(new, 0.25)}
    answers = {control: sl.compare(logs, {"new": new}, over=even, control=control) for control in ("auto", "weights")}
    assert answers["auto"].lower > answers["weights"].lower
    for answer in answers.values():
        assert sl.verify(sl.Certificate.of(answer), logs, {"new": new, **even}).same


@pytest.mark.parametrize("quantity, offset", [(Value(), 0.0), (Gain(), 1.0), (Gain(), 0.1)])
def test_automatic_control_leaves_smoothings_plain_whose_cap_is_about_an_average_weight(
    quantity: Quantity, offset: float
) -> None:
    plan = mixture.plan(quantity=quantity, offset=offset, count=lambda: 1, narrowing=automatic(quantity)).components
    grid, unit = grids.anytime(), offset or 1.0
    for smoothing, prior in zip(grid.smoothings, grid.prior, strict=True):
        plain, *controlled = (
            part for part in plan
            if part.smoothing * unit in (pytest.approx(smoothing), pytest.approx(9 * smoothing))
            and (part.control is None) == (part.smoothing * unit == pytest.approx(smoothing))
        )  # fmt: skip
        shares = [part.control.share for part in controlled if isinstance(part.control, WeightControl)]
        assert shares == ([] if smoothing >= 1.0 else [0.5, 1.0])
        assert plain.prior == pytest.approx(prior if smoothing >= 1.0 else 0.68 * prior)
        assert [part.prior for part in controlled] == pytest.approx([0.12 * prior, 0.2 * prior][: len(controlled)])


def test_control_narrows_bounds_where_values_are_high() -> None:
    law = Law((0.25, 0.75), (0.75, 0.25), (0.5, 0.5), (0.0, 1.0), (0.97, 0.93))
    logs = problem(np.random.default_rng(0), 4_000, law)
    new = {"new": np.tile(law.candidate, (4_000, 1))}
    controlled, plain = (sl.evaluate(logs, new, control=control)["new"] for control in ("auto", "none"))
    assert controlled.lower is not None and plain.lower is not None  # noqa: PT018
    assert controlled.upper is not None and plain.upper is not None  # noqa: PT018
    assert controlled.control == "weights"
    assert controlled.upper - controlled.lower < 0.7 * (plain.upper - plain.lower)


def test_auto_uses_control_where_distributions_are_known() -> None:
    logs, new = random_log(1)
    logged = new[np.arange(200), np.asarray(logs.source._columns["action"])]  # type: ignore[attr-defined]
    both = sl.evaluate(logs, {"vector": new, "single": logged})
    assert (both["vector"].control, both["single"].control, both.control) == ("weights", "none", "mixed")
    assert sl.compare(logs, {"vector": new}, over={"single": logged}).control == "none"
    with pytest.raises(sl.UsageError, match="control='weights' needs the whole distributions"):
        sl.evaluate(logs, {"vector": new, "single": logged}, control="weights")
    with pytest.raises(sl.UsageError, match="does not support control"):
        sl.evaluate(logs, {"vector": new}, control="weights", method="normal")
    assert BOUNDS["mixture"].controls == ("weights", "model", "score")


def test_controlled_sums_account_for_a_propensity_above_its_vector() -> None:
    """The vectors understate a propensity by about 1e-6; every round of the controlled sums is corrected for it."""
    logs, new = random_log(2)
    columns = dict(logs.source._columns)  # type: ignore[attr-defined]
    columns["propensity"] = np.asarray(columns["propensity"]) * (1 + 9e-7)
    named = name_policies({"new": new})
    term = Term("new", Value(), mixture.plan(quantity=Value(), offset=0.0, count=lambda: 200, narrowing=by_weights(Value())))
    declared: dict[str, Any] = {
        "reward": "reward",
        "propensity": "propensity",
        "action": "action",
        "logging": "logging",
    }
    exact, shifted = (
        collect(sl.Logs(source, **declared), plan_of(named, (term,)))
        for source in (logs.source._columns, columns)  # type: ignore[attr-defined]
    )
    pairs = zip(exact.of(term).log_sums, shifted.of(term).log_sums, term.needed.components, strict=True)
    for total, lowered, component in pairs:
        if component.control is not None:
            assert lowered == pytest.approx(total - 200 * math.log1p(9e-7), abs=1e-9)


def test_controlled_sums_add_up_and_certificates_verify() -> None:
    logs, new = random_log(3, rounds=500)
    answer = sl.compare(logs, {"new": new})
    assert answer.control == "weights"
    certificate = sl.Certificate.of(answer)
    assert certificate.content["answer"]["control"] == "weights"
    assert sl.verify(certificate, logs, {"new": new}).same
    columns = logs.source._columns  # type: ignore[attr-defined]
    term = Term(
        "new",
        Gain(),
        mixture.plan(quantity=Gain(), offset=1.0, count=lambda: 1, narrowing=by_weights(Gain())),
    )
    total = Sums()
    for part in (slice(0, 123), slice(123, 500)):
        part_logs = sl.Logs({name: np.asarray(column)[part] for name, column in columns.items()},
                      reward="reward", propensity="propensity", action="action", logging="logging")  # fmt: skip
        total = total + collect(part_logs, plan_of(name_policies({"new": new[part]}), (term,)))
    whole = collect(logs, plan_of(name_policies({"new": new}), (term,)))
    assert_same_sums(total, whole)


def test_the_wealth_of_a_controlled_component_by_hand() -> None:
    # pi0 = (1/2, 1/2), pi = (1, 0), action 0 has reward 1: w = 2, and beta = 1 gives k = 8/9, lambda = 9.
    logs = sl.Logs(reward=[1.0], propensity=[0.5], action=[0], logging=[[0.5, 0.5]])
    needed = mixture.plan(
        quantity=Value(), offset=0.0, count=lambda: 1, narrowing=by_weights(Value()), grid=grids.single(1.0)
    )
    term = Term("new", Value(), needed)
    sums = collect(logs, plan_of(name_policies({"new": [[1.0, 0.0]]}), (term,))).of(term)
    # Shares 1/2 and 1 subtract min(1, 8/9) and min(2, 8/9), and add back min(1/2, 4/9) and min(1, 4/9): 4/9 each.
    expected = [math.log1p(2.0)] + [math.log1p(9 * (2 - 8 / 9 + 4 / 9 + 8 / 9))] * 2
    assert sums.log_sums == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [0.5, 0.1, 1e-3, 1e-9])
def test_blends_of_float32_vectors_pass_the_weight_check(alpha: float) -> None:
    """A greedy candidate against a peaked softmax in single precision: no weight falls below 1 - alpha."""
    rng = np.random.default_rng(0)
    scores = 8 * rng.normal(size=(500, 10)).astype(np.float32)
    logging = np.exp(scores - scores.max(axis=1, keepdims=True))
    logging /= logging.sum(axis=1, keepdims=True)
    action = np.array([rng.choice(10, p=row / row.sum()) for row in logging.astype(float)])
    logs = sl.Logs(reward=rng.random(500), propensity=logging[np.arange(500), action], action=action, logging=logging)
    greedy = sl.blend(np.eye(10, dtype=np.float32)[rng.integers(0, 10, 500)], alpha)
    answer = sl.compare(logs, {"new": greedy})
    assert answer.control == ("weights" if alpha >= 1e-6 else "none")
    assert -alpha <= answer.lower <= answer.upper <= alpha


def test_an_improvement_bound_allows_for_mismatch_of_vector_and_propensity() -> None:
    """The vector says (.7, .3), the column and the truth differ from it by a few 1e-6: the bound stays valid."""
    shift, rounds = 0.3 * 9e-6, 200_000
    first = round((0.7 + shift) * rounds)
    action = np.repeat([0, 1], [first, rounds - first])
    logs = sl.Logs(
        reward=(action == 0).astype(float), propensity=np.where(action == 0, 0.7 + shift, 0.3 - shift), action=action,
        logging=np.tile(np.array([0.7, 0.3], dtype=np.float32), (rounds, 1)),
    )  # fmt: skip
    answer = sl.compare(
        logs, {"new": np.tile([0.0, 1.0], (rounds, 1))}, grid=grids.single(8.0), control="weights", delta=0.9
    )
    assert answer.lower <= -(0.7 + shift)


def test_a_candidate_that_sums_to_less_than_one_is_not_rescaled() -> None:
    rounds = 50_000
    action = np.tile([0, 1], rounds // 2)
    logs = sl.Logs(reward=np.ones(rounds), propensity=np.full(rounds, 0.5), action=action, logging=np.full((rounds, 2), 0.5))
    short = np.full((rounds, 2), 0.5 * (1 - 9e-6), dtype=np.float32)
    for control in ("weights", "none"):
        evaluation = sl.evaluate(logs, {"new": short}, grid=grids.single(8.0), sides="lower", control=control, delta=0.9)[
            "new"
        ]
        assert evaluation.lower is not None
        assert evaluation.lower <= 1 - 8e-6


def test_vectors_in_some_batches_only() -> None:
    rounds = ROWS_PER_BATCH + 1_000
    even = np.full((rounds, 2), 0.5)
    columns = {"r": np.ones(rounds), "p": even[:, 0], "a": np.zeros(rounds, dtype=int), "l": list(even)}
    late = {"late": np.arange(rounds) >= ROWS_PER_BATCH}
    logs = sl.Logs({**columns, **late}, reward="r", propensity="p", action="a", logging="l", contexts=["late"])

    def moody(table: Any) -> FloatArray:
        return even[: table.num_rows, 0] if table["late"][0].as_py() else even[: table.num_rows]

    with pytest.raises(sl.UsageError, match="in some batches only"):
        sl.compare(logs, {"new": moody})


def test_invalid_logs_are_rejected_for_the_right_reason() -> None:
    declared: dict[str, Any] = {"reward": "r", "propensity": "p", "action": "a", "logging": "l"}
    empty = sl.Logs({"r": [], "p": [], "a": [], "l": []}, **declared)
    with pytest.raises(sl.LogsError, match="empty"):
        sl.evaluate(empty, {"new": "l"}, control="weights")
    uneven = sl.Logs({"r": [1.0], "p": [0.5], "a": [0], "l": [[0.5, 0.5]], "n": [[0.5, 0.3, 0.2]]}, **declared)
    with pytest.raises(sl.LogsError, match="differ in length"):
        sl.evaluate(uneven, {"new": sl.blend("n", 0.5)}, control="weights")


def test_max_weight_control_corrects_vectors_that_sum_to_less_than_one() -> None:
    rounds = 400_000
    logs = sl.Logs(
        reward=np.zeros(rounds), propensity=np.full(rounds, 0.5), action=np.tile([0, 1], rounds // 2), action_count=2
    )
    short = np.tile(np.array([0.499996, 0.499995], dtype=np.float32), (rounds, 1))
    evaluation = sl.evaluate(logs, {"new": sl.bounded(short, 1.0)}, sides="lower", delta=0.9)["new"]
    assert evaluation.control == "max-weight"
    assert evaluation.lower == 0.0


def test_a_false_max_weight_is_rejected() -> None:
    logs, new = random_log(5)
    logged = new[np.arange(200), np.asarray(logs.source._columns["action"])]  # type: ignore[attr-defined]
    plain = sl.Logs(reward=np.zeros(200), propensity=np.full(200, 0.01))
    with pytest.raises(sl.LogsError, match=r"declared at most 2: .* give a weight above the declared max_weight"):
        sl.evaluate(plain, {"new": sl.bounded(logged, 2.0)})
    # Also if only an action that was not taken breaks it.
    single = sl.Logs(reward=[0.0], propensity=[0.9], action=[0], logging=[[0.9, 0.1]])
    with pytest.raises(sl.LogsError, match="give a weight above the declared max_weight; the first is 5"):
        sl.evaluate(single, {"new": sl.bounded([[0.5, 0.5]], 2.0)})
    with pytest.raises(sl.UsageError, match="at least 1"):
        sl.bounded("p", 0.5)
