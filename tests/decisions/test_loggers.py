"""Balanced weights of several loggers: true at their counts, false before; and what is refused."""

from collections import Counter
from itertools import product
from math import factorial, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.cli.app import main
from surelift.learning.data.rounds import require_learnable

A, B, NEW = (
    np.array([[0.95, 0.05], [0.9, 0.1]]),
    np.array([[0.05, 0.95], [0.1, 0.9]]),
    np.array([[0.8, 0.2], [0.2, 0.8]]),
)
"""Probabilities of two actions in two contexts."""
CONTEXTS, CHANCES = np.array([0.5, 0.5]), np.array([[0.3, 0.5], [0.4, 0.8]])
LOGGERS = {"a": "p_a", "b": "p_b"}


def value(policy: Any) -> float:
    return float((CONTEXTS[:, None] * policy * CHANCES).sum())


def simulated(rng: np.random.Generator, counts: dict[str, int], contexts: Any = None) -> dict[str, Any]:
    who = np.repeat(list(counts), list(counts.values()))
    x = (rng.random(len(who)) < CONTEXTS[1]).astype(int) if contexts is None else contexts
    chance = np.where(who == "a", A[x, 1], B[x, 1])
    action = (rng.random(len(who)) < chance).astype(int)
    reward = (rng.random(len(who)) < CHANCES[x, action]).astype(float)
    at = (x, action)
    return {
        "version": who, "x": x, "r": reward, "p_a": A[at], "p_b": B[at], "p_new": NEW[at],
        "own": np.where(who == "a", A[at], B[at]),
    }  # fmt: skip


def declared(rows: dict[str, Any], **more: Any) -> sl.Logs:
    return sl.Logs(rows, **{"reward": "r", "logger": "version", "loggers": LOGGERS, **more})


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return simulated(np.random.default_rng(7), {"a": 1000, "b": 2000})


def mean_e_value(counts: dict[str, int], shares: dict[str, float], margin: float) -> float:
    """Over every log of so many rounds, by enumeration: rounds of one logger may change places."""
    cells = [(x, action, reward) for x, action, reward in product((0, 1), (0, 1), (0.0, 1.0))]
    laws = {}
    for name, policy in (("a", A), ("b", B)):
        chances = (CHANCES[x, action] if reward else 1.0 - CHANCES[x, action] for x, action, reward in cells)
        laws[name] = [CONTEXTS[x] * policy[x, action] * c for (x, action, _), c in zip(cells, chances, strict=True)]
    mean = 0.0
    for drawn in product(*(multisets(len(cells), count) for count in counts.values())):
        chance = prod(
            factorial(sum(cell.values())) * prod(laws[name][k] ** times / factorial(times) for k, times in cell.items())
            for name, cell in zip(counts, drawn, strict=True)
        )
        taken = [(name, *cells[k]) for name, cell in zip(counts, drawn, strict=True) for k in cell.elements()]
        who, x, action, reward = (np.array(column) for column in zip(*taken, strict=True))
        logs = sl.Logs(
            reward=reward, logger=who, loggers={"a": A[x, action], "b": B[x, action]}, logger_shares=shares
        )  # fmt: skip
        mean += chance * sl.compare(logs, {"new": NEW[x, action]}, margin=margin).e_value
    return mean


def multisets(kinds: int, size: int) -> list[Counter[int]]:
    if size == 0:
        return [Counter()]
    return list(map(Counter, sorted({tuple(sorted(each)) for each in product(range(kinds), repeat=size)})))


def test_the_e_value_has_a_mean_of_at_most_one_at_the_counts_and_not_before() -> None:
    """Shares stand for counts here, so that an earlier look is not refused."""
    shares = {"a": 0.5, "b": 0.5}
    margin = value(NEW) - value((A + B) / 2)
    at_counts = mean_e_value({"a": 1, "b": 1}, shares, margin)
    assert at_counts <= 1.0 + 1e-12
    assert at_counts > 0.9
    assert mean_e_value({"a": 0, "b": 2}, shares, margin) > 1.01  # one look too early
    own = {"a": 2 / 3, "b": 1 / 3}
    assert mean_e_value({"a": 2, "b": 1}, own, value(NEW) - value(2 * A / 3 + B / 3)) <= 1.0 + 1e-12


def test_counts_and_shares_of_the_same_size_give_the_same_sums(rows: dict[str, Any]) -> None:
    counted, drawn = declared(rows), declared(rows, logger_shares={"a": 1 / 3, "b": 2 / 3})
    one, other = sl.compare(counted, "p_new"), sl.compare(drawn, "p_new")
    assert one.lower == pytest.approx(other.lower, rel=1e-12)
    assert (one.promise, other.promise) == ("one look", "any number of looks")
    assert any("drawn at random" in assumption for assumption in other.assumptions)


def test_the_bounds_hold_at_the_counts_and_fail_at_an_earlier_look() -> None:
    """400 logs at delta 0.1: a valid bound misses more than 70 times with probability below one in a million."""
    rng, counts = np.random.default_rng(20240523), {"a": 400, "b": 400}
    truth = value(NEW)
    misses = early = 0
    for _ in range(400):
        drawn = simulated(rng, counts)
        found = sl.evaluate(declared(drawn), "p_new", delta=0.1)["p_new"]
        assert found.lower is not None
        assert found.upper is not None
        misses += not found.lower <= truth <= found.upper
        one = {name: column[400:] for name, column in drawn.items()}
        one["q"] = (one["p_a"] + one["p_b"]) / 2
        found = sl.evaluate(sl.Logs(one, reward="r", propensity="q"), "p_new", delta=0.1, sides="lower")["p_new"]
        assert found.lower is not None
        early += found.lower > truth
    assert misses <= 70
    assert early > 300


def test_balanced_weights_are_narrower_than_own_propensities() -> None:
    drawn = simulated(np.random.default_rng(3), {"a": 2000, "b": 2000})
    balanced = sl.evaluate(declared(drawn), "p_new")["p_new"]
    own = sl.evaluate(sl.Logs(drawn, reward="r", propensity="own"), "p_new")["p_new"]
    widths = [found.upper - found.lower for found in (balanced, own) if found.lower is not None and found.upper]
    assert widths[0] < 0.6 * widths[1]


def one_context_each(count: int) -> dict[str, Any]:
    """A sees only x = 1 and plays 1, B only x = 2 and plays 2; the candidate plays 1; rewards are 1 and 0."""
    who = np.repeat(["a", "b"], count)
    first = (who == "a").astype(float)
    return {
        "version": who, "x": np.where(who == "a", 1, 2), "r": first, "p_a": first, "p_b": 1.0 - first, "p_new": first,
        "country": np.where(who == "a", "nl", "de"),
    }  # fmt: skip


@pytest.mark.parametrize("column", ["x", "country"])
def test_different_contexts_are_refused_where_they_are_declared(column: str) -> None:
    logs = declared(one_context_each(100), contexts=[column])
    with pytest.raises(sl.LogsError, match="the loggers saw different contexts"):
        sl.evaluate(logs, "p_new")
    with pytest.raises(sl.LogsError, match="judge by the propensity of each row's own logger"):
        sl.compare(logs, "p_new")
    for found in (sl.check(logs, "p_new"), sl.gate(logs, "p_new").health):
        assert not found.ok
        assert "saw different contexts" in found.text()


def test_different_contexts_make_a_false_bound_where_none_are_declared() -> None:
    """The value is 1/2. The answer says that it was not tested."""
    found = sl.evaluate(declared(one_context_each(100)), "p_new")["p_new"]
    assert found.lower is not None
    assert found.lower > 0.75
    assert any("not tested: no contexts= are declared" in assumption for assumption in found.assumptions)


def test_other_counts_are_refused(rows: dict[str, Any]) -> None:
    planned = declared(rows, logger_rounds={"a": 1000, "b": 2500})
    with pytest.raises(sl.LogsError, match="took a: 1,000, b: 2,000 rounds, but a: 1,000, b: 2,500 rounds are declared"):
        sl.compare(planned, "p_new")
    found = sl.check(planned)
    assert not found.ok
    assert "give a false bound" in found.text()


def test_parts_answer_when_all_are_there(rows: dict[str, Any]) -> None:
    whole = declared(rows)
    question = sl.Question.of("compare", whole, "p_new")
    parts = [{name: column[cut] for name, column in rows.items()} for cut in (slice(1200), slice(1200, None))]
    first, second = (sl.partial_sums([part], question) for part in parts)
    with pytest.raises(sl.LogsError, match="at an earlier look or for a part of the log"):
        question.answer(first)
    assert question.answer(first + second).lower == pytest.approx(sl.compare(whole, "p_new").lower, rel=1e-12)
    open_counts = sl.Question.of("compare", {"reward": "r", "logger": "version", "loggers": LOGGERS}, "p_new")
    with pytest.raises(sl.UsageError, match="logger_rounds= is needed here"):
        sl.partial_sums(parts, open_counts)


def test_a_certificate_carries_the_counts(rows: dict[str, Any]) -> None:
    certificate = sl.Certificate.of(sl.compare(declared(rows), "p_new"))
    assert certificate.content["question"]["declaration"]["logger_rounds"] == {"a": 1000, "b": 2000}
    assert sl.verify(certificate, rows).same
    assert sl.verify(certificate, declared(rows)).same
    grown = {name: np.concatenate([column, column[:1]]) for name, column in rows.items()}
    assert not sl.verify(certificate, declared(grown)).same


def test_over_one_logger_alone_is_a_difference_of_two_candidates(rows: dict[str, Any]) -> None:
    found = sl.compare(declared(rows), "p_new", over="p_a")
    truth = value(NEW) - value(A)
    assert found.lower < truth < found.upper
    assert found.estimate == pytest.approx(truth, abs=0.05)


@pytest.mark.parametrize(
    "ask, says",
    [
        (lambda logs: sl.compare(logs, "p_new", method="blocks"), "method 'blocks' and balanced loggers"),
        (
            lambda logs: sl.evaluate(logs, "p_new", method="empirical-bernstein"),
            "rounds of different loggers have different laws",
        ),
        (lambda logs: sl.evaluate(logs, "p_new", method="efron-stein"), "it redraws rounds of one law"),
        (lambda logs: sl.compare(logs, "p_new", control="weights"), "needs production's whole distribution"),
        (lambda logs: sl.compare(logs, "p_new", by="x"), "not at those of a segment"),
        (lambda logs: sl.check(logs, by="x"), "not at those of a segment"),
        (
            lambda logs: sl.compare(logs, sl.bounded("p_new", 9.0)),
            "a weight averages 1 over all loggers, not over the rounds of each",
        ),
        (lambda logs: sl.power(logs, "p_new"), "looks at a growing log"),
        (lambda logs: sl.simulate(logs, "p_new"), "simulation and balanced loggers"),
        (lambda _: sl.Monitor("p_new", reward="r", logger="version", loggers=LOGGERS), "an earlier look is false"),
    ],
)
def test_what_is_not_proved_is_refused(ask: Any, says: str, rows: dict[str, Any]) -> None:
    with pytest.raises(sl.UsageError, match=says):
        ask(declared(rows, contexts=["x"]))


def test_a_monitor_of_loggers_that_were_drawn_at_random(rows: dict[str, Any]) -> None:
    watch = sl.Monitor(
        "p_new", reward="r", logger="version", loggers=LOGGERS, logger_shares={"a": 1 / 3, "b": 2 / 3}
    )  # fmt: skip
    for cut in (slice(1200), slice(1200, None)):
        watch.update({name: column[cut] for name, column in rows.items()})
    whole = sl.compare(declared(rows, logger_shares={"a": 1 / 3, "b": 2 / 3}), "p_new")
    answer = watch.answer()
    assert isinstance(answer, sl.results.Improvement)
    assert answer.lower == pytest.approx(whole.lower, rel=1e-12)


def test_shares_that_the_counts_contradict_are_refused(rows: dict[str, Any]) -> None:
    logs = declared(rows, logger_shares={"a": 0.5, "b": 0.5})
    with pytest.raises(sl.LogsError, match="a: 1,000, b: 2,000 rounds, which the declared shares do not give"):
        sl.compare(logs, "p_new")
    assert not sl.check(logs).ok


def test_a_report_has_no_earlier_looks(rows: dict[str, Any]) -> None:
    found = sl.report(declared(rows, contexts=["x"]), "p_new")
    assert found.selection is not None
    assert found.history is None
    assert found.selection["p_new"].promise == "one look"


def test_a_policy_is_not_learned_from_several_loggers(rows: dict[str, Any]) -> None:
    logs = declared({**rows, "action": np.zeros(3000, dtype=int)}, contexts=["x"], action="action", action_count=2)
    with pytest.raises(sl.UsageError, match=r"learning and loggers \(loggers=\)"):
        require_learnable(logs)


def test_the_command_line(rows: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa
    import pyarrow.csv

    pa.csv.write_csv(pa.table(rows), tmp_path / "log.csv")
    flags = [
        str(tmp_path / "log.csv"),
        "--reward",
        "r",
        "--logger",
        "version",
        "--loggers",
        "a=p_a,b=p_b",
        "--policy",
        "p_new",
    ]
    assert main(["evaluate", *flags, "--contexts", "x"]) == 0
    assert "at one look" in capsys.readouterr().out
    assert main(["evaluate", *flags, "--logger-rounds", "a=1000,b=2000"]) == 0
    assert main(["evaluate", *flags, "--logger-shares", "a=0.33,b=0.67"]) == 0
    assert main(["evaluate", *flags, "--logger-rounds", "a=1000,b=1"]) == 4
    assert main(["evaluate", *flags, "--logger-rounds", "a=1000,a=1"]) == 2
    assert "NAME=VALUE,NAME=VALUE with each name once" in capsys.readouterr().err
    for word in (["logger"], ["balanced", "weights"]):
        assert main(["explain", *word]) == 0
