"""Whatever is edited in a certificate, verify finds it: by the checksum, and without it by computing everything again."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import surelift as sl
from surelift.questions.certificate import as_damage
from surelift.saving import sealed
from tests.stored.make import LEARNED, answers, learned

DATA = sl.datasets.shop(rounds=400)
LOGS = DATA.logs()
POLICIES = {kind: learned(LOGS, kind).policy_ for kind in LEARNED}
CERTIFICATES: dict[str, Any] = {
    **{kind: dict(sl.Certificate.of(answer).content) for kind, answer in answers(LOGS).items()},
    "report": dict(sl.report(LOGS, DATA.policies()).selection.certificate_content()),  # type: ignore[union-attr,arg-type]
    **{kind: dict(policy.certificate.content) for kind, policy in POLICIES.items() if policy.certificate},
}


def places(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for name, value in inner:
        yield from places(value, (*place, name))


def others(value: Any) -> list[Any]:
    """Another value of the same type, and nearly the same value of other types."""
    if isinstance(value, bool):
        return [not value, int(value), None, str(value)]
    if isinstance(value, int | float):
        near = [float(value), int(value)] if value == int(value) else []
        return [value + 1, value * 1.001 + 1e-6, -value - 1, bool(value), str(value), None, [value], *near]
    if value is None:
        return [0, 0.0, False, "", [], {}]
    if isinstance(value, str):
        return [value + "x", "", "none", None, 0, [value]]
    return [None, 0, "", [value], *([[], [*value, 0]] if isinstance(value, list) else [{}, {**value, "more": 1}])]


def edits(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for *path, last in places(content):
        parent = content
        for name in path:
            parent = parent[name]
        values = [other for other in others(parent[last]) if json.dumps(other) != json.dumps(parent[last])]
        for value in [*values, "removed"]:
            edited = copy.deepcopy(content)
            place: Any = edited
            for name in path:
                place = place[name]
            if value == "removed":
                del place[last]
            else:
                place[last] = value
            yield edited


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_every_edit_is_found_by_the_checksum(kind: str) -> None:
    content = CERTIFICATES[kind]
    assert sl.verify(content, LOGS, POLICIES.get(kind)).same
    count = 0
    for edited in edits(content):
        with pytest.raises(sl.LogsError):
            sl.Certificate.from_content(edited)
        count += 1
    assert count > 300


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_edits_with_a_new_checksum_are_found_by_computing_again(kind: str) -> None:
    """But for the version, which is told, and a question that asks the same in other words."""
    content = {name: value for name, value in CERTIFICATES[kind].items() if name != "checksum"}
    asked = json.dumps(content["question"])
    for edited in list(edits(content))[:: 1 if kind == "compare" else 7]:
        try:
            with as_damage():
                result = sl.verify(sealed(edited), LOGS, POLICIES.get(kind))
        except sl.SureliftError:
            continue
        assert not result.same or result.not_compared or json.dumps(edited["question"]) != asked


def test_a_fingerprint_that_is_unknown_is_told() -> None:
    content = {**CERTIFICATES["compare"], "fingerprint": "400:none"}
    result = sl.verify(sealed(content), LOGS)
    assert result.same
    assert "these 400 rounds give the same answer" in result.sentence()
    assert "Not compared: the rounds one by one: the certificate was made by an engine" in result.text()
    assert not sl.verify(sealed({**content, "fingerprint": "none"}), LOGS).same
    assert not sl.verify(sealed({**content, "fingerprint": "401:none"}), LOGS).same


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    text = json.dumps(CERTIFICATES["compare"])
    path = tmp_path / "certificate.json"
    path.write_text(text.replace('"answer": {', '"answer": {"certified": true, ', 1))
    with pytest.raises(sl.LogsError, match="'certified' stands twice"):
        sl.verify(path, LOGS)


@pytest.mark.parametrize("broken", ["NaN", "-Infinity", "1e999", "9" * 400, "[" * 900 + "]" * 900, "[" * 10**5, "\\ud800"])
def test_numbers_beyond_all_and_deep_nesting(broken: str, tmp_path: Path) -> None:
    text = json.dumps(CERTIFICATES["compare"])
    path = tmp_path / "certificate.json"
    path.write_text(text.replace('"rounds": 400', f'"rounds": {broken}', 1))
    with pytest.raises(sl.LogsError):
        sl.verify(path, LOGS)
    state = tmp_path / "state.json"
    watch = sl.Monitor({"new": "p_better"}, **DATA.columns())
    watch.update(DATA.table)
    watch.save(state)
    state.write_text(state.read_text().replace('"sampled": false', f'"sampled": {broken}', 1))
    with pytest.raises(sl.LogsError):
        sl.Monitor.load(state)
