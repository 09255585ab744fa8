"""A judge scores every round and a few are labelled: true at delta whatever the judge is worth, in every verb."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surelift as sl
from surelift.arrays import FloatArray
from surelift.decisions.partial import partial_sums
from surelift.engines import collect
from surelift.learning.data.rounds import require_learnable
from surelift.policies.resolve import name_policies
from surelift.questions.claims import Place
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import choose_method
from surelift.questions.value import ValueQuestion
from surelift.results.provenance import Provenance
from surelift.statistics.splits import Segment

ROLES: dict[str, Any] = {"reward": "label", "propensity": "p", "score": "judge", "label_probability": "kappa"}
LOGS, ROUNDS = 250, 300
# Production tosses a coin. The candidate takes action 1 in 80% of the rounds, which earns no more than action 0.
VALUE = 0.4


def judged(rng: np.random.Generator, rounds: int, judge: str, earns: tuple[float, float] = (VALUE, VALUE)) -> Any:
    action = rng.random(rounds) < 0.5
    reward = (rng.random(rounds) < np.where(action, earns[1], earns[0])).astype(float)
    score = {
        "good": np.clip(0.1 + 0.8 * reward + rng.normal(0.0, 0.1, rounds), 0.0, 1.0),
        "opposite": np.clip(0.9 - 0.8 * reward + rng.normal(0.0, 0.1, rounds), 0.0, 1.0),
        "useless": rng.random(rounds),
        "partial to the candidate": np.clip(0.2 + 0.4 * reward + 0.3 * action, 0.0, 1.0),
    }[judge]
    # Labels are drawn where the judge is in doubt.
    kappa = np.where(np.abs(score - 0.5) < 0.3, 0.3, 0.1)
    label = np.where(rng.random(rounds) < kappa, reward, np.nan)
    return {
        "label": label, "p": np.full(rounds, 0.5), "judge": score, "kappa": kappa, "truth": reward,
        "new": np.where(action, 0.8, 0.2), "rival": np.where(action, 0.4, 0.6),
        "phone": np.where(rng.random(rounds) < 0.5, "a", "b"),
    }  # fmt: skip


def intervals(table: Any, question: Any, declared: dict[str, Any], method: Any = choose_method()) -> FloatArray:
    """(logs, 2): the bounds of many logs at delta 5% each, read in one pass as segments of one."""
    logs, by = sl.Logs({**table, "log": np.repeat(np.arange(LOGS), ROUNDS)}, **declared), Segment(("log",))
    asked = question(
        declaration=logs.declaration, policies=name_policies({"new": "new"}), by=by, known=frozenset(), method=method
    )
    sums = collect(logs, asked.plan())
    place, found = Place(0.05, Provenance({}, sums.units, sums.fingerprint)), []
    for part in sums.parts(by).values():
        try:
            answer = asked.found(part, place)
        except sl.LogsError:
            found.append((math.inf, -math.inf))  # the bounds contradict each other: both are counted as wrong
            continue
        one = answer if isinstance(answer, sl.results.Improvement) else answer["new"]
        found.append((one.lower, one.upper))
    return np.array(found)


@pytest.mark.parametrize("judge", ["good", "opposite", "useless", "partial to the candidate"])
def test_coverage(judge: str) -> None:
    table = judged(np.random.default_rng(7), LOGS * ROUNDS, judge)
    most = stats.binom.isf(1e-6, LOGS, 0.05)
    for question, truth, method in (
        (ImprovementQuestion, 0.0, choose_method()),
        (ImprovementQuestion, 0.0, choose_method("blocks", grid="anytime")),
        (ValueQuestion, VALUE, choose_method()),
        (ValueQuestion, VALUE, choose_method("moments", smoothing=0.1, clip=3.0)),
    ):
        bounds = intervals(table, question, ROLES, method)
        assert (bounds[:, 0] > truth).sum() <= most
        assert (bounds[:, 1] < truth).sum() <= most


def test_a_reward_filled_in_by_the_judge_certifies_what_is_not_there() -> None:
    """The judge prefers what the candidate does, and the candidate is no better."""
    table = judged(np.random.default_rng(8), LOGS * ROUNDS, "partial to the candidate")
    filled = {**table, "label": np.where(np.isnan(table["label"]), table["judge"], table["label"])}
    bounds = intervals(filled, ImprovementQuestion, {"reward": "label", "propensity": "p"})
    assert (bounds[:, 0] > 0.0).mean() > 0.2


def test_the_labelled_rounds_alone_certify_what_is_not_there() -> None:
    """As many labels of either action, drawn more often where the candidate's action succeeds and the other fails."""
    rng, rounds = np.random.default_rng(9), LOGS * ROUNDS
    table = judged(rng, rounds, "useless")
    favours = np.where(table["truth"] > 0, table["new"] > 0.5, table["new"] < 0.5)
    kappa = np.where(favours, np.where(table["truth"] > 0, 0.4, 0.3), 0.1)
    table |= {"kappa": kappa, "label": np.where(rng.random(rounds) < kappa, table["truth"], np.nan)}
    drawn = ~np.isnan(table["label"])
    alone = sl.Logs({name: table[name][drawn] for name in ("label", "p", "new")}, reward="label", propensity="p")
    assert sl.compare(alone, "new").lower > 0.1
    bounds = intervals(table, ImprovementQuestion, ROLES)
    assert (bounds[:, 0] > 0.0).sum() <= stats.binom.isf(1e-6, LOGS, 0.05)


def test_labels_that_hide_their_choice_are_not_covered() -> None:
    """Drawn by the reward, with the share of labels for a probability: the promise rests on the stated probability."""
    rng = np.random.default_rng(10)
    table = judged(rng, 20_000, "useless")
    drawn = rng.random(20_000) < np.where(table["truth"] > 0, 0.25, 0.05)
    table |= {"label": np.where(drawn, table["truth"], np.nan), "kappa": np.full(20_000, drawn.mean())}
    lower = sl.evaluate(sl.Logs(table, **ROLES), {"new": "new"})["new"].lower
    assert lower is not None
    assert lower > VALUE
    stated = {**table, "kappa": np.where(table["truth"] > 0, 0.25, 0.05)}
    assert sl.evaluate(sl.Logs(stated, **ROLES), {"new": "new"})["new"].lower < VALUE  # type: ignore[operator]


def table_of(judge: str = "good", rounds: int = 12_000, seed: int = 3) -> Any:
    return judged(np.random.default_rng(seed), rounds, judge, earns=(0.3, 0.5))


def test_labels_that_were_not_drawn_as_stated_are_refused() -> None:
    rng, table = np.random.default_rng(4), table_of()
    lost = {**table, "label": np.where(rng.random(12_000) < 0.4, np.nan, table["label"])}
    with pytest.raises(sl.LogsError, match=r"labels were not drawn with the stated probability: [\d,]+ of 12,000"):
        sl.compare(sl.Logs(lost, **ROLES), "new")
    # As many as stated, but where the judge is sure.
    chosen = {**table, "kappa": np.full(12_000, 0.1)}
    chosen["label"] = np.where(rng.random(12_000) < np.where(table["judge"] > 0.5, 0.2, 0.034), table["truth"], np.nan)
    with pytest.raises(sl.LogsError, match="or the score chose them"):
        sl.evaluate(sl.Logs(chosen, **ROLES), {"new": "new"})
    health = sl.check(sl.Logs(lost, **ROLES))
    assert [finding.subject for finding in health.findings if finding.severity == "refuse"] == ["label_probability"]
    assert not sl.gate(sl.Logs(lost, **ROLES), "new").certified


def test_a_good_judge_narrows_and_a_useless_one_costs_little() -> None:
    lower: dict[Any, float] = {}
    for judge in ("good", "useless"):
        logs = sl.Logs(table_of(judge), **ROLES)
        lower[judge] = sl.compare(logs, "new").lower
        lower[judge, "labels"] = sl.compare(logs, "new", control="none").lower
    full = sl.compare(sl.Logs(table_of(), reward="truth", propensity="p"), "new").lower
    assert lower["good", "labels"] < lower["good"] < full < 0.06
    assert full - lower["good"] < 0.5 * (full - lower["good", "labels"])
    assert lower["useless"] > lower["useless", "labels"] - 0.003


def test_every_verb() -> None:
    table = table_of()
    logs = sl.Logs(table, **ROLES)
    answer = sl.compare(logs, "new")
    assert (answer.control, answer.certified) == ("score", True)
    assert any("coin of its own" in text for text in answer.assumptions)
    assert any("how good it is does not matter" in text for text in answer.assumptions)
    assert answer.lower < answer.estimate < answer.upper
    assert sl.compare(logs, "new", over="rival").certified
    assert sl.evaluate(logs, {"new": "new"})["new"].control == "score"
    assert sl.select(logs, ["new", "rival"]).chosen == "new"
    rails = [sl.Outcome("truth", at_most_worse=0.1)]
    gate = sl.gate(logs, "new", guardrails=rails)
    assert gate.certified
    assert gate.guardrails["truth"].control == "none"
    alone = sl.compare(sl.Logs(table, reward="truth", propensity="p"), "new", delta=0.025)
    assert gate.guardrails["truth"].lower == pytest.approx(alone.lower, abs=1e-12)
    assert sl.report(logs, ["new", "rival"]).selection.chosen == "new"  # type: ignore[union-attr]
    assert sl.power(logs, "new").certified
    assert set(sl.compare(logs, "new", by="phone", segments=["a", "b"])) == {"a", "b"}
    health = sl.check(logs, "new")
    assert health.ok
    assert health.mean_reward == pytest.approx(0.4, abs=0.05)
    assert {round_.reward for round_ in health.weights["new"].heaviest_rounds} <= {None, 0.0, 1.0}


def test_a_blend_is_certified_in_proportion() -> None:
    logs = sl.Logs(table_of(), **ROLES)
    whole, tenth = sl.compare(logs, "new"), sl.compare(logs, {"some": sl.blend("new", 0.1)})
    assert tenth.lower == pytest.approx(0.1 * whole.lower, rel=1e-9)


def test_costs_and_other_ranges_scale_the_score_too() -> None:
    table = table_of()
    plain = sl.compare(sl.Logs(table, **ROLES), "new")
    cost = {**table, "label": 80.0 - 60.0 * table["label"], "judge": 80.0 - 60.0 * table["judge"]}
    roles = {**ROLES, "reward": None, "cost": "label", "reward_range": (20.0, 80.0)}
    saved = sl.compare(sl.Logs(cost, **roles), "new")
    assert saved.lower == pytest.approx(60.0 * plain.lower)


def test_parts_monitor_and_certificate(tmp_path: Path) -> None:
    table = table_of()
    logs, parts = sl.Logs(table, **ROLES), [slice(0, 5_000), slice(5_000, 12_000)]
    halves = [{name: column[part] for name, column in table.items()} for part in parts]
    answer, question = sl.compare(logs, "new"), sl.Question.of("compare", ROLES, {"new": "new"})
    assert sl.Question.from_dict(question.to_dict()) == question
    total = partial_sums(halves[:1], question) + partial_sums(halves[1:], question)
    assert question.answer(total).lower == pytest.approx(answer.lower, abs=1e-12)
    watch = sl.Monitor({"new": "new"}, **ROLES)
    for half in halves:
        watch.update(half)
    seen = watch.answer()
    assert isinstance(seen, sl.results.Improvement)
    assert seen.lower == pytest.approx(answer.lower, abs=1e-12)
    sl.Certificate.of(answer).save(tmp_path / "c.json")
    assert sl.verify(tmp_path / "c.json", logs).same
    table["judge"][0] = 0.5
    assert not sl.verify(tmp_path / "c.json", sl.Logs(table, **ROLES)).same


def test_the_fast_path_and_databases_are_not_taken() -> None:
    import ibis
    import pyarrow as pa

    table = table_of(rounds=500)
    frame = pa.table({name: pa.array(column, from_pandas=True) for name, column in table.items()})
    here, everywhere = (
        sl.Logs(frame, **ROLES),
        sl.Logs({**table, "kappa": np.ones(500), "label": table["truth"]}, **ROLES),
    )
    assert sl.compare(here, "new", control="none").lower == pytest.approx(
        sl.compare(sl.Logs(table, **ROLES), "new", control="none").lower, abs=1e-15
    )
    # All labelled, and no control: the terms of a plain log, which the fast path adds up.
    whole = sl.compare(sl.Logs(table, reward="truth", propensity="p"), "new")
    assert sl.compare(everywhere, "new", control="none").lower == pytest.approx(whole.lower, abs=1e-12)
    there = sl.Logs(ibis.duckdb.connect().create_table("logs", frame), **ROLES)
    with pytest.raises(sl.UsageError, match=r"database and labels \(score=\) do not go together"):
        sl.compare(there, "new")


@pytest.mark.parametrize(
    "ask, says",
    [
        (lambda logs: sl.evaluate(logs, "new", method="efron-stein"), "it redraws rounds that carry their reward"),
        (lambda logs: sl.compare(logs, "new", control="weights"), r"the control of these logs is their score"),
        (lambda logs: sl.compare(logs, "new", control="model"), r"the control of these logs is their score"),
        (lambda logs: sl.estimate(logs, "new"), "need the reward of every round"),
        (lambda logs: sl.simulate(logs, "new"), r"simulation and labels \(score=\) do not go together"),
        (lambda logs: sl.compare(logs, "new", by="judge"), "may depend on the action or its reward"),
        (lambda logs: sl.compare(logs, lambda batch: batch["judge"]), "judge"),
    ],
)
def test_what_needs_every_reward_is_refused(ask: Any, says: str) -> None:
    with pytest.raises((sl.UsageError, sl.LogsError), match=says):
        ask(sl.Logs(table_of(rounds=300), **ROLES))


def test_learning_is_refused() -> None:
    table = {**table_of(rounds=300), "x": np.zeros(300), "a": np.zeros(300, dtype=int)}
    with pytest.raises(sl.UsageError, match=r"learning and labels \(score=\)"):
        require_learnable(sl.Logs(table, **ROLES, contexts=["x"], action="a", action_count=2))


def test_the_labelled_reward_is_no_outcome() -> None:
    logs = sl.Logs(judged(np.random.default_rng(0), 50, "good"), **ROLES)
    with pytest.raises(sl.UsageError, match="'label' is known of the labelled rounds alone, and cannot be an outcome"):
        sl.compare(logs, "new", outcomes={"quality": sl.Outcome("label"), "other": sl.Outcome("truth")})


@pytest.mark.parametrize("by", [None, "phone"])
def test_how_many_are_labelled_is_said(by: str | None) -> None:
    table = judged(np.random.default_rng(0), 300, "good")
    labelled = np.isfinite(table["label"]).sum()
    assert f"{labelled} of 300 rounds carry their reward." in str(sl.evaluate(sl.Logs(table, **ROLES), "new", by=by))


def test_a_log_of_nothing_but_faults_is_told() -> None:
    table = {**judged(np.random.default_rng(0), 3, "good"), "p": np.zeros(3)}
    assert not sl.check(sl.Logs(table, **ROLES), "new").ok
