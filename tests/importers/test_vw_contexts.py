"""The contexts of Vowpal Wabbit's events as columns: the same answers as the table made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

import surelift as sl
from surelift import importers
from surelift.importers import contexts
from surelift.logs.batch import Needs
from tests.cli.test_cli import run
from tests.importers.vw import dsjson, visits, write_adf, write_cb, write_dsjson


def plain(data: dict[str, Any], **declared: Any) -> sl.Logs:
    table = {
        "r": data["click"], "p": data["propensity"], "a": data["action"], "l": [list(row) for row in data["logging"]],
        "User.country": data["country"].tolist(), "User.age": data["age"], "k": data["action"] * 0 + 3,
    }  # fmt: skip
    return sl.Logs(table, reward="r", propensity="p", action="a", **declared)


def column(logs: sl.Logs, name: str) -> list[Any]:
    return [value for batch in logs.source.batches(Needs(read=(name,))) for value in batch.table[name].to_pylist()]


@pytest.mark.parametrize("kind", ["dsjson", "cb", "cb_adf"])
def test_segments_are_those_of_the_plain_table(kind: str, tmp_path: Path) -> None:
    data = visits(600)
    path = {"dsjson": write_dsjson, "cb": write_cb, "cb_adf": write_adf}[kind](tmp_path / f"log.{kind}", data)
    options: dict[str, Any] = {"action_count": 3} if kind == "cb" else {}
    logs = importers.read(kind, [path], **options).logs
    known: dict[str, Any] = {"dsjson": {"logging": "l"}, "cb": {"action_count": 3}, "cb_adf": {"action_count": "k"}}
    theirs = plain(data, **known[kind])
    ours, by_hand = (sl.compare(each, {"new": sl.uniform()}, by="User.country") for each in (logs, theirs))
    assert ours.provenance.fingerprint == by_hand.provenance.fingerprint
    assert set(ours) == set(by_hand) == {"FR", "DE", "US"}
    assert [(each.lower, each.upper) for each in ours.values()] == [(each.lower, each.upper) for each in by_hand.values()]
    ages = [set(sl.evaluate(each, "production", by="User.age")) for each in (logs, theirs)]
    assert ages[0] == ages[1] == set(map(str, data["age"].tolist()))
    assert column(logs, "User.age") == data["age"].tolist()


def test_a_policy_learned_from_dsjson_is_that_of_the_plain_table(tmp_path: Path) -> None:
    data = visits(1_500)
    path = write_dsjson(tmp_path / "log.dsjson", data)
    named = ["User.country", "User.age"]
    learned = [
        sl.PolicyLearner(epochs=3).fit(logs).answer_
        for logs in (importers.dsjson(path, contexts=named).logs, plain(data, logging="l", contexts=named))
    ]
    assert learned[0].lower == learned[1].lower
    assert learned[0].provenance.fingerprint == learned[1].provenance.fingerprint


def test_the_command_line_segments_learns_and_verifies(tmp_path: Path) -> None:
    write_dsjson(tmp_path / "log.dsjson", visits(2_000))
    done = run("learn", "log.dsjson", "--contexts", "User.country", "--epochs", "5", "-o", "p.safetensors", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run("verify", "p.safetensors", "log.dsjson", folder=tmp_path).returncode == 0
    done = run("compare", "log.dsjson", "--policy", "uniform", "--by", "User.cuntry", folder=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'User.country'" in done.stderr


def test_what_becomes_a_column(tmp_path: Path) -> None:
    data = visits(4)
    given: list[dict[str, Any]] = [
        {"new": True, "FromUrl": [{"hour": 9}, {"hour": 10}], "room=Bedroom": 1, "v": [1, 2.5], "time": "noon", "n": 1},
        {"new": False, "U": {"deep": {"x": 1.5}}, "n": 2.5, "v": [3], "\ud800": 1, "none": None},
        {"room=Kitchen": 1},
        {"_multi": [{"a": 1}], "_slots": [{"b": 1}], "n": 2**70},
    ]
    path = tmp_path / "log.dsjson"
    path.write_text("".join(dsjson(data, i, c=c) + "\n" for i, c in enumerate(given)))
    logs = importers.dsjson(path).logs
    own = importers.vw_json.DSJSON.names
    assert [name for name in logs.column_names() if name not in own] == [
        "new", "FromUrl.hour", "FromUrl.1.hour", "room", "v", "c.time", "n", "U.deep.x", "?",
    ]  # fmt: skip
    assert column(logs, "new") == [True, False, None, None]
    assert column(logs, "FromUrl.1.hour") == [10, None, None, None]
    assert column(logs, "room") == ["Bedroom", None, "Kitchen", None]
    assert column(logs, "v") == [[1.0, 2.5], [3.0], None, None]
    assert column(logs, "c.time") == ["noon", None, None, None]
    assert column(logs, "n") == [1.0, 2.5, None, float(2**70)]
    assert column(logs, "time") == ["2021-02-04T16:31:29.2460000Z"] * 4


@pytest.mark.parametrize(
    "first, second, says",
    [
        ({"x": 1}, {"x": "a"}, "a whole number in 1 (the first in line 1 of"),
        ({"x": 1}, {"x": True}, "true or false in 1 (the first in line 2 of"),
        ({"x=a": 1, "x=b": 1}, {}, "given several times in 1"),
        ({"x": ["a"]}, {}, "a list of other things"),
    ],
)
def test_a_feature_of_several_types_is_no_column_and_told_when_asked_for(
    first: Any, second: Any, says: str, tmp_path: Path
) -> None:
    data = visits(2)
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join([dsjson(data, 0, c=first), dsjson(data, 1, c=second)]) + "\n")
    imported = importers.dsjson(path)
    assert sl.evaluate(imported.logs, imported.policies)["uniform"].rounds == 2
    with pytest.raises(sl.UsageError) as told:
        sl.compare(imported.logs, imported.policies["uniform"], by="x")
    assert says in str(told.value)


def test_of_very_many_features_those_named_are_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "MOST", 3)
    data = visits(6)
    path = tmp_path / "log.dsjson"
    path.write_text("".join(dsjson(data, i, c={"text": {f"word{i}": 1}, "country": "FR"}) + "\n" for i in range(6)))
    imported = importers.dsjson(path)
    with pytest.raises(sl.UsageError, match=r"7 features, and more than 3 .* contexts=\['country', ...\]"):
        sl.compare(imported.logs, imported.policies["uniform"], by="country")
    named = importers.dsjson(path, contexts=["country"])
    assert set(sl.compare(named.logs, named.policies["uniform"], by="country")) == {"FR"}
    monkeypatch.setattr(contexts, "_MOST_NAMES", 4)
    assert "4 or more features" in importers.dsjson(path).logs.source.unread["text.word0"]  # type: ignore[attr-defined]
    with pytest.raises(sl.UsageError, match="must be a list of features"):
        importers.dsjson(path, contexts="country")


def test_a_function_sees_the_contexts(tmp_path: Path) -> None:
    data = visits(300)
    logs = importers.dsjson(write_dsjson(tmp_path / "log.dsjson", data)).logs

    def by_country(table: Any) -> Any:
        return [[float(k == ["FR", "DE", "US"].index(c)) for k in range(3)] for c in table["User.country"].to_pylist()]

    best = [["FR", "DE", "US"].index(c) == a for c, a in zip(data["country"], data["action"], strict=True)]
    ours = sl.evaluate(logs, {"new": by_country}, control="none")["new"]
    theirs = sl.evaluate(plain(data), {"new": [float(each) for each in best]}, control="none")["new"]
    assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)


def test_deep_and_broken_lines_do_not_stop_the_survey(tmp_path: Path) -> None:
    data = visits(1)
    deep: Any = 1
    for _ in range(60):
        deep = {"d": deep}
    path = tmp_path / "log.dsjson"
    path.write_text(dsjson(data, 0, c={"x": deep, "y": 1}) + "\n")
    assert "nested too deeply" in next(iter(importers.dsjson(path).logs.source.unread.values()))  # type: ignore[attr-defined]
    path.write_text(dsjson(data, 0) + "\n" + dsjson(data, 0)[:-40] + "\n" + json.dumps([1]) + "\n")
    with pytest.raises(
        sl.LogsError, match=r"(?s)1 lines are not JSON; the first is line 2 of .*1 lines are not JSON objects"
    ):
        sl.evaluate(importers.dsjson(path).logs, "production")
