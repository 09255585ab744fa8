"""Vowpal Wabbit's pages of several slots (CCB); the events are made here, in the layout that VW documents."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift import importers
from tests.cli.test_cli import run

RATES = np.array([0.1, 0.2, 0.4, 0.7])


def pages(count: int, seed: int = 0) -> list[list[tuple[list[int], list[float], float]]]:
    """Two slots of four items without replacement, each (what is left with the shown one first, chances, click)."""
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(count):
        left, page = [0, 1, 2, 3], []
        for place in range(2):
            chances = rng.dirichlet(np.full(len(left), 3.0))
            taken = int(rng.choice(len(left), p=chances))
            order = [taken, *(k for k in range(len(left)) if k != taken)]
            click = float(rng.random() < RATES[left[taken]] / (1 + place))
            page.append(([left[k] for k in order], chances[order].tolist(), click))
            left = [item for item in left if item != left[taken]]
        drawn.append(page)
    return drawn


def event(number: int, page: Any, **besides: Any) -> str:
    slots = [
        {"_label_cost": -click, "_id": f"{number}-{place}", "_a": items, "_p": chances,
         "_o": [{"v": click, "EventId": f"{number}-{place}", "ActionTaken": False}]}
        for place, (items, chances, click) in enumerate(page)
    ]  # fmt: skip
    context = {
        "GUser": {"id": "mk", "major": "psychology"}, "_multi": [{"TAction": {"topic": k}} for k in range(4)],
        "_slots": [{"_id": slot["_id"]} for slot in slots],
    }  # fmt: skip
    return json.dumps(
        {"Timestamp": "2019-09-10T14:43:37.2010000Z", "Version": "1", "c": context, "_outcomes": slots,
         "VWState": {"m": "N/A"}, **besides}
    )  # fmt: skip


def write(path: Path, drawn: Any, *more: str, **besides: Any) -> Path:
    path.write_text("\n".join([*(event(number, page, **besides) for number, page in enumerate(drawn)), *more]) + "\n")
    return path


def plain(drawn: Any) -> sl.Logs:
    rows = []
    for number, page in enumerate(drawn):
        for place, (items, chances, click) in enumerate(page):
            logging, even = np.zeros(4), np.zeros(4)
            logging[items], even[items] = chances, 1 / len(items)
            rows.append((number, place, click, chances[0], items[0], logging.tolist(), even.tolist(), min(items)))
    names = ("page", "place", "click", "p", "item", "logging", "uniform", "first")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return sl.Logs(
        table, reward="click", propensity="p", action="item", logging="logging", cluster="page", cluster_size=2,
        position="place",
    )  # fmt: skip


def test_pages_give_the_answers_of_the_plain_table(tmp_path: Path) -> None:
    drawn = pages(1_500)
    imported = importers.ccb(write(tmp_path / "log.json", drawn))
    assert imported.logs.count() == 3_000
    for name, form in {"first": sl.chosen("first"), "uniform": "uniform"}.items():
        ours = sl.compare(imported.logs, {name: imported.policies[name]})
        theirs = sl.compare(plain(drawn), {name: form})
        assert ours.rounds == 1_500
        assert ours.control == "weights"
        assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), rel=1e-12)
    # First come 0 and 1: rates 0.1 and 0.2, halved in the second slot.
    value: Any = sl.evaluate(imported.logs, imported.policies)["first"]
    assert value.lower <= 0.1 <= value.upper
    assert any("later actions" in line for line in value.assumptions)
    assert sl.check(imported.logs, imported.policies).ok


def test_the_command_line_and_certificates(tmp_path: Path) -> None:
    write(tmp_path / "log.json", pages(1_000))
    done = run("evaluate", "log.json", "--format", "ccb", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["policies"]) == {"first", "uniform"}
    flags = ("--format", "ccb", "--policy", "uniform")
    assert run("compare", "log.json", *flags, "--certificate", "c.json", folder=tmp_path).returncode in (0, 3)
    assert run("verify", "c.json", "log.json", "--format", "ccb", folder=tmp_path).returncode == 0


def test_sampled_pages_are_kept_or_dropped_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", pages(200), pdrop=0.5)
    imported = importers.ccb(path, rounds_before_sampling=400)
    assert sl.evaluate(imported.logs, imported.policies)["uniform"].rounds == 400


SLOT = '{"_label_cost":0,"_a":[0,1],"_p":[0.5,0.5]}'
BROKEN = {
    '{"_outcomes":[' + SLOT + '],"c":{"_slots":[{},{}]}}': "one entry in _outcomes for each slot",
    "{": "lines are not JSON",
    '{"_label_cost":0}': "no slots in _outcomes",
    '{"_outcomes":[]}': "no slots in _outcomes",
    '{"_outcomes":[{"_a":[0],"_p":[1]}]}': "no number in _label_cost of a slot",
    '{"_outcomes":[{"_label_cost":0,"_a":[0,1],"_p":[1]}]}': "lists _a and _p of equal length",
    '{"_outcomes":[{"_label_cost":0,"_a":[0,0],"_p":[0.5,0.5]}]}': "does not list its actions, from 0, once each",
    '{"_outcomes":[{"_label_cost":0,"_a":[9999999],"_p":[1]}]}': "does not list its actions, from 0, once each",
    '{"_outcomes":[{"_label_cost":0,"_a":[0],"_p":["x"]}]}': "entry in _p that is not a number",
    '{"_outcomes":[' + SLOT + "," + SLOT + "]}": "offer an action again",
    '{"_outcomes":[' + SLOT + '],"pdrop":1}': "pdrop outside",
    '{"_outcomes":[{"_label_cost":0,"_original_label_cost":-1,"_a":[0],"_p":[1]}]}': "apprentice mode",
}


@pytest.mark.parametrize("line", BROKEN)
def test_broken_events_are_counted(line: str, tmp_path: Path) -> None:
    imported = importers.ccb(write(tmp_path / "log.json", pages(3), line))
    with pytest.raises(sl.LogsError) as error:
        sl.evaluate(imported.logs, imported.policies)
    assert BROKEN[line] in str(error.value)
    assert "line 4" in str(error.value)


def test_events_that_were_never_shown_are_left_out(tmp_path: Path) -> None:
    drawn = pages(20)
    imported = importers.ccb(write(tmp_path / "log.json", drawn, event(99, drawn[0], _skipLearn=True), ""))
    assert imported.logs.count() == 40
    assert sum(imported.left_out.values()) == 1
