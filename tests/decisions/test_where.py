"""Which rounds: recorded in certificates, applied by verify, monitors and partial sums; and what keeps it honest."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.arrays import pc
from surelift.cli.app import main
from surelift.learning.data.rounds import require_learnable
from surelift.questions.question import Question

DECLARED: dict[str, Any] = {"reward": "r", "propensity": "p"}
WHERE = "country = 'FR' and age >= 40"
FLAGS = ["--reward", "r", "--propensity", "p", "--policy", "new"]


def simulated(seed: int = 0, rounds: int = 6_000) -> pa.Table:
    """Two actions; the second earns more. ``shown`` and ``won`` are copies of the action and of the reward."""
    rng = np.random.default_rng(seed)
    action = (rng.random(rounds) < 0.4).astype(int)
    reward = (rng.random(rounds) < np.array([0.2, 0.6])[action]).astype(float)
    return pa.table(
        {
            "r": reward, "p": np.array([0.6, 0.4])[action], "new": np.array([0.3, 0.7])[action], "a": action,
            "country": np.array(["FR", "DE"])[rng.integers(0, 2, rounds)], "age": rng.integers(18, 80, rounds),
            "shown": np.array(["x", "y"])[action], "won": reward == 1.0,
            "t": np.datetime64("2026-01-01T00:00:00") + 600 * np.arange(rounds).astype("timedelta64[s]"),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return simulated()


def chosen(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.and_(pc.equal(rows["country"], "FR"), pc.greater_equal(rows["age"], 40)))


def test_a_certificate_carries_the_condition_and_verify_applies_it(rows: pa.Table, tmp_path: Path) -> None:
    answer = sl.compare(sl.Logs(rows, where=WHERE, **DECLARED), "new")
    alone = sl.compare(sl.Logs(chosen(rows), **DECLARED), "new")
    assert (answer.lower, answer.e_value, answer.certified) == (alone.lower, alone.e_value, True)
    assert answer.provenance.fingerprint == alone.provenance.fingerprint
    certificate = sl.Certificate.of(answer)
    certificate.save(tmp_path / "c.json")
    assert certificate.content["question"]["declaration"]["where"] == WHERE
    assert sl.verify(tmp_path / "c.json", rows).same
    # Rounds that do not meet the condition may be there or not; another condition is another question.
    assert sl.verify(certificate, chosen(rows)).same
    other = sl.verify(certificate, sl.Logs(rows, where="country = 'FR'", **DECLARED))
    assert not other.same
    assert any("where was declared as" in line for line in other.differences)
    assert not sl.verify(certificate, sl.Logs(rows, **DECLARED)).same


def test_it_is_told(rows: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = sl.Logs(rows, where=WHERE, **DECLARED)
    said = f"{len(rows) - len(chosen(rows)):,} of 6,000 rounds do not meet `{WHERE}`, and were left out."
    assumed = f"the rounds were chosen by `{WHERE}`, which was fixed in advance"
    answer = sl.compare(logs, "new")
    assert said in " ".join(str(answer).split())
    assert any(text.startswith(assumed) for text in answer.assumptions)
    assert any(finding.subject == "where" for finding in sl.check(logs).findings)
    page = repr(sl.report(logs, "new").page())
    assert f"{len(rows) - len(chosen(rows)):,} of 6,000 rounds do not meet" in page
    assert "the rounds were chosen by" in page
    sl.Certificate.of(answer).save(tmp_path / "c.json")
    assert main(["explain", str(tmp_path / "c.json")]) == 0
    assert "the rounds were chosen by" in " ".join(capsys.readouterr().out.split())


def test_monitors_and_partial_sums_leave_the_same_rounds_out(rows: pa.Table, tmp_path: Path) -> None:
    alone = sl.compare(sl.Logs(chosen(rows), **DECLARED), "new")
    watch = sl.Monitor("new", where=WHERE, **DECLARED)
    parts = [rows.slice(first, 1_500) for first in range(0, 6_000, 1_500)]
    # The first batch has no round that meets the condition.
    nobody = rows.filter(pc.equal(rows["country"], "DE")).slice(0, 7)
    assert watch.update(nobody)
    watch.save(tmp_path / "state.json")
    watch = sl.Monitor.load(tmp_path / "state.json")
    for part in parts:
        watch.update(part)
    watch.save(tmp_path / "state.json")
    answer: Any = sl.Monitor.load(tmp_path / "state.json").answer()
    assert (answer.lower, answer.rounds) == (pytest.approx(alone.lower, rel=1e-12), alone.rounds)
    assert f"{6_007 - alone.rounds:,} of 6,007 rounds do not meet" in answer.notes[0]
    question = Question.of("compare", {**DECLARED, "where": WHERE}, {"new": "new"})
    total = sl.partial_sums(parts[:2], question) + sl.partial_sums([*parts[2:], nobody], question)
    assert question.answer(total).lower == pytest.approx(alone.lower, rel=1e-12)
    with pytest.raises(sl.UsageError, match="do not ask the same question"):
        sl.Monitor("new", name="a", where=WHERE, **DECLARED) + sl.Monitor("new", name="b", **DECLARED)


def test_on_the_command_line(rows: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, alone = str(tmp_path / "log.parquet"), str(tmp_path / "alone.parquet")
    pq.write_table(rows, log)
    pq.write_table(chosen(rows), alone)

    def ran(*words: str) -> tuple[int, str]:
        code = main(list(words))
        return code, " ".join(capsys.readouterr().out.split())

    for command in ("evaluate", "compare", "gate", "check", "power"):
        found = ran(command, log, *FLAGS, "--where", WHERE)
        assert (found[0], "do not meet" in found[1]) == (ran(command, alone, *FLAGS)[0], True), command
    code, out = ran("compare", log, *FLAGS, "--where", WHERE, "--certificate", str(tmp_path / "c.json"))
    assert (code, "do not meet" in out) == (0, True)
    assert ran("verify", str(tmp_path / "c.json"), log)[0] == 0
    state = ["--state", str(tmp_path / "state.json")]
    assert ran("monitor", log, *state, *FLAGS, "--where", WHERE)[0] == 0
    assert ran("monitor", log, *state)[0] == 0
    assert main(["compare", log, *FLAGS, "--where", "country = FR"]) == 2
    assert "text goes in single quotes, 'FR'" in capsys.readouterr().err


def test_a_stream_that_starts_anew_is_skipped_by_its_rows(
    rows: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = pa.BufferOutputStream()
    pyarrow.csv.write_csv(rows.select(["r", "p", "new", "country", "age"]), text)
    lines = text.getvalue().to_pybytes().splitlines(keepends=True)
    state = ["--state", str(tmp_path / "state.json"), "--stdin", "csv"]
    for given, more in ((lines[:3_001], [*FLAGS, "--where", WHERE]), (lines, ["--skip"])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"".join(given))))
        assert main(["monitor", *state, *more]) == 0
    alone = sl.compare(sl.Logs(chosen(rows), **DECLARED), "new")
    answer: Any = sl.Monitor.load(tmp_path / "state.json").answer()
    assert answer.lower == pytest.approx(alone.lower, rel=1e-12)


def test_a_candidate_and_an_outcome_are_not_conditions(rows: pa.Table) -> None:
    for where in ("new > 0.5", "age > 40 or not new = 0.3"):
        with pytest.raises(sl.UsageError, match="where= names 'new', a column of a candidate"):
            sl.compare(sl.Logs(rows, where=where, **DECLARED), "new")
    with pytest.raises(sl.UsageError, match="where= names 'new', a column of a candidate"):
        sl.Monitor("new", where="new > 0.5", **DECLARED).update(rows)
    outcomes = {"r": sl.Outcome("r"), "won": sl.Outcome("won")}
    with pytest.raises(sl.UsageError, match="where= names 'won', declared as reward"):
        sl.compare(sl.Logs(rows, where="won = true", **DECLARED), "new", outcomes=outcomes)
    # tests/learning/test_where.py learns from such logs.
    require_learnable(sl.Logs(rows, where=WHERE, action="a", action_count=2, contexts=["age"], **DECLARED))


def test_a_copy_of_the_action_is_found_and_a_true_condition_is_not(rows: pa.Table) -> None:
    declared = {**DECLARED, "action": "a"}
    told = sl.Logs(rows, where="shown = 'y'", **declared)
    for ask in (sl.compare, sl.evaluate, sl.power):
        with pytest.raises(sl.LogsError, match="where: `shown = 'y'` tells of actions or rewards: one action"):
            ask(told, "new")
    health = sl.check(told, "new")
    assert not health.ok
    assert any("tells of actions or rewards" in finding.says for finding in health.findings)
    assert sl.check(sl.Logs(rows, where=WHERE, **declared), "new").ok
    # Without the actions, the weights tell: their mean is that of one action.
    assert not sl.check(sl.Logs(rows, where="shown = 'y'", **DECLARED), "new").ok


def test_a_copy_of_the_reward_is_found_by_the_weights(rows: pa.Table) -> None:
    """Among the rounds that won, the better action is too frequent for its propensity."""
    found = {"the bounds contradict each other": DECLARED, "tells of actions or rewards": {**DECLARED, "action": "a"}}
    for says, declared in found.items():
        logs = sl.Logs(rows, where="won = true", **declared)
        assert not sl.check(logs, "new").ok
        with pytest.raises(sl.LogsError, match=says):
            sl.evaluate(logs, "new")


def test_the_bound_holds_for_the_rounds_that_were_chosen() -> None:
    """Those of one country, in which the candidate is worse than in the other."""
    rng = np.random.default_rng(20261116)
    rounds, misses, value = 400, 0, 0.3 * 0.4 + 0.7 * 0.2
    for _ in range(300):
        country, action = rng.integers(0, 2, rounds), rng.integers(0, 2, rounds)
        mean = np.where(country == 1, np.array([0.4, 0.2])[action], np.array([0.2, 0.9])[action])
        log = {
            "r": (rng.random(rounds) < mean).astype(float), "p": np.full(rounds, 0.5),
            "new": np.array([0.3, 0.7])[action], "country": country,
        }  # fmt: skip
        logs = sl.Logs(log, where="country = 1", **DECLARED)
        answer: Any = sl.evaluate(logs, "new", delta=0.1, sides="lower")["new"]
        misses += answer.lower > value
    assert misses <= 57  # more has a chance below one in a million, at a rate of one in ten


def test_a_cluster_is_chosen_whole_or_not_at_all() -> None:
    rounds: dict[str, Any] = {
        "r": [0.0, 1.0] * 6, "p": [0.5] * 12, "new": [0.4, 0.6] * 6, "user": np.repeat(np.arange(6), 2),
        "country": np.repeat(["FR", "DE", "FR", "DE", "FR", "DE"], 2), "hour": np.arange(12),
    }  # fmt: skip
    declared = {**DECLARED, "cluster": "user", "cluster_size": 2}
    alone = {name: np.asarray(column)[np.repeat([True, False] * 3, 2)] for name, column in rounds.items()}
    found, expected = (
        sl.evaluate(logs, "new")
        for logs in (sl.Logs(rounds, where="country = 'FR'", **declared), sl.Logs(alone, **declared))
    )
    assert found.rounds == 3
    assert found["new"].lower == pytest.approx(expected["new"].lower, rel=1e-12)
    assert "of a cluster, before its first" in " ".join(found["new"].assumptions)
    assert sl.evaluate(sl.Logs(rounds, where="user in (1, 5)", **declared), "new").rounds == 2
    with pytest.raises(sl.LogsError, match=r"where= cuts through clusters: of cluster 2 some rounds .* row 5, counting"):
        sl.evaluate(sl.Logs(rounds, where="hour < 5", **declared), "new")
    # Also where its rounds do not lie together, so that a part of it would be left out unseen.
    apart = {
        **rounds,
        "user": [1, 2, 3, 1],
        **{name: rounds[name][:4] for name in ("r", "p", "new", "hour", "country")},
    }
    sizes = {**DECLARED, "cluster": "user", "cluster_max": 2}
    with pytest.raises(sl.LogsError, match="belong to a cluster that had already ended; the first is 1 in row 3"):
        sl.evaluate(sl.Logs(apart, where="hour < 3", **sizes), "new")
    with pytest.raises(sl.UsageError, match="monitor and torn clusters do not go together"):
        sl.Monitor("new", where="country = 'FR'", **declared)


def test_rounds_settle_as_of_the_newest_time_of_the_whole_log(rows: pa.Table) -> None:
    times = {**DECLARED, "time": "t", "settled_after": "7d"}
    # All of January is older than 7 days at the end of the log, in February.
    answer = sl.compare(sl.Logs(rows, where="t < 2026-02-01", **times), "new")
    assert answer.rounds == 31 * 144
    assert len(answer.notes) == 1
    both = sl.compare(sl.Logs(rows, where="country = 'FR'", **times), "new")
    newest = rows["t"].to_pylist()[-1]
    french = rows.filter(pc.equal(rows["country"], "FR"))
    old = sum((newest - time).days >= 7 for time in french["t"].to_pylist())
    assert both.rounds == old
    assert [text.split(" rounds ")[0] for text in both.notes] == [
        f"{6_000 - len(french):,} of 6,000", f"{len(french) - old:,} of {len(french):,}",
    ]  # fmt: skip


def test_segments_within_the_rounds_that_were_chosen(rows: pa.Table) -> None:
    logs = sl.Logs(rows, where="country in ('FR', 'DE') and age >= 40", **DECLARED)
    alone = sl.Logs(rows.filter(pc.greater_equal(rows["age"], 40)), **DECLARED)
    found, expected = (sl.compare(each, "new", by="country", segments=["FR", "DE"]) for each in (logs, alone))
    assert {name: part.lower for name, part in found.items()} == {name: part.lower for name, part in expected.items()}


def test_an_array_stays_beside_its_rows(rows: pa.Table) -> None:
    given = np.asarray(rows["new"])
    found = sl.compare(sl.Logs(rows, where=WHERE, **DECLARED), {"new": given})
    assert found.lower == sl.compare(sl.Logs(rows, where=WHERE, **DECLARED), "new").lower


def test_a_log_of_another_format(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    times = [f"2019-11-{day:02} 00:00:00+00:00" for day in rng.integers(20, 30, 900)]
    table: dict[str, Any] = {
        "timestamp": times, "item_id": rng.integers(0, 3, 900), "position": rng.integers(1, 4, 900),
        "click": rng.integers(0, 2, 900), "propensity_score": np.full(900, 1 / 3),
    }  # fmt: skip
    log = str(tmp_path / "log.csv")
    pyarrow.csv.write_csv(pa.table(table), log)
    more = ["--format", "open-bandit", "--action-count", "3", "--where", "timestamp >= 2019-11-25 and position = 1"]
    assert main(["evaluate", log, *more, "--policy", "uniform", "--certificate", str(tmp_path / "c.json")]) == 0
    kept = sum(time >= "2019-11-25" and place == 1 for time, place in zip(times, table["position"], strict=True))
    assert sl.Certificate.load(tmp_path / "c.json").content["rounds"] == kept
    assert main(["verify", str(tmp_path / "c.json"), log, "--format", "open-bandit"]) == 0
