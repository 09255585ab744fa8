"""Segments of several columns, and of bins: what each combination's own log would say, in one pass."""

import json
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import surelift as sl
from surelift.datasets import shop

DATA = shop(4_000, seed=3)
BETTER = {"better": "p_better"}
VISITORS, DEVICES = ("loyal", "new", "returning"), tuple(sorted(set(DATA.table["device"].to_pylist())))


def part(**values: str) -> sl.Logs:
    chosen = reduce(and_, (np.asarray(pc.equal(DATA.table[name], value)) for name, value in values.items()))
    return sl.Logs(DATA.table.filter(chosen), **DATA.columns())


@pytest.mark.parametrize("options", [{}, {"grid": "planned"}])
def test_each_combination_is_a_log_of_its_own(options: dict[str, Any]) -> None:
    found = sl.compare(DATA.logs(), BETTER, by=["visitor", "device"], delta=0.06, **options)
    assert list(found) == [f"{visitor}, {device}" for visitor in VISITORS for device in DEVICES]
    for visitor in VISITORS:
        for device in DEVICES:
            alone = sl.compare(part(visitor=visitor, device=device), BETTER, delta=0.06 / len(found), **options)
            answer = found[f"{visitor}, {device}"]
            assert answer.lower == pytest.approx(alone.lower)
            assert answer.upper == pytest.approx(alone.upper)
            assert answer.rounds == alone.rounds
    assert sum(one.rounds for one in found.values()) == found.rounds == 4_000


def aged(rounds: int = 3_000, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    q = rng.uniform(0.3, 0.9, rounds)
    return {
        "r": (rng.random(rounds) < 0.4).astype(float), "q": q, "new": np.minimum(1.0, q * rng.uniform(0.5, 1.5, rounds)),
        "age": np.where(rng.random(rounds) < 0.1, np.nan, rng.integers(10, 80, rounds)),
        "place": rng.choice(["FR", "DE, north", ""], rounds),
    }  # fmt: skip


def log_of(table: dict[str, Any], **declared: Any) -> sl.Logs:
    return sl.Logs(table, reward="r", propensity="q", **declared)


def test_bins_are_the_segments_of_the_column_they_make() -> None:
    table, cut = aged(), sl.bins("age", [18, 30, 50])
    codes = np.where(np.isnan(table["age"]), 4, np.searchsorted([18, 30, 50], table["age"], side="right"))
    made = np.array([*cut.names, None], dtype=object)[codes]
    found = sl.evaluate(log_of(table), ["new"], by=cut)
    other = sl.evaluate(log_of({**table, "made": made}), ["new"], by="made")
    assert list(found) == [*cut.names, "(missing)"]
    planned = sl.evaluate(log_of(table), ["new"], by=cut, grid="planned")
    assert list(planned) == list(found)
    assert planned["age < 18"]["new"].rounds == found["age < 18"]["new"].rounds
    assert {name: one["new"].lower for name, one in found.items()} == {name: other[name]["new"].lower for name in found}


def test_what_carries_the_columns() -> None:
    """JSON, tables, certificates and the page tell the parts; a certificate asks the same question again."""
    logs = log_of(aged())
    answer = sl.compare(logs, "new", by=["place", sl.bins("age", [18, 50])])
    name = '"DE, north", 18 <= age < 50'
    assert "By 'place', 'age': 12 segments, 3,000 rounds" in str(answer)
    assert list(answer)[:4] == ["(missing), age < 18", "(missing), 18 <= age < 50", "(missing), age >= 50",
                                "(missing), (missing)"]  # fmt: skip
    told = answer.to_dict()
    assert told["by"] == ["place", "age"]
    assert told["column_values"][name] == {"place": "DE, north", "age": [18.0, 50.0]}
    assert told["column_values"]["FR, (missing)"] == {"place": "FR", "age": None}
    assert told["segments"][name]["delta"] == pytest.approx(0.05 / 12)
    frame = answer.to_frame("pyarrow")
    assert frame.column_names[:2] == ["place", "age"]
    assert (frame["place"][5].as_py(), frame["age"][5].as_py()) == ("DE, north", "18 <= age < 50")
    assert "18 &lt;= age &lt; 50" in (answer.to_html() or "")
    assert "the edges of the bins of 'age' were chosen before looking at these rounds" in answer.first.assumptions
    certificate = sl.Certificate.of(answer)
    assert certificate.content["question"]["by"] == {"columns": ["place", {"column": "age", "bins": [18.0, 50.0]}]}
    assert sl.verify(certificate, logs).same
    moved = {**certificate.content["question"], "by": {"columns": ["place", {"column": "age", "bins": [19.0, 50.0]}]}}
    assert sl.Question.from_dict(moved).ask(logs).to_dict() != told


def test_a_column_called_as_one_of_the_answer_is_in_the_table_too() -> None:
    table = aged(200)
    frame = sl.compare(log_of({**table, "policy": ["x", "y"] * 100}), "new", by="policy").to_frame("pyarrow")
    assert frame["by policy"].to_pylist() == ["x", "y"]
    assert frame["policy"].to_pylist() == ["new", "new"]


def test_combinations_listed_in_advance_hold_at_any_number_of_looks() -> None:
    logs, cut = log_of(aged()), sl.bins("age", [18])
    listed = [(place, name) for place in ("FR", "DE, north", "(missing)") for name in (*cut.names, "(missing)")]
    answer = sl.compare(logs, "new", by=["place", cut], segments=listed)
    assert {one.promise for one in answer.values()} == {"any number of looks"}
    assert answer.first.delta == pytest.approx(0.05 / 9)
    texts = ["FR, age < 18", *listed[1:]]
    assert sl.compare(logs, "new", by=["place", cut], segments=texts).to_dict() == answer.to_dict()
    assert sl.verify(sl.Certificate.of(answer), logs).same
    with pytest.raises(sl.LogsError, match=r"by 'place', 'age': .* segment that was not declared; the first is '.*' in row"):
        sl.compare(logs, "new", by=["place", cut], segments=listed[1:])
    question = sl.Question.of("compare", logs.declaration.describe(), "new", by=["place", cut], segments=listed)
    halves = [
        sl.partial_sums([{name: column[rows] for name, column in aged().items()}], question)
        for rows in (slice(0, 1_000), slice(1_000, None))
    ]
    assert question.answer(halves[0] + halves[1])["FR, age < 18"].lower == pytest.approx(answer["FR, age < 18"].lower)


@pytest.mark.parametrize(
    "by, segments, message",
    [
        (["place", "place"], None, "names a column twice: 'place', 'place'"),
        (["age", sl.bins("age", [18])], None, "names a column twice"),
        ([], None, "must name a column"), (["place", 3], None, "must name a column"), ({"age": 1}, None, "must name"),
        (["place", "country"], None, "no column 'country' for by"),
        (["place", sl.bins("agee", [18])], None, "no column 'agee' for by. Did you mean 'age'"),
        (["place", "age"], ["FR"], "a text for each of 'place', 'age'"), (["place", "age"], [("FR", "")], "a text for each"),
        (["place", "age"], [3], "a text for each"), (["place", "age"], [("FR", 1, 2)], "a text for each"),
        (["place", "age"], [("FR", "1"), "FR,1"], "lists a name twice"),
        (["place", sl.bins("age", [18])], [("FR", "18")], "'18', which is no bin of 'age'; they are 'age < 18'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_refused(by: Any, segments: Any, message: str) -> None:
    with pytest.raises(sl.UsageError, match=message):
        sl.compare(log_of(aged(20)), "new", by=by, segments=segments)


def test_too_many_segments_name_their_columns_and_the_way_out() -> None:
    table = aged(1_500)
    table |= {"x": np.arange(1_500) / 7.0, "y": np.arange(1_500) % 40, "z": np.arange(1_500) // 40}
    for by, named in (("x", "by 'x'"), (["y", "z"], "by 'y', 'z'")):
        with pytest.raises(sl.LogsError, match=rf"{named} has more than 1,000 segments.*\n.*by=bins\('column', \[18"):
            sl.compare(log_of(table), "new", by=by)
    assert len(sl.compare(log_of(table), "new", by=["y", sl.bins("x", [100])])) == 80


def test_columns_with_a_role_are_refused_for_what_they_are() -> None:
    """A position, an id or a logger does not depend on the action: the message says what speaks against it."""
    rounds = 40
    table = {
        "r": np.zeros(rounds), "q": np.full(rounds, 0.5), "new": np.full(rounds, 0.5), "session": np.arange(rounds) // 2,
        "step": np.arange(rounds) % 2, "who": ["a", "b"] * 20, "pa": np.full(rounds, 0.5), "pb": np.full(rounds, 0.5),
        "visit": np.arange(rounds), "country": ["FR"] * rounds, "count": [2] * rounds,
    }  # fmt: skip
    steps = log_of(table, cluster="session", cluster_max=2, position="step", id="visit")
    with pytest.raises(
        sl.UsageError, match="by 'step' is declared in position=, which numbers the rounds of a cluster"
    ) as told:
        sl.compare(steps, "new", by=["country", "step"])
    assert "depend" not in str(told.value)
    with pytest.raises(sl.UsageError, match="by 'visit' is declared in id=, which tells rounds apart"):
        sl.compare(steps, "new", by="visit")
    shares = {"a": 0.5, "b": 0.5}
    loggers = sl.Logs(table, reward="r", logger="who", loggers={"a": "pa", "b": "pb"}, logger_shares=shares)
    with pytest.raises(
        sl.UsageError, match="by 'who' is declared in logger=, which names who decided, but the propensity"
    ) as told:
        sl.compare(loggers, "new", by="who")
    assert "depend" not in str(told.value)
    for name, role in (("pa", r"loggers, 'a', which may depend on the action"), ("r", "reward=, which may depend")):
        with pytest.raises(sl.UsageError, match=f"by '{name}' is declared in {role}"):
            sl.compare(loggers, "new", by=["country", name])
    with pytest.raises(sl.UsageError, match="by 'new' is what policy 'new' does; a segment must be known before"):
        sl.check(steps, "new", by=[["country", sl.bins("new", [0.5])]])
    assert sl.compare(log_of(table, action_count="count"), "new", by="count")


def tables(seed: int, rounds: int = 2_000) -> dict[str, Any]:
    """Two columns that say nothing of the action each, and all of it together; and one that says it alone."""
    rng = np.random.default_rng(seed)
    action, first, noise = rng.integers(0, 2, rounds), rng.integers(0, 2, rounds), rng.integers(0, 40, rounds)
    return {
        "r": rng.integers(0, 2, rounds).astype(float), "q": np.full(rounds, 0.5), "act": action, "first": first,
        "second": action ^ first, "noise": noise, "copy": action, "new": np.where(action == 1, 0.6, 0.4),
    }  # fmt: skip


def test_a_combination_that_tells_of_the_action_is_refused() -> None:
    logs = log_of(tables(1), action="act", action_count=2)
    for by in ("first", "second", ["first", "noise"], ["second", "noise"]):
        assert sl.compare(logs, "new", by=by)
    with pytest.raises(sl.LogsError, match=r"tells of the action: in segment '[01], [01]' only one action was"):
        sl.compare(logs, "new", by=["first", "second"])
    # Of 80 combinations none has enough rounds to tell; the column alone does.
    with pytest.raises(sl.LogsError, match=r"tells of the action: in segment '[01]' only one action was"):
        sl.compare(log_of(tables(2, 300), action="act", action_count=2), "new", by=["noise", "copy"])
    health = sl.check(logs, "new", by=["first", "second", ["first", "second"]])
    assert [finding.subject for finding in health.findings if finding.severity == "refuse"] == ["by 'first, second'"]


def test_check_tests_each_column_combination_and_bin() -> None:
    table = aged()
    wrong = (table["place"] == "FR") & (table["age"] < 30)
    table["q"] = np.where(wrong, 0.1, table["q"])
    table["new"] = np.minimum(1.0, table["q"])
    logs = log_of({**table, "new": np.where(wrong, 0.9, table["q"])})
    health = sl.check(logs, "new", by=["place", sl.bins("age", [30]), ["place", sl.bins("age", [30])]])
    strongest = max(health.evidence, key=lambda found: found.e_value)
    assert strongest.segment in ("FR, age < 30", "FR", "age < 30", "")
    assert {found.family.name for found in health.evidence} >= {"place", "age", "place, age"}
    with pytest.raises(sl.UsageError, match="twice"):
        sl.check(logs, "new", by=["place", "place"])


def test_questions_come_back_from_json() -> None:
    logs, cut = log_of(aged(100)), sl.bins("age", [18, 30])
    asked = [
        sl.Question.of("compare", logs, "new", by=["place", cut]),
        sl.Question.of("evaluate", logs, "new", by=cut, segments=[*cut.names, "(missing)"]),
        sl.Question.of("check", logs, "new", by=["place", cut, ("place", cut)]),
    ]
    for question in asked:
        kept = json.loads(json.dumps(question.to_dict()))
        again = sl.Question.from_dict(kept)
        assert again.to_dict() == question.to_dict()
        assert again.by == question.by
        assert again.ask(logs).to_dict() == question.ask(logs).to_dict()
