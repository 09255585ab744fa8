"""Propensities by Monte Carlo: THEORY's Theorem 5 by exact sums, what breaks it, and declarations that are refused."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surelift as sl
from surelift import grids
from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.policies.resolve import as_policy
from surelift.quantities import Decline, Difference, Gain, Quantity, Shortfall, Value
from surelift.statistics.plan import Plan
from tests.laws import LAWS, Law
from tests.term_sums import offset_of

DELTA, LOGS = 0.05, 200
ALLOWED = int(stats.binom.isf(1e-6, LOGS, DELTA))
"""A bound that holds misses more often than this once in a million."""


def batch_of(logs: sl.Logs, policies: dict[str, Any]) -> Batch:
    plan = Plan({name: as_policy(form) for name, form in policies.items()}, ())
    (table,) = logs.batches(plan.needs(logs))
    found = Batch(logs, table, plan.policies).read()
    assert found.fit
    return found


def every_outcome(law: Law, m: int, *, played: bool, own: int) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Each reward, count of production's draws and count of the candidate's own, with its probability."""
    rows = []
    fresh = m - played
    for q, p, s, high in zip(law.logging, law.candidate, law.rival, law.high_chance, strict=True):
        if q == 0.0:
            continue
        levels = zip(law.reward_levels, (1 - high, high), strict=True)
        for (reward, chance), k, j in product(levels, range(fresh + 1), range(own + 1)):
            drawn = stats.binom.pmf(k, fresh, q) * stats.binom.pmf(j, own, p)
            rows.append((q * chance * drawn, reward, k + played, p, s, j))
    probability, *columns = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    return probability, dict(zip(("r", "k", "p", "s", "j"), columns, strict=True))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("m", "played", "said"), [(1, False, False), (4, False, False), (1, True, True), (5, True, True), (5, True, False)]
)
def test_every_factor_has_a_mean_of_at_most_one(law: str, m: int, played: bool, said: bool) -> None:
    """Theorem 5: all plain bounds, a simulated candidate among them, and the floor of a blend.

    (k + 1)/(m + 1) holds also where the played draw is among the m and nobody says so.
    """
    laws = LAWS[law]
    chance, columns = every_outcome(laws, m, played=played, own=3)
    assert chance.sum() == pytest.approx(1.0, abs=1e-12)
    logs = sl.Logs(columns, reward="r", propensity=sl.wins("k", m, includes_played=said))
    policies = {"new": "p", "rival": "s", "drawn": sl.wins("j", 3), "some": sl.blend(sl.wins("j", 3), 0.1)}
    found = batch_of(logs, policies)
    built = {name: as_policy(form) for name, form in policies.items()}
    value, rival, base = (laws.value(policy) for policy in (laws.candidate, laws.rival, laws.logging))
    truths: dict[str, dict[Quantity, float]] = {
        name: {
            Value(): share * value + (1 - share) * base,
            Shortfall(): 1 - share * value - (1 - share) * base,
            Gain(): share * (value - base),
            Decline(): share * (base - value),
        }
        for name, share in (("new", 1.0), ("drawn", 1.0), ("some", 0.1))
    }
    truths["drawn"][Difference("rival")] = value - rival
    for name, quantities in truths.items():
        for quantity, truth in quantities.items():
            terms, offset = found.terms(quantity.pieces(name)), offset_of(name, quantity, built)
            assert terms.min() >= -offset - 1e-12
            assert chance @ terms <= truth + 1e-12
            for smoothing in grids.anytime().smoothings:
                factor = (1 + smoothing * (terms + offset)) / (1 + smoothing * (truth + offset))
                assert chance @ factor <= 1 + 1e-12
    assert offset_of("some", Gain(), built) == 0.1
    assert offset_of("drawn", Gain(), built) == 1.0


@pytest.mark.parametrize("q", [0.003, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("m", [1, 2, 7, 60])
def test_the_mean_of_one_over_the_propensity(q: float, m: int) -> None:
    """(1 - (1 - q)^(m + 1))/q for m fresh draws, and with m - 1 others besides the played one the same of m - 1."""
    for played in (False, True):
        k = np.arange(played, m + 1)
        logs = sl.Logs({"r": k * 0.0, "k": k}, reward="r", propensity=sl.wins("k", m, includes_played=played))
        inverse = 1.0 / batch_of(logs, {}).propensity
        mean = stats.binom.pmf(k - played, m - played, q) @ inverse
        assert mean == pytest.approx((1 - (1 - q) ** (m + 1 - played)) / q, rel=1e-12)


def test_what_is_false_by_exact_sums() -> None:
    """The figures of THEORY, section 11: each tempting version overstates what a policy earns."""
    k = np.arange(6)
    floored = stats.binom.pmf(k, 5, 0.3) @ (5 / np.maximum(k, 1)) * 0.3
    assert floored == pytest.approx(1.10, abs=0.005)
    k = np.arange(51, 102)
    majority = stats.binom.pmf(k, 101, 0.6) @ (101 / k)
    assert majority == pytest.approx(1.63, abs=0.005)
    assert stats.binom.pmf(k, 101, 0.6) @ (102 / (k + 1)) > 1.6
    k = np.arange(11)
    weight = 11 / (k + 1)
    controlled = 1.0 - 0.001 * stats.binom.pmf(k, 10, 0.001) @ weight
    assert controlled == pytest.approx(0.99, abs=0.005), "w r - (w - 1) of a policy that earns nothing"


def lower(columns: dict[str, Any], propensity: Any) -> float:
    bounds = sl.evaluate(sl.Logs(columns, reward="r", propensity=propensity), {"new": "p"}, sides="lower", delta=DELTA)
    found = bounds["new"].lower
    assert found is not None
    return found


def test_coverage_where_a_floor_fails() -> None:
    """q = 0.3, m = 5, a value of 0.9: max(k, 1)/m misses a quarter of the time, (k + 1)/(m + 1) never did."""
    rng = np.random.default_rng(20240523)
    ours = floored = 0
    for _ in range(LOGS):
        taken = rng.random(2_000) < 0.3
        k = rng.binomial(5, np.where(taken, 0.3, 0.7))
        columns = {"r": (rng.random(2_000) < 0.9) * 1.0, "p": taken * 1.0, "k": k, "floored": np.maximum(k, 1) / 5}
        ours += lower(columns, sl.wins("k", 5)) > 0.9
        floored += _contradicts_or_misses(columns, "floored", 0.9)
    assert ours <= ALLOWED < floored


def _contradicts_or_misses(columns: dict[str, Any], propensity: str, value: float) -> bool:
    try:
        return lower(columns, propensity) > value
    except sl.LogsError:
        return True


def test_coverage_where_shared_draws_fail() -> None:
    """q = 0.9, m = 1: one draw for the whole log is 1.8 times off in every tenth log; a draw for each round holds."""
    rng = np.random.default_rng(7)
    fresh = shared = 0
    for _ in range(LOGS):
        taken, draw = rng.random(1_000) < 0.9, rng.random() < 0.9
        columns = {
            "r": (rng.random(1_000) < 0.5) * 1.0, "p": taken * 1.0, "k": (rng.random(1_000) < 0.9) == taken,
            "shared": taken == draw,
        }  # fmt: skip
        fresh += lower(columns, sl.wins("k", 1)) > 0.5
        shared += _contradicts_or_misses({**columns, "q": (columns["shared"] + 1) / 2}, "q", 0.5)
    assert fresh <= ALLOWED
    assert shared / LOGS > 0.075, "in the tenth of the logs that theory says"


def test_coverage_of_a_simulated_candidate_and_of_the_played_draw() -> None:
    """Improvement, both sides: production and candidate known by 10 draws each, the played one among production's."""
    rng = np.random.default_rng(3)
    logging, candidate, rewards = np.array([0.7, 0.3]), np.array([0.2, 0.8]), np.array([0.4, 0.6])
    truth, missed = float((candidate - logging) @ rewards), 0
    for _ in range(LOGS):
        action = (rng.random(500) < 0.3).astype(int)
        columns = {
            "r": (rng.random(500) < rewards[action]) * 1.0, "k": 1 + rng.binomial(9, logging[action]),
            "j": rng.binomial(10, candidate[action]),
        }  # fmt: skip
        logs = sl.Logs(columns, reward="r", propensity=sl.wins("k", 10, includes_played=True))
        answer = sl.compare(logs, {"new": sl.wins("j", 10)}, delta=DELTA)
        assert answer.upper is not None
        missed += answer.lower > truth or answer.upper < truth
    assert missed <= int(stats.binom.isf(1e-6, LOGS, 2 * DELTA))


def thompson(rounds: int = 3_000, m: int = 20, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    logging, candidate = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    action = rng.choice(3, rounds, p=logging)
    return {
        "r": (rng.random(rounds) < np.array([0.2, 0.5, 0.8])[action]) * 1.0, "a": action, "p": candidate[action],
        "q": logging[action], "k": rng.binomial(m, logging[action]), "m": np.full(rounds, m),
        "among": 1 + rng.binomial(m - 1, logging[action]),
        "j": rng.binomial(50, candidate[action]), "x": rng.random(rounds), "v": candidate[np.tile(range(3), (rounds, 1))],
    }  # fmt: skip


TABLE = thompson()


def drawn(table: dict[str, Any] = TABLE, k: str = "k", m: Any = "m", played: bool = False, **declared: Any) -> sl.Logs:
    return sl.Logs(table, reward="r", propensity=sl.wins(k, m, includes_played=played), **declared)


def test_the_propensity_by_hand() -> None:
    counts = {"r": [0.0, 1.0, 1.0], "k": [1, 2, 4], "m": [4, 4, 4]}
    assert batch_of(drawn(counts), {}).propensity.tolist() == [2 / 5, 3 / 5, 1.0]
    assert batch_of(drawn(counts, played=True), {}).propensity.tolist() == [1 / 4, 2 / 4, 1.0]
    found = batch_of(sl.Logs({**counts, "q": [0.5] * 3}, reward="r", propensity="q"), {"new": sl.wins("k", 4)})
    assert found.weights["new"].weight.tolist() == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {"k": 21},
            {},
            r"wins of production: 1 of 3,000 values are counts k below 0 or above their m; .* 21.0 in row 9",
        ),
        ({"k": -1}, {}, "are counts k below 0 or above their m"),
        ({"k": 2.5}, {}, "column 'k': 1 of 3,000 values are not whole numbers; the first is 2.5"),
        ({"m": 20.5}, {}, "column 'm': 1 of 3,000 values are not whole numbers"),
        ({"m": 0}, {}, "column 'm': 1 of 3,000 values are fewer than one draw"),
        ({"k": float("nan")}, {}, "column 'k': 1 of 3,000 values are NaN"),
        ({"k": 0}, {"played": True}, "are 0, although the logged action is said to be one of the m draws"),
    ],
)
def test_counts_that_are_refused(change: dict[str, Any], options: dict[str, Any], message: str) -> None:
    ((name, value),) = change.items()
    table = {**TABLE, "k": np.maximum(TABLE["k"], 1)}
    table[name] = table[name].astype(float)
    table[name][9] = value
    with pytest.raises(sl.LogsError, match=message):
        sl.compare(drawn(table, **options), "p")
    if name == "k" and not options:
        with pytest.raises(sl.LogsError, match=message.replace("wins of production", "policy 'new'")):
            sl.compare(sl.Logs(table, reward="r", propensity="q"), {"new": sl.wins("k", "m")})


def test_declarations_that_are_refused() -> None:
    weights = r"control by weights and wins \(propensity=wins\(...\)\) do not go together"
    model = r"control by a reward model and wins .* do not go together: .* exact mean"
    largest = r"largest weight and wins .* do not go together: weights vary with the draws"
    refused: list[tuple[Any, str]] = [
        (lambda: sl.wins(3, 4), "k is a int"),  # type: ignore[arg-type]
        (lambda: sl.wins("k", 0), "m, the number of draws, must be a whole number of at least 1, or a column"),
        (lambda: sl.wins("k", "k"), "two columns, of k and of m, but both are 'k'"),
        (lambda: sl.wins("k", 5, includes_played="yes"), "includes_played must be True or False"),  # type: ignore[arg-type]
        (lambda: drawn(logging="v", action="a"), "no logging=: a control made with it would not be valid"),
        (lambda: drawn(density=True), "where production's probabilities are not known"),
        (
            lambda: sl.Logs(reward=[1.0], propensity=sl.wins("k", 3)),
            "names the column 'k', but there is no source",
        ),
        (lambda: drawn(k="kk"), "no column 'kk' for wins. Did you mean 'k'"),
        (lambda: drawn(contexts=["k"]), "'k', the count of draws that took the logged action"),
        (lambda: sl.compare(drawn(), "p", control="weights"), weights),
        (lambda: sl.compare(drawn(), "p", control="model"), model),
        (lambda: sl.compare(drawn(), sl.bounded("p", 9)), largest),
        (
            lambda: sl.compare(sl.Logs(TABLE, reward="r", propensity="q"), sl.bounded(sl.blend(sl.wins("j", 50), 0.5), 9)),
            "largest weight and drawn candidate do not go together: weights vary with the draws",
        ),
        (lambda: sl.compare(drawn(), sl.wins("k", "m")), "a candidate needs draws of its own"),
        (lambda: sl.compare(drawn(), sl.wins("j", 50, includes_played=True)), "the logged action is none of them"),
        (lambda: sl.compare(drawn(), "p", by="k"), "by 'k' is declared in propensity=, which may depend on the action"),
        (lambda: sl.select(drawn(), [sl.wins("j", 50)]), "not all columns need names"),
        (lambda: sl.Monitor("p", control="weights", reward="r", propensity=sl.wins("k", "m")), weights),
    ]
    for act, message in refused:
        with pytest.raises(sl.UsageError, match=message):
            act()


def test_auto_is_no_control_and_the_assumptions_are_stated() -> None:
    answer = sl.compare(drawn(action="a"), {"new": "v"})
    assert answer.lower == sl.compare(drawn(action="a"), {"new": "v"}, control="none").lower
    assert answer.lower == sl.compare(drawn(), {"new": "p"}).lower
    assert any("made for it alone, from production as it was at the decision" in line for line in answer.assumptions)
    assert not any("were recorded" in line for line in answer.assumptions)
    played = sl.compare(drawn(k="among", played=True), {"new": sl.wins("j", 50)})
    assert any("no majority vote" in line for line in played.assumptions)
    assert any(line.startswith("policy 'new': the m draws of each round") for line in played.assumptions)


def test_check_does_not_mistake_few_draws_for_a_fault() -> None:
    """The mean weight falls short of 1 by (1 - q)^(m + 1): a warning that says so, never a refusal."""
    table = thompson(20_000, m=1)
    health = sl.check(drawn(table, action="a", action_count=3), {"new": "p"})
    assert health.weights["new"].mean < 0.75
    assert health.ok
    assert "Weights from few draws fall short of 1" in str([finding.remedy for finding in health.findings])
    assert not any("rounded" in finding.statement for finding in sl.check(drawn(m="m"), "p").findings)
    wrong = {**thompson(20_000, m=50), "k": np.zeros(20_000)}
    assert not sl.check(drawn(wrong), {"new": "p"}).ok


def test_certificates_monitors_and_stored_questions(tmp_path: Path) -> None:
    logs = drawn()
    assert sl.Logs.of(TABLE, type(logs.declaration).from_description(logs.declaration.describe())).declaration == (
        logs.declaration
    )
    answer = sl.compare(logs, {"new": sl.blend(sl.wins("j", 50), 0.5)})
    path = tmp_path / "certificate.json"
    sl.Certificate.of(answer).save(path)
    assert sl.verify(path, logs).same
    question = json.loads(path.read_text())["question"]
    assert sl.Question.from_dict(question).to_dict() == question
    other = {**TABLE, "k": np.where(np.arange(3_000) == 5, 20 - TABLE["k"], TABLE["k"])}
    assert not sl.verify(path, drawn(other)).same
    sl.Monitor({"new": sl.wins("j", 50)}, reward="r", propensity=sl.wins("k", "m")).save(tmp_path / "state.json")
    watch = sl.Monitor.load(tmp_path / "state.json")
    for half in (slice(0, 1_000), slice(1_000, 3_000)):
        watch.update({name: TABLE[name][half] for name in ("r", "k", "m", "j")})
    watched = watch.answer()
    assert isinstance(watched, sl.results.Improvement)
    assert watched.lower == pytest.approx(sl.compare(logs, {"new": sl.wins("j", 50)}).lower, rel=1e-12)
    with pytest.raises(sl.UsageError, match="not a valid density, nor wins"):
        sl.Question.of("compare", {"reward": "r", "propensity": {"kind": "wins", "k": "k"}}, "p")


@pytest.mark.parametrize("kind", ["linear", "gaussian"])
def test_policies_are_learned_without_control(kind: str) -> None:
    pytest.importorskip("torch")
    logs = drawn(contexts=["x"], action="a", action_count=3)
    learner = sl.PolicyLearner(kind, epochs=3).fit(logs)
    assert any("made for it alone" in line for line in learner.answer_.assumptions)
    with pytest.raises(sl.UsageError, match="control"):
        sl.PolicyLearner("gaussian", control="weights", epochs=1).fit(logs)
