"""Reward models: never use future rounds, may be wrong, narrow bounds when right, rejected where they would be invalid."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import surelift as sl
from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch
from surelift.controls.fitted import FIRST
from surelift.logs.batch import TableBatch
from surelift.quantities import Value
from surelift.statistics import Component, Needed, Term, plan_of
from tests.controls.estimators import BAD, Chances, Means
from tests.laws import LAWS, draw_index

DECLARED: dict[str, Any] = {"reward": "r", "propensity": "p", "action": "a", "logging": "l", "time": "t"}


def columns(seed: int, rounds: int, actions: int = 3) -> dict[str, Any]:
    """A log in which rewards depend on contexts and actions."""
    rng = np.random.default_rng(seed)
    context = rng.integers(0, 3, rounds)
    chances = 0.15 + 0.7 * np.random.default_rng(99).random((3, actions))
    logging = rng.dirichlet(np.ones(actions), rounds)
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    reward = (rng.random(rounds) < chances[context, action]).astype(float)
    return {
        "r": reward, "p": logging[np.arange(rounds), action], "a": action, "l": logging, "t": np.arange(rounds),
        "x": context.astype(float), "name": np.array(["red", "green", "blue"])[context], "q": chances[context],
        "new": np.random.default_rng(7).dirichlet(np.ones(actions), 3)[context],
    }  # fmt: skip


def logs_of(table: dict[str, Any], **options: Any) -> sl.Logs:
    listed = {name: list(column) if getattr(column, "ndim", 1) == 2 else column for name, column in table.items()}
    return sl.Logs(listed, **{**DECLARED, "contexts": ["x", "name"], **options})


def predictions(model: Any, table: dict[str, Any], sizes: list[int], **options: Any) -> FloatArray:
    """A model's predictions for every round and action, computed in batches of these sizes."""
    logs = logs_of(table, **options)
    predictor, start = model.start(logs), 0
    parts: list[FloatArray] = []
    (whole,) = logs.batches(model.needs(logs))
    while start < whole.table.num_rows:
        size = sizes[len(parts) % len(sizes)]
        batch = Batch(logs, TableBatch(whole.table.slice(start, size), whole.start + start))
        parts.append(predictor.predictions(batch).values.reshape(batch.size, -1))
        assert batch.fit
        start += size
    return np.concatenate(parts)


@given(
    seed=st.integers(0, 10_000),
    changed=st.integers(0, 299),
    sizes=st.lists(st.integers(1, 120), min_size=1, max_size=3),
)
def test_a_prediction_does_not_depend_on_its_own_or_later_rounds(seed: int, changed: int, sizes: list[int]) -> None:
    table = columns(seed, 300)
    other = {name: np.array(column, copy=True) for name, column in table.items()}
    other["r"][changed:] = 1 - other["r"][changed:]
    other["a"][changed:] = (other["a"][changed:] + 1) % 3
    other["p"][changed:] = other["l"][np.arange(300), other["a"]][changed:]
    model = sl.models.refitted(Means(3))
    first, second = predictions(model, table, [300]), predictions(model, other, sizes)
    assert np.array_equal(first[: changed + 1], second[: changed + 1])


@given(seed=st.integers(0, 10_000), sizes=st.lists(st.integers(1, 150), min_size=1, max_size=4))
def test_batches_do_not_matter(seed: int, sizes: list[int]) -> None:
    table = columns(seed, 300)
    model = sl.models.refitted(Means(3))
    assert np.array_equal(predictions(model, table, [300]), predictions(model, table, sizes))


def test_it_refits_at_doubling_sizes() -> None:
    table = columns(0, 600)
    predicted = predictions(sl.models.refitted(Means(3)), table, [600])
    steps = np.flatnonzero((predicted[1:] != predicted[:-1]).any(axis=1)) + 1
    assert FIRST == 64
    assert steps.tolist() == [64, 128, 256, 512]
    assert (predicted[:64] == 0.5).all()
    taken = np.eye(3)[table["a"][:256]]
    assert predicted[300] == pytest.approx((table["r"][:256] @ taken + 0.5) / (taken.sum(axis=0) + 1))


def test_simultaneous_rounds_share_a_model() -> None:
    table = columns(0, 300)
    table["t"] = np.repeat([1, 2, 3], 100)
    predicted = predictions(sl.models.refitted(Means(3)), table, [300])
    # A refit is due at 64, and happens when timestamp 2 begins, on the 100 rounds of timestamp 1; then at 200.
    steps = np.flatnonzero((predicted[1:] != predicted[:-1]).any(axis=1)) + 1
    assert steps.tolist() == [100, 200]
    first = np.eye(3)[table["a"][:100]]
    assert predicted[100] == pytest.approx((table["r"][:100] @ first + 0.5) / (first.sum(axis=0) + 1))
    table["t"] = np.zeros(300)
    assert (predictions(sl.models.refitted(Means(3)), table, [300]) == 0.5).all()


@given(seed=st.integers(0, 10_000), size=st.integers(1, 90), sizes=st.lists(st.integers(1, 150), min_size=1, max_size=4))
def test_the_order_within_a_timestamp_does_not_matter(seed: int, size: int, sizes: list[int]) -> None:
    """An export may sort a day's rounds by reward: no model may learn from that order."""
    table = columns(seed, 300)
    table["t"] = np.arange(300) // size
    order = np.lexsort([table["r"], table["t"]])
    sorted_table = {name: column[order] for name, column in table.items()}
    model = sl.models.refitted(Means(3))
    first, second = predictions(model, table, [300]), predictions(model, sorted_table, sizes)
    assert first[order] == pytest.approx(second, abs=1e-12)


@pytest.mark.parametrize("kind", ["numbers", "text", "timestamps"])
def test_times_must_ascend(kind: str) -> None:
    table = columns(0, 200)
    times: Any = np.arange(200)
    if kind == "text":
        times = np.array([f"2024-01-01T00:{i // 60:02}:{i % 60:02}" for i in range(200)])
    if kind == "timestamps":
        times = np.datetime64("2024-01-01", "s") + np.arange(200)
    table["t"] = times.copy()
    assert sl.evaluate(logs_of(table), {"new": "new"}, control=Means(3))["new"].control == "model"
    table["t"][[150, 151]] = table["t"][[151, 150]]
    with pytest.raises(
        sl.LogsError, match=r"time 't': 1 of 200 values are earlier than the previous round; the first is .* in row 151"
    ):
        sl.evaluate(logs_of(table), {"new": "new"}, control=Means(3))
    with pytest.raises(sl.UsageError, match="name the column of decision times in time="):
        sl.evaluate(logs_of(table, time=None), {"new": "new"}, control=Means(3))


def test_cross_fitting_cannot_certify() -> None:
    logs = logs_of(columns(0, 100))
    model = sl.models.cross_fitted(Means(3))
    for ask in (sl.evaluate, sl.compare, sl.select):
        with pytest.raises(sl.UsageError, match="never a certificate"):
            ask(logs, {"new": "new"}, control=model)
    with pytest.raises(sl.UsageError, match="never a certificate"):
        plan_of({}, (Term("new", Value(), Needed(components=(Component(1.0, 0.0, 1.0),))),), model)
    assert 0 < sl.estimate(logs, {"new": "new"}, estimator="dr", model=model)["new"].estimate < 1


def test_why_cross_fitted_factors_do_not_multiply() -> None:
    """Two rounds in two folds, each with a model fitted on the other: the product of fair factors has mean above 1."""
    # w = 2 or 0, reward 0 or 1, equally likely; factor 1 + (w r - w q + q - 1/2)/2, with q = 1 if the other's w was 2.
    mean = 0.0
    outcomes = [(w, r) for w in (0.0, 2.0) for r in (0.0, 1.0)]
    for w1, r1 in outcomes:
        for w2, r2 in outcomes:
            first, second = (1 + 0.5 * (w * (r - q) + q - 0.5) for w, r, q in ((w1, r1, w2 / 2), (w2, r2, w1 / 2)))
            mean += first * second / 16
    assert mean == pytest.approx(1.0625)


def adaptive(rng: np.random.Generator, rounds: int) -> tuple[sl.Logs, float, float]:
    """Production learns online; the values of candidate and production over these rounds."""
    means = np.array([0.3, 0.6, 0.5])
    pulls, wins = np.ones(3), np.ones(3)
    logging, action, reward = np.empty((rounds, 3)), np.empty(rounds, dtype=int), np.empty(rounds)
    for i in range(rounds):
        scores = np.exp(6 * wins / (pulls + 1))
        logging[i] = 0.9 * scores / scores.sum() + 0.1 / 3
        logging[i] /= logging[i].sum()
        action[i] = rng.choice(3, p=logging[i])
        reward[i] = rng.random() < means[action[i]]
        pulls[action[i]] += 1
        wins[action[i]] += reward[i]
    logs = sl.Logs(
        reward=reward,
        propensity=logging[np.arange(rounds), action],
        action=action,
        logging=logging,
        time=np.arange(rounds),
    )
    return logs, float(means.mean()), float((logging @ means).mean())


@pytest.mark.parametrize("kind", BAD)
def test_coverage_under_adaptive_logging(kind: str) -> None:
    rng, runs, rounds, delta = np.random.default_rng(11), 60, 200, 0.2
    missed = np.zeros(4, dtype=int)
    for _ in range(runs):
        logs, value, production = adaptive(rng, rounds)
        model = BAD[kind](3)
        lower = sl.evaluate(logs, {"u": sl.uniform()}, delta=delta, sides="lower", control=model)["u"].lower
        upper = sl.evaluate(logs, {"u": sl.uniform()}, delta=delta, sides="upper", control=model)["u"].upper
        answer = sl.compare(logs, {"u": sl.uniform()}, delta=delta, control=model)
        assert lower is not None
        assert upper is not None
        gain = value - production
        missed += np.array([lower > value, upper < value, answer.lower > gain, answer.upper < gain])
    assert missed.max() <= stats.binom.isf(1e-6, runs, delta), missed


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("kind", BAD)
def test_coverage_on_every_law(name: str, kind: str) -> None:
    """Includes a law without full support; the model learns online, or learns the wrong thing."""
    law, rounds, runs, delta = LAWS[name], 150, 40, 0.2
    rng, actions = np.random.default_rng(3), len(law.logging)
    logging = np.tile(law.logging, (rounds, 1))
    new, now, other = law.value(law.candidate), law.value(law.logging), law.value(law.rival)
    policies = {"new": np.tile(law.candidate, (rounds, 1)), "rival": np.tile(law.rival, (rounds, 1))}
    missed = np.zeros(6, dtype=int)
    for _ in range(runs):
        action: IntArray = draw_index(rng, list(law.logging), (rounds,))
        high = rng.random(rounds) < np.array(law.high_chance)[action]
        logs = sl.Logs(
            reward=np.where(high, law.reward_levels[1], law.reward_levels[0]), propensity=logging[0, action],
            action=action, logging=logging, time=np.arange(rounds),
        )  # fmt: skip
        control = BAD[kind](actions)
        value = sl.evaluate(logs, {"new": policies["new"]}, delta=2 * delta, control=control)["new"]
        gain = sl.compare(logs, {"new": policies["new"]}, delta=delta, control=control)
        difference = sl.compare(
            logs, {"new": policies["new"]}, over={"rival": policies["rival"]}, delta=delta, control=control
        )
        assert value.lower is not None
        assert value.upper is not None
        missed += np.array(
            [
                value.lower > new, value.upper < new, gain.lower > new - now, gain.upper < new - now,
                difference.lower > new - other, difference.upper < new - other,
            ]
        )  # fmt: skip
    assert missed.max() <= stats.binom.isf(1e-6, runs, delta), missed


def test_a_good_model_narrows_and_a_useless_one_costs_half_of_delta() -> None:
    rng, rounds = np.random.default_rng(0), 3_000
    table = columns(1, rounds)
    best = rng.integers(0, 3, rounds)
    table["r"] = (table["a"] == best).astype(float)
    table["q"] = np.eye(3)[best]
    table["new"] = 0.7 * np.eye(3)[best] + 0.1
    logs = logs_of(table)

    def width(control: Any, delta: float = 0.05) -> float:
        evaluation = sl.evaluate(logs, {"new": "new"}, control=control, delta=delta)["new"]
        assert evaluation.lower is not None
        assert evaluation.upper is not None
        return evaluation.upper - evaluation.lower

    assert width(sl.models.given("q")) < 0.9 * width("weights")
    assert width(sl.models.given(np.full((rounds, 3), 0.9))) <= width("none", delta=0.025) + 1e-12


def test_the_default_model_learns_from_numbers_and_text() -> None:
    table = columns(4, 4_000)
    logs = logs_of(table)
    model, plain = (sl.evaluate(logs, {"new": "new"}, control=control)["new"] for control in ("model", "weights"))
    assert model.control == "model"
    assert "the rounds are in the order of their decisions" in model.assumptions
    assert model.upper is not None and model.lower is not None and plain.upper is not None  # noqa: PT018
    predicted = predictions(sl.models.refitted(), table, [1_000])
    assert np.abs(predicted[2_100:] - table["q"][2_100:]).mean() < 0.1
    text_only = predictions(sl.models.refitted(), table, [4_000], contexts=["name"])
    assert np.abs(text_only[2_100:] - table["q"][2_100:]).mean() < 0.1


def test_contexts_missing_at_first() -> None:
    table = columns(4, 400)
    table["x"] = np.where(np.arange(400) < 150, np.nan, table["x"])
    predicted = predictions(sl.models.refitted(), table, [400], contexts=["x"])
    assert np.isfinite(predicted).all()


def test_a_context_type_does_not_depend_on_later_rounds(tmp_path: Path) -> None:
    """In a CSV, a column's first entry decides whether it is numeric or text."""
    table = columns(4, 200)
    lines = [
        f"{r},{p},{a},{x:g},{t}" for r, p, a, x, t in zip(*(table[name] for name in ("r", "p", "a", "x", "t")), strict=True)
    ]
    broken = lines[-1].split(",")
    broken[3] = "zzz"
    (tmp_path / "log.csv").write_text("\n".join(["r,p,a,x,t", *lines[:-1], ",".join(broken)]))
    logs = sl.Logs(tmp_path / "log.csv", reward="r", propensity="p", action="a", action_count=3, contexts=["x"], time="t")
    with pytest.raises(
        sl.LogsError, match="context 'x' of the reward model: 1 of 200 values are not numbers; the first is 'zzz'"
    ):
        sl.estimate(logs, {"u": sl.uniform()}, estimator="dm", model=sl.models.refitted(Means(3)))


def test_a_classifier_and_costs() -> None:
    table = columns(5, 500)
    by_classifier = predictions(sl.models.refitted(Chances(3)), table, [500])
    assert by_classifier == pytest.approx(predictions(sl.models.refitted(Means(3)), table, [500]))
    cost = logs_of({**table, "r": 10 * table["r"]}, reward=None, cost="r", reward_range=(0, 10))
    reward = logs_of({**table, "r": 1 - table["r"]})
    by_cost = sl.compare(cost, {"new": "new"}, control=Means(3))
    by_reward = sl.compare(reward, {"new": "new"}, control=Means(3))
    assert by_cost.lower == pytest.approx(10 * by_reward.lower)
    paid = sl.evaluate(cost, {"new": "new"}, control=sl.models.given(10 * table["q"]))["new"]
    earned = sl.evaluate(reward, {"new": "new"}, control=sl.models.given(1 - table["q"]))["new"]
    assert earned.lower is not None
    assert paid.upper == pytest.approx(10 - 10 * earned.lower)


def test_a_model_fitted_on_other_rounds() -> None:
    judged, held_out = columns(6, 400), columns(7, 400)
    model = sl.models.fitted_on(logs_of(held_out), Means(3))
    taken = np.eye(3)[held_out["a"]]
    expected = (held_out["r"] @ taken + 0.5) / (taken.sum(axis=0) + 1)
    assert predictions(model, judged, [150]) == pytest.approx(np.tile(expected, (400, 1)))
    logs = logs_of(judged)
    answer = sl.compare(logs, {"new": "new"}, control=model)
    certificate = sl.Certificate.of(answer)
    with pytest.raises(sl.UsageError, match="pass it in control="):
        sl.verify(certificate, logs)
    assert sl.verify(certificate, logs, control=model).same
    for same in (logs, logs_of(judged)):  # the same log, and the same rounds opened again
        with pytest.raises(sl.UsageError, match="fitted on the rounds it predicts"):
            sl.compare(logs, {"new": "new"}, control=sl.models.fitted_on(same))
    with pytest.raises(sl.UsageError, match="uses no reward model; remove control="):
        sl.verify(sl.Certificate.of(sl.compare(logs, {"new": "new"})), logs, control=model)
    other = logs_of(held_out, reward_range=(0, 2))
    with pytest.raises(sl.UsageError, match="another reward range"):
        sl.compare(logs, {"new": "new"}, control=sl.models.fitted_on(other))


@pytest.mark.parametrize("control", ["model", sl.models.given("q")], ids=["default", "given"])
def test_certificates_with_a_model_verify(control: Any) -> None:
    logs = logs_of(columns(8, 300))
    answer = sl.compare(logs, {"new": "new"}, control=control)
    assert answer.control == "model"
    assert sl.verify(sl.Certificate.of(answer), logs).same


def test_invalid_models_are_rejected() -> None:
    table = columns(9, 100)
    logs = logs_of(table)
    with pytest.raises(sl.UsageError, match="no control 7"):
        sl.compare(logs, {"new": "new"}, control=7)
    with pytest.raises(sl.UsageError, match="not the class"):
        sl.compare(logs, {"new": "new"}, control=Means)
    with pytest.raises(sl.UsageError, match="does not support control"):
        sl.compare(logs, {"new": "new"}, control="model", method="logarithmic-smoothing")
    with pytest.raises(sl.UsageError, match="must predict a reward for every action"):
        sl.compare(logs, {"new": "new"}, control=sl.models.given("x"))
    with pytest.raises(sl.UsageError, match="needs the whole distributions"):
        sl.compare(logs, {"new": "p"}, control=sl.models.given("q"))
    with pytest.raises(sl.LogsError, match="differ in length"):
        sl.compare(logs, {"new": "new"}, control=sl.models.given(np.ones((100, 4))))
    holes = table["q"].copy()
    holes[3, 1] = np.nan
    with pytest.raises(sl.LogsError, match="the reward model: 1 of 100 values are vectors with an entry"):
        sl.compare(logs, {"new": "new"}, control=sl.models.given(holes))

    class Broken(Means):
        def fit(self, features: FloatArray, reward: FloatArray) -> "Broken":
            raise RuntimeError("out of order")

    with pytest.raises(sl.UsageError, match="copied and fitted, with 64 training rounds: out of order"):
        sl.compare(logs, {"new": "new"}, control=Broken(3))

    class Misshapen(Means):
        def predict(self, features: FloatArray) -> FloatArray:
            return np.zeros((len(features), 2))

    class Unclassified(Means):
        def predict_proba(self, features: FloatArray) -> FloatArray:
            return np.full((len(features), 2), 0.5)

    class Uncopied(Means):
        def __deepcopy__(self, memo: Any) -> "Uncopied":
            raise TypeError("one of a kind")

    for estimator, says in ((Misshapen, "be evaluated"), (Unclassified, "classes_"), (Uncopied, "one of a kind")):
        with pytest.raises(sl.UsageError, match=says):
            sl.compare(logs, {"new": "new"}, control=estimator(3))
    ragged = {**table, "l": [[0.5, 0.5] if i else [0.5, 0.3, 0.2] for i in range(100)], "p": np.full(100, 0.5),
              "a": np.zeros(100, dtype=int)}  # fmt: skip
    del ragged["new"], ragged["q"]
    with pytest.raises(sl.LogsError, match="action counts that differ from the first round"):
        sl.evaluate(logs_of(ragged), {"u": sl.uniform()}, control=Means(3))


def test_without_scikit_learn_the_default_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sklearn.ensemble", "threadpoolctl"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(sl.UsageError, match=r"needs scikit-learn, which is not installed\. Run pip install"):
        sl.estimate(sl.datasets.shop(500).logs(), "p_better", estimator="dr")
