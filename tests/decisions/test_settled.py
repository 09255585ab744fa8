"""Delayed rewards: what is settled is judged as if it were alone, and nothing is lost or counted twice."""

from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import surelift as sl
from surelift.arrays import pc
from surelift.cli.app import main
from surelift.learning.data.rounds import require_learnable

DECLARED: dict[str, Any] = {"reward": "r", "propensity": "p", "time": "t"}
VALUE = 0.3 * 0.2 + 0.7 * 0.4


def simulated(rng: np.random.Generator, rounds: int) -> dict[str, Any]:
    """One round an hour. A reward of 1 comes at once, a 0 is known after 7 days only."""
    t = np.datetime64("2026-03-01T00:00:00") + np.arange(rounds).astype("timedelta64[h]")
    action = rng.integers(0, 2, rounds)
    reward = (rng.random(rounds) < np.array([0.2, 0.4])[action]).astype(float)
    known = (reward == 1.0) | (t <= t[-1] - np.timedelta64(7, "D"))
    seen = [one if is_known else None for one, is_known in zip(reward.tolist(), known, strict=True)]
    return {"t": t, "r": seen, "p": np.full(rounds, 0.5), "new": np.array([0.3, 0.7])[action]}


def cut(rows: dict[str, Any], which: Any) -> dict[str, Any]:
    return {name: np.array(column, dtype=object if name == "r" else None)[which].tolist() for name, column in rows.items()}


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return simulated(np.random.default_rng(4), 1500)


def test_the_settled_rounds_alone_give_the_same_answer(rows: dict[str, Any]) -> None:
    logs = sl.Logs(rows, **DECLARED, settled_after="7d")
    alone = sl.Logs(cut(rows, slice(1500 - 168)), **DECLARED)
    for method in ("mixture", sl.bounds.BOUNDS["mixture"](grid="planned"), "blocks"):
        found, wanted = (sl.compare(each, "new", method=method) for each in (logs, alone))
        assert (found.lower, found.upper, found.e_value) == (wanted.lower, wanted.upper, wanted.e_value)
        assert found.rounds == 1500 - 168
        assert found.to_dict()["aloud"] == [
            "168 of 1,500 rounds were younger than 7d at 2026-05-02T11:00:00, and were left out."
        ]
    assumed = sl.evaluate(logs, "new")["new"].assumptions
    assert sum(one.startswith("only rounds up to 7d before 2026-05-02T11:00:00") for one in assumed) == 1


def test_the_e_value_has_a_mean_of_at_most_one_and_known_rewards_alone_have_too_large_a_mean() -> None:
    """By enumeration of three rounds, of which two are settled: a reward of 1 is known at once."""
    propensity, candidate, chance = (0.5, 0.5), (0.3, 0.7), (0.2, 0.4)
    margin = VALUE - 0.3
    settled = naive = 0.0
    for drawn in product(product((0, 1), (0.0, 1.0)), repeat=3):
        weight = prod(propensity[a] * (chance[a] if r else 1 - chance[a]) for a, r in drawn)
        rewards = [r if place < 2 or r else None for place, (_, r) in enumerate(drawn)]
        one = {"t": [1, 2, 9], "r": rewards, "p": [0.5] * 3, "new": [candidate[a] for a, _ in drawn]}
        logs = sl.Logs(one, **DECLARED, settled_after=5, as_of=9)
        settled += weight * sl.compare(logs, "new", margin=margin).e_value
        known = cut(one, [place for place, r in enumerate(rewards) if r is not None])
        naive += weight * sl.evaluate(sl.Logs(known, **DECLARED), "new")["new"].terms_mean
    assert settled <= 1.0 + 1e-12
    assert naive > VALUE + 0.02  # its terms do not even average to the value


def test_the_bounds_hold_and_those_of_known_rewards_do_not() -> None:
    """200 logs at delta 0.1: a valid bound misses more than 43 times with probability below one in a million."""
    rng, misses, naive = np.random.default_rng(20240523), 0, 0
    for _ in range(200):
        drawn = simulated(rng, 600)
        found = sl.evaluate(sl.Logs(drawn, **DECLARED, settled_after="7d"), "new", delta=0.1)["new"]
        assert found.lower is not None
        assert found.upper is not None
        misses += not found.lower <= VALUE <= found.upper
        late = cut(drawn, np.flatnonzero([place >= 300 and r is not None for place, r in enumerate(drawn["r"])]))
        known = sl.evaluate(sl.Logs(late, **DECLARED), "new", delta=0.1, sides="lower")["new"]
        assert known.lower is not None
        naive += known.lower > VALUE
    assert misses <= 43
    assert naive > 150


def test_a_certificate_still_verifies_when_the_log_has_grown(rows: dict[str, Any]) -> None:
    certificate = sl.Certificate.of(sl.compare(sl.Logs(rows, **DECLARED, settled_after="7d"), "new"))
    declaration = certificate.content["question"]["declaration"]
    assert (declaration["settled_after"], declaration["as_of"]) == ("7d", "2026-05-02T11:00:00")
    later = np.datetime64("2026-05-03T00:00:00")
    grown = {"t": [*rows["t"], later], "r": [*rows["r"], 1.0], "p": [*rows["p"], 0.5], "new": [*rows["new"], 0.3]}
    assert sl.verify(certificate, rows).same
    assert sl.verify(certificate, grown).same
    assert sl.verify(certificate, sl.Logs(grown, **DECLARED, settled_after="7d")).same
    assert not sl.verify(certificate, cut(grown, slice(1, None))).same


def test_a_monitor_refuses_rounds_that_are_not_settled(rows: dict[str, Any]) -> None:
    with pytest.raises(sl.UsageError, match="no as_of=, which batches differ in; give each batch its own"):
        sl.Monitor("new", **DECLARED, settled_after="7d", as_of="2026-05-01")
    watch = sl.Monitor("new", **DECLARED, settled_after="7d")
    first, second = cut(rows, slice(700)), cut(rows, slice(700, 1332))
    with pytest.raises(sl.UsageError, match="as_of= is needed"):
        watch.update(first)
    with pytest.raises(
        sl.LogsError, match="27 of 700 rounds were younger than 7d at 2026-04-05T00:00:00 in this batch"
    ) as no:
        watch.update(first, as_of="2026-04-05")
    assert "once their rewards are final; nothing was counted" in str(no.value)
    assert watch.rounds == 0
    watch.update(first, as_of="2026-05-01")
    watch.update(second, as_of="2026-05-02T11:00")
    answer, whole = watch.answer(), sl.compare(sl.Logs(rows, **DECLARED, settled_after="7d"), "new")
    assert isinstance(answer, sl.results.Improvement)
    assert answer.lower == pytest.approx(whole.lower, rel=1e-12)
    assert any("counted 7d after its decision, or later" in assumption for assumption in answer.assumptions)


def test_parts_add_up(rows: dict[str, Any]) -> None:
    question = sl.Question.of("compare", sl.Logs(rows, **DECLARED, settled_after="7d"), "new")
    total = sl.partial_sums([cut(rows, slice(900))], question) + sl.partial_sums([cut(rows, slice(900, None))], question)
    assert question.answer(total).to_dict()["aloud"][0].startswith("168 of 1,500 rounds")
    young = sl.partial_sums([cut(rows, slice(1400, None))], question)
    assert (young.rows, young.left_out) == (0, 100)
    unknown = sl.Question.of("compare", {**DECLARED, "settled_after": "7d"}, "new")
    with pytest.raises(sl.UsageError, match="the whole log is at hand"):
        sl.partial_sums([rows], unknown)


def test_check_and_gate_say_what_was_left_out(rows: dict[str, Any]) -> None:
    logs = sl.Logs(rows, **DECLARED, settled_after="7d")
    health = sl.check(logs, "new")
    assert health.ok
    assert "168 of 1,500 rounds were younger than 7d" in health.text()
    assert "168 of 1,500" in str(sl.gate(logs, "new"))
    for ask in (sl.estimate, sl.power, sl.profile, sl.report):
        assert "168 of 1,500" in str(ask(logs, "new"))
    assert sl.simulate(logs, "new", runs=1, rounds=50).rounds == 50
    assert "168 of 1,500" in (sl.compare(logs, "new").to_html() or "")


def test_loggers_are_counted_among_settled_rounds(rows: dict[str, Any]) -> None:
    both: dict[str, Any] = {"reward": "r", "time": "t", "logger": "who", "loggers": {"a": "p", "b": "q"}}
    who = np.repeat(["a", "b"], 750)
    logs = sl.Logs({**rows, "who": who, "q": np.full(1500, 0.5)}, **both, settled_after="7d")
    counts = sl.compare(logs, "new").provenance.question["declaration"]["logger_rounds"]
    assert counts == {"a": 750, "b": 750 - 168}


def test_a_policy_is_not_learned_from_settled_rounds_alone(rows: dict[str, Any]) -> None:
    logs = sl.Logs(
        {**rows, "x": np.zeros(1500), "a": np.zeros(1500, dtype=int)}, **DECLARED, settled_after="7d", contexts=["x"],
        action="a", action_count=2,
    )  # fmt: skip
    with pytest.raises(sl.UsageError, match=r"learning and settled rewards \(settled_after=\)"):
        require_learnable(logs)


def test_the_command_line(rows: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa
    import pyarrow.csv

    log, state = str(tmp_path / "log.csv"), str(tmp_path / "state")
    pa.csv.write_csv(pa.table(rows), log)
    flags = [log, "--reward", "r", "--propensity", "p", "--time", "t", "--settled-after", "7d", "--policy", "new"]
    assert main(["evaluate", *flags, "--as-of", "2026-05-01T11:00"]) == 0
    assert "192 of 1,500 rounds were younger than 7d at 2026-05-01T11:00:00" in capsys.readouterr().out
    assert main(["evaluate", *flags[:-4], "--settled-after", "7 days", "--policy", "new"]) == 2
    assert main(["monitor", *flags, "--state", state, "--as-of", "2026-05-02"]) == 4
    assert "nothing was counted" in capsys.readouterr().err
    settled = str(tmp_path / "settled.csv")
    pa.csv.write_csv(pa.table(rows).slice(0, 1332), settled)
    assert main(["monitor", settled, *flags[1:], "--state", state, "--as-of", "2026-05-03"]) in (0, 3)
    for word in ("settled_after", "settled-after"):
        assert main(["explain", word]) == 0


@pytest.mark.parametrize("as_text", [False, True])
def test_a_day_without_a_time_is_as_young_as_it_can_be(as_text: bool) -> None:
    """A round of the second day may be minutes old at the midnight that ends it."""
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
    time = pa.array(days.astype(str) if as_text else days)
    table = pa.table({"t": time, "r": [1.0, 0.0], "p": [0.5, 0.5], "n": [0.5, 0.5]})
    logs = sl.Logs(table, reward="r", propensity="p", time="t", settled_after="1d", as_of="2026-01-03")
    assert sl.evaluate(logs, "n")["n"].rounds == 1


def test_a_zone_that_the_times_do_not_name() -> None:
    """Local times in Tokyo read as UTC would make rounds nine hours older than they are."""
    times = pa.array(np.array(["2026-01-01T00", "2026-01-03T00"], dtype="datetime64[s]"))
    columns = {"r": [1.0, 0.0], "p": [0.5, 0.5], "n": [0.5, 0.5]}
    settled = partial(sl.Logs, reward="r", propensity="p", time="t", settled_after="1d")
    with pytest.raises(sl.UsageError, match="names a zone, but the times in 't' do not"):
        sl.evaluate(settled({"t": times, **columns}, as_of="2026-01-03T00:00+00:00"), "n")
    zoned = {"t": pc.assume_timezone(times, "UTC"), **columns}
    for as_of in ("2026-01-03T09:00+09:00", "2026-01-03"):
        assert sl.evaluate(settled(zoned, as_of=as_of), "n")["n"].rounds == 1
