"""Vowpal Wabbit's slates: the answers of slates by hand, and predictions that VW itself wrote; and CCB's refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift import importers
from tests.importers.test_slots import pages as ccb_pages
from tests.importers.test_slots import write as write_ccb
from tests.importers.vw import TIME, predict

SIZES = (2, 3)
OLD = (np.array([0.6, 0.4]), np.array([0.5, 0.3, 0.2]))
ADDS = (np.array([0.05, 0.3]), np.array([0.1, 0.2, 0.4]))


def drawn(count: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shown = np.stack([rng.choice(len(p), size=count, p=p) for p in OLD], axis=1)
    return {"shown": shown, "success": (rng.random(count) < ADDS[0][shown[:, 0]] + ADDS[1][shown[:, 1]]).astype(float)}


def event(data: dict[str, Any], i: int, *, whole: bool = True, **besides: Any) -> str:
    outcomes = []
    for place, old in enumerate(OLD):
        taken = int(data["shown"][i, place])
        order = [taken, *(k for k in range(len(old)) if k != taken)]
        shares = old[order].tolist()
        outcomes.append({"_a": order, "_p": shares} if whole else {"_a": taken, "_p": shares[0]})
    actions = [{"_slot_id": place, "A": {"id": f"{place}{k}"}} for place, size in enumerate(SIZES) for k in range(size)]
    return json.dumps(
        {
            "_label_cost": -data["success"][i], "_outcomes": outcomes, "EventId": f"e{i}", "Timestamp": TIME, "Version": "1",
            "c": {"User": {"age": 30 + i % 7}, "_multi": actions, "_slots": [{"S": {"p": "top"}}, {"S": {"p": "low"}}]},
            "VWState": {"m": "N/A"}, **besides,
        }
    )  # fmt: skip


def write(path: Path, data: dict[str, Any], *more: str, whole: bool = True) -> Path:
    lines = [event(data, i, whole=whole) for i in range(len(data["success"]))]
    path.write_text("\n".join([*lines, *more]) + "\n")
    return path


def by_hand(data: dict[str, Any], new: Any, weight: Any) -> sl.importers.Imported:
    shown, pages = data["shown"], len(data["success"])
    table = {
        "page": np.repeat(np.arange(pages), 2), "r": np.repeat(data["success"], 2),
        "p": np.stack([old[shown[:, place]] for place, old in enumerate(OLD)], axis=1).ravel(),
        "first": (shown == 0).astype(float).ravel(), "uniform": np.tile([1 / 2, 1 / 3], pages),
        "new": np.full(2 * pages, 0.0) if new is None else new,
    }  # fmt: skip
    return importers.slates(
        table, ["first", "uniform", "new"], slate="page", reward="r", propensity="p", weight=weight,
        probabilities="independent", size=2 if weight == "additive" else None,
    )  # fmt: skip


@pytest.mark.parametrize("weight", ["product", "additive"])
@pytest.mark.parametrize("whole", [True, False])
def test_slates_give_the_answers_of_the_plain_table(weight: Any, whole: bool, tmp_path: Path) -> None:
    data = drawn(1_500)
    path = write(tmp_path / "log.json", data, whole=whole)
    imported = importers.vw_slates(path, weight=weight, size=2 if weight == "additive" else None)
    plain = by_hand(data, None, weight)
    for name in ("first", "uniform"):
        ours = sl.compare(imported.logs, {name: imported.policies[name]})
        theirs = sl.compare(plain.logs, {name: plain.policies[name]})
        assert (ours.lower, ours.upper, ours.rounds) == (theirs.lower, theirs.upper, 1_500)
        assert ours.provenance.fingerprint == theirs.provenance.fingerprint
    # Uniform pages succeed with the mean of what each slot adds.
    value = sl.evaluate(imported.logs, {"uniform": imported.policies["uniform"]})["uniform"]
    assert value.lower <= ADDS[0].mean() + ADDS[1].mean() <= value.upper


@pytest.mark.parametrize("weight", ["product", "additive"])
def test_predictions_that_vw_wrote(weight: Any, tmp_path: Path) -> None:
    data = drawn(600)
    path = write(tmp_path / "log.json", data)
    written = predict("--slates --dsjson --epsilon 0.2", path, tmp_path / "new.txt")
    lines = [line for line in written.read_text().splitlines() if line]
    new = []
    for line, action in zip(lines, data["shown"].ravel(), strict=True):
        shares = {int(k): float(p) for k, p in (part.split(":") for part in line.split(","))}
        new.append(shares[int(action)] / sum(shares.values()))
    assert len(set(new)) > 3
    size = 2 if weight == "additive" else None
    imported = importers.vw_slates(path, weight=weight, predicted={"new": written}, size=size)
    plain = by_hand(data, np.array(new), weight)
    ours = sl.compare(imported.logs, {"new": imported.policies["new"]})
    theirs = sl.compare(plain.logs, {"new": plain.policies["new"]})
    assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), abs=1e-9)


def test_predictions_that_do_not_fit(tmp_path: Path) -> None:
    path, new = write(tmp_path / "log.json", drawn(3)), tmp_path / "new.txt"
    for text, says in {
        "0:0.5,1:0.5\n": "has 1 lines of predictions, but the log has 6 slots",
        "0\n" * 6: "must hold the probabilities",
        "0:1\n" * 6: "fewer actions than the log",
    }.items():
        new.write_text(text)
        with pytest.raises(sl.UsageError, match=says):
            importers.vw_slates(path, weight="product", predicted={"new": new})
    with pytest.raises(sl.UsageError, match="weight must be 'product' or 'additive'"):
        importers.vw_slates(path, weight="independent")  # type: ignore[arg-type]
    (tmp_path / "sampled.json").write_text(event(drawn(1), 0, pdrop=0.5) + "\n")
    with pytest.raises(sl.UsageError, match="pdrop"):
        importers.vw_slates(tmp_path / "sampled.json", weight="product")


BROKEN = {
    '{"_label_cost":0,"_outcomes":[{"_a":[0],"_p":[1]}],"c":{"_slots":[{},{}]}}': "one entry in _outcomes for each slot",
    "{": "lines are not JSON",
    '{"_label_cost":0}': "no slots in _outcomes",
    '{"_outcomes":[{"_label_cost":0,"_a":[0],"_p":[1]}]}': "read them by the format ccb",
    '{"_label_cost":0,"_outcomes":[{"_a":0,"_p":1}]}': "no lists _a and _p of equal length",
    '{"_label_cost":0,"_outcomes":[{"_a":[0,1],"_p":[1]}]}': "no lists _a and _p of equal length",
    '{"_label_cost":0,"_outcomes":[{"_a":[0,2],"_p":[0.5,0.5]}]}': "does not list its actions",
    '{"_label_cost":0,"_outcomes":[{"_a":[0,1],"_p":[0.5,0.4]}]}': "do not sum to 1",
    '{"_label_cost":0,"_outcomes":[{"_a":[0,1],"_p":[0.5,"x"]}]}': "not a number",
    '{"_label_cost":0,"_outcomes":[{"_a":1,"_p":0.5}],"c":{"_multi":[{"_slot_id":0}]}}': "does not match the actions",
    '{"_label_cost":0,"_outcomes":[{"_a":1,"_p":0.5}],"c":{"_multi":[{"_slot_id":[0]},2]}}': "does not match the actions",
    '{"_label_cost":0,"_outcomes":[{"_a":1,"_p":0.5}],"c":{"_multi":7}}': "no lists _a and _p of equal length",
    '{"_label_cost":"x","_outcomes":[{"_a":[0],"_p":[1]}]}': "no number in _label_cost",
}


@pytest.mark.parametrize("line", BROKEN)
def test_broken_events_are_counted(line: str, tmp_path: Path) -> None:
    with pytest.raises(sl.LogsError) as told:
        importers.vw_slates(write(tmp_path / "log.json", drawn(3), line), weight="product")
    assert BROKEN[line] in str(told.value)
    assert "line 4 of" in str(told.value)


def test_other_formats_name_the_one_that_reads_them(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", drawn(3))
    for kind in ("dsjson", "ccb"):
        with pytest.raises(sl.LogsError, match=r"3 events are slates.*importers.vw_slates"):
            sl.evaluate(importers.read(kind, [path]).logs, "production")


def test_json_is_recognised_by_its_first_line(tmp_path: Path) -> None:
    whole = write(tmp_path / "slates.json", drawn(1))
    lines = {
        "ccb": write_ccb(tmp_path / "ccb.json", ccb_pages(1)).read_text(),
        "cats": '{"_label_ca": {}}\n',
        "dsjson": '{"_label_cost": 0, "_label_probability": 1, "a": [1], "p": [1]}\n',
        None: '{"reward": 1}\n',
    }
    for kind, text in lines.items():
        (tmp_path / "log.jsonl").write_text(text)
        (tmp_path / "log.json.gz").write_bytes(gzip.compress(text.encode()))
        assert importers.format_of(tmp_path / "log.jsonl") == importers.format_of(tmp_path / "log.json.gz") == kind
    assert importers.format_of(whole) == "ccb"  # which tells how slates are read
    for broken in (b"{", b"[1]", b"", b"[" * 100_000):
        (tmp_path / "log.jsonl").write_bytes(broken)
        (tmp_path / "log.json.gz").write_bytes(gzip.compress(broken)[:-6])
        assert importers.format_of(tmp_path / "log.jsonl") is importers.format_of(tmp_path / "log.json.gz") is None
    assert importers.format_of(tmp_path / "none.json") is None


def test_predictions_for_the_slots_of_ccb_are_refused(tmp_path: Path) -> None:
    """VW draws the slots anew, so that what it lists for a slot is left by its own draws, not by those in the log."""
    path = write_ccb(tmp_path / "log.json", ccb_pages(30))
    written = predict("--ccb_explore_adf --dsjson --epsilon 0.2", path, tmp_path / "new.txt")
    with pytest.raises(sl.LogsError, match="its own draws left, not the log's"):
        importers.predictions(written)


def test_pages_of_ccb_have_their_contexts(tmp_path: Path) -> None:
    imported = importers.ccb(write_ccb(tmp_path / "log.json", ccb_pages(300)))
    found = sl.compare(imported.logs, {"first": imported.policies["first"]}, by="GUser.major")
    assert set(found) == {"psychology"}
