"""Vowpal Wabbit's formats: the same bounds as the plain table, and every invalid line counted."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift import importers
from surelift.errors import LogsError, UsageError
from tests.cli.test_cli import run

ROUNDS = 3_000


def decisions(seed: int = 3, rounds: int = ROUNDS) -> dict[str, Any]:
    """A news page with two to five articles; production shows one of them."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, 6, rounds)
    logging = [rng.dirichlet(np.ones(k) * 2) for k in counts]
    action = np.array([rng.choice(len(row), p=row) for row in logging])
    click = (rng.random(rounds) < np.where(action == 0, 0.4, 0.15)).astype(float)
    propensity = np.array([row[a] for row, a in zip(logging, action, strict=True)])
    return {"logging": logging, "action": action, "click": click, "propensity": propensity, "counts": counts}


def plain(data: dict[str, Any]) -> sl.Logs:
    return sl.Logs(
        {"r": data["click"], "p": data["propensity"], "a": data["action"], "l": [list(row) for row in data["logging"]],
         "first": np.zeros(len(data["action"]), dtype=int)},
        reward="r", propensity="p", action="a", logging="l",
    )  # fmt: skip


def dsjson_line(data: dict[str, Any], i: int, **besides: Any) -> str:
    """An event as the service writes it: actions ranked, the logged one first."""
    shares, taken = data["logging"][i], int(data["action"][i])
    order = [taken, *(k for k in range(len(shares)) if k != taken)]
    return json.dumps(
        {
            "_label_cost": -data["click"][i], "_label_probability": float(data["propensity"][i]),
            "_label_Action": taken + 1, "_labelIndex": taken, "o": [{"v": 1.0, "EventId": f"o{i}"}],
            "Timestamp": "2021-02-24T19:26:36.1750000Z", "Version": "1", "EventId": f"e{i}",
            "a": [k + 1 for k in order],
            "c": {"GUser": {"id": "a", "major": "eng"}, "_multi": [{"TAction": {"t": k}} for k in range(len(shares))]},
            "p": [float(shares[k]) for k in order], "VWState": {"m": "ff0744c1aa494e1ab39ba0c78d048146"}, **besides,
        },
        separators=(",", ":"),
    )  # fmt: skip


def write_dsjson(path: Path, data: dict[str, Any], *more: str, **besides: Any) -> Path:
    lines = [dsjson_line(data, i, **besides) for i in range(len(data["action"]))]
    text = "\n".join([*lines, *more]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["log.dsjson", "log.dsjson.gz"])
def test_dsjson_gives_the_same_bounds_as_the_plain_table(name: str, tmp_path: Path) -> None:
    data = decisions()
    imported = importers.dsjson(write_dsjson(tmp_path / name, data))
    assert list(imported.policies) == ["first", "uniform"]
    for policy, form in {"first": sl.chosen("first"), "uniform": sl.uniform()}.items():
        for question in (sl.compare, sl.evaluate):
            answers: list[Any] = [
                question(imported.logs, {policy: imported.policies[policy]}), question(plain(data), {policy: form}),
            ]  # fmt: skip
            ours, theirs = (answer if question is sl.compare else answer[policy] for answer in answers)
            assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)
            assert ours.control == "weights"
    assert sl.check(imported.logs, imported.policies).ok


def test_the_command_line_reads_dsjson(tmp_path: Path) -> None:
    write_dsjson(tmp_path / "log.dsjson", decisions())
    done = run("evaluate", "log.dsjson", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["policies"]) == {"first", "uniform"}
    done = run("compare", "log.dsjson", "--policy", "first", "--certificate", "c.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Certified: 'first' is better than production." in done.stdout
    assert run("verify", "c.json", "log.dsjson", folder=tmp_path).returncode == 0
    done = run("compare", "log.dsjson", folder=tmp_path)
    assert done.returncode == 2
    assert "there are 2 candidates (first, uniform)" in done.stderr
    done = run("evaluate", "log.dsjson", "--reward", "click", folder=tmp_path)
    assert done.returncode == 2
    assert "defines its own columns and takes no --reward" in done.stderr
    for command in ("check", "select", "simulate", "report"):
        extra = ["--runs", "2", "--rounds", "100"] if command == "simulate" else []
        assert run(command, "log.dsjson", *extra, folder=tmp_path).returncode in (0, 3), command


def test_lines_that_are_not_decisions_are_skipped_and_reported(tmp_path: Path) -> None:
    data = decisions(rounds=50)
    skipped = dsjson_line(data, 0, _skipLearn=True)
    dangling = json.dumps({"RewardValue": 1.0, "EnqueuedTimeUtc": "2021", "EventId": "x"})
    path = write_dsjson(tmp_path / "log.dsjson", data, skipped, dangling, dangling, "")
    imported = importers.dsjson(path)
    assert imported.logs.count() == 50
    assert sorted(imported.left_out.values()) == [1, 2]
    done = run("evaluate", path, folder=tmp_path)
    assert "Left out: 2 rewards without a decision" in done.stderr
    assert "Left out: 1 events marked _skipLearn" in done.stderr


BROKEN = {
    '{"_label_cost":-1,"_label_prob': "lines are not JSON",
    '{"_label_cost":-1,"_label_Action":1,"a":[1,2],"p":[0.5,0.5]}': "_label_probability, which has no default",
    '{"_label_probability":0.5,"_label_Action":1,"a":[1,2],"p":[0.5,0.5]}': "no number in _label_cost",
    '{"_label_cost":-1,"_label_probability":0.5,"a":[1,2],"p":[0.5]}': "no lists a and p of equal length",
    '{"_label_cost":-1,"_label_probability":0.5,"a":[1,1],"p":[0.5,0.5]}': "do not rank the actions 1 to K",
    '{"_label_cost":-1,"_label_probability":0.5,"a":[1,2],"p":[0.5,"x"]}': "entry in p that is not a number",
    '{"_label_cost":-1,"_label_probability":0.5,"_label_Action":7,"a":[1,2],"p":[0.5,0.5]}': "not in a",
    '{"_label_cost":-1,"_label_probability":0.5,"a":[1,2],"p":[0.5,0.5],"pdrop":1}': "pdrop outside",
    '{"_label_cost":NaN,"_label_probability":0.5,"a":[1,2],"p":[0.5,0.5]}': "no number in _label_cost",
    '{"_outcomes":[{"_label_cost":-1}]}': "each with a cost (CCB): read them by the format ccb",
    '{"something":"else"}': "no number in _label_cost",
    "[1, 2]": "not JSON objects",
    '{"_label_cost":-1,"_label_probability":0.5,"a":[],"p":[]}': "do not rank the actions 1 to K",
    '{"_label_cost":-1,"_label_probability":0.5,"a":["1","2"],"p":[0.5,0.5]}': "do not rank the actions 1 to K",
    '{"_label_cost":-1' + "0" * 400 + ',"_label_probability":0.5,"a":[1,2],"p":[0.5,0.5]}': "no number in _label_cost",
    '{"_label_cost":-1,"_skipLearn":"false","_label_probability":0.5,"a":[1],"p":[1]}': "neither true nor false",
    '{"_label_cost":-1,"_label_probability":1,"a":[1],"p":[1],"p\\u0064rop":0.5}': "that the first scan",
    "[" * 100_000: "lines are not JSON",
    '{"_label_cost":-1,"_label_probability":0,"_original_label_cost":0}': "apprentice mode",
    '{"_label_cost":-1,"_outcomes":[]}': "read them by importers.vw_slates",
    '{"_label_ca":{}}': "read them by the format cats",
    '{"_label_cost":-1,"_label_probability":1,"a":[1],"p":[1],"_label_Action":2}': "action in _label_Action",
    '{"_label_cost":-1,"_label_probability":1,"a":[1]': "lines are not JSON",
}


@pytest.mark.parametrize("line", BROKEN, ids=range(len(BROKEN)))
def test_invalid_lines_are_counted_and_rejected(line: str, tmp_path: Path) -> None:
    path = write_dsjson(tmp_path / "log.dsjson", decisions(rounds=20), line, "", line)
    with pytest.raises(LogsError) as refused:
        sl.evaluate(importers.dsjson(path).logs, "production")
    assert BROKEN[line] in str(refused.value)
    assert "2 events cannot be read as dsjson" in str(refused.value)
    assert "line 21 of" in str(refused.value)
    assert run("evaluate", path, folder=tmp_path).returncode == 4


def test_a_propensity_that_differs_from_p_is_rejected(tmp_path: Path) -> None:
    path = write_dsjson(tmp_path / "log.dsjson", decisions(rounds=20), _label_probability=0.123)
    with pytest.raises(LogsError, match="propensity"):
        sl.evaluate(importers.dsjson(path).logs, "production")


def test_a_propensity_of_zero_is_rejected(tmp_path: Path) -> None:
    data = decisions(rounds=20)
    data["propensity"][3] = 0.0
    with pytest.raises(LogsError, match="row 3"):
        sl.evaluate(importers.dsjson(write_dsjson(tmp_path / "log.dsjson", data)).logs, "production")


def test_an_original_cost_that_is_the_cost_is_read(tmp_path: Path) -> None:
    data = decisions(rounds=20)
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(dsjson_line(data, i, _original_label_cost=-data["click"][i]) for i in range(20)) + "\n")
    assert importers.dsjson(path).logs.count() == 20


def test_sampled_events(tmp_path: Path) -> None:
    """All clicks and 20% of the rest are kept, as pdrop says; the number of events before sampling is required."""
    data = decisions(rounds=6_000)
    rng = np.random.default_rng(1)
    dropped = np.where(data["click"] == 1, 0.0, 0.8)
    kept = rng.random(6_000) >= dropped
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(dsjson_line(data, i, pdrop=float(dropped[i])) for i in range(6_000) if kept[i]) + "\n")
    with pytest.raises(LogsError, match="rounds_before_sampling is not known"):
        sl.evaluate(importers.dsjson(path).logs, "production")
    imported = importers.dsjson(path, rounds_before_sampling=6_000)
    table = {
        "r": data["click"][kept], "p": data["propensity"][kept], "a": data["action"][kept], "k": 1.0 - dropped[kept],
        "l": [list(row) for row, keep in zip(data["logging"], kept, strict=True) if keep],
        "first": np.zeros(int(kept.sum()), dtype=int),
    }  # fmt: skip
    logs = sl.Logs(
        table, reward="r", propensity="p", action="a", logging="l", keep_probability="k", rounds_before_sampling=6_000
    )
    ours, theirs = sl.compare(imported.logs, imported.policies["first"]), sl.compare(logs, sl.chosen("first"))
    assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)
    never = write_dsjson(tmp_path / "whole.dsjson", decisions(rounds=20), pdrop=0.0)
    assert "keep_probability" not in importers.dsjson(never).logs.declaration.describe()
    done = run("evaluate", path, "--rounds-before-sampling", "6000", folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_many_pieces_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from surelift.importers import events

    data = decisions(rounds=500)
    whole = importers.dsjson(write_dsjson(tmp_path / "whole.dsjson", data))
    answer = sl.compare(whole.logs, {"first": whole.policies["first"]})
    monkeypatch.setattr(events, "BYTES_PER_PIECE", 2_000)
    (tmp_path / "parts").mkdir()
    lines = (tmp_path / "whole.dsjson").read_text().splitlines(keepends=True)
    for part in range(2):
        (tmp_path / "parts" / f"{part}.dsjson").write_text("".join(lines[250 * part : 250 * (part + 1)]))
    parts = importers.dsjson(str(tmp_path / "parts" / "*.dsjson"))
    again = sl.compare(parts.logs, {"first": parts.policies["first"]})
    assert again.provenance.fingerprint == answer.provenance.fingerprint
    assert again.lower == pytest.approx(answer.lower, abs=1e-12)
    parts.to_parquet(tmp_path / "log.parquet")
    table = sl.Logs(tmp_path / "log.parquet", reward="reward", propensity="propensity", action="action", logging="logging")
    assert sl.compare(table, sl.chosen("first_action")).lower == pytest.approx(answer.lower, abs=1e-12)


def test_unpaired_surrogates_and_invalid_paths(tmp_path: Path) -> None:
    path = write_dsjson(tmp_path / "log.dsjson", decisions(rounds=20), EventId="\ud800")
    assert importers.dsjson(path).logs.count() == 20
    for wrong in (None, 3, [], [3]):
        with pytest.raises(UsageError, match="no file was given"):
            importers.dsjson(wrong)  # type: ignore[arg-type]


def test_a_truncated_file_is_reported(tmp_path: Path) -> None:
    path = write_dsjson(tmp_path / "log.dsjson.gz", decisions(rounds=200))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(LogsError, match="cannot be read"):
        sl.evaluate(importers.dsjson(path).logs, "production")


def write_cb(path: Path, data: dict[str, Any], *more: str) -> Path:
    lines = [
        f"{a + 1}:{-r:g}:{p!r} | morning user={i}"
        for i, (a, r, p) in enumerate(zip(data["action"], data["click"], data["propensity"].tolist(), strict=True))
    ]
    path.write_text("\n".join([*lines, *more]) + "\n")
    return path


def write_adf(path: Path, data: dict[str, Any], *more: str) -> Path:
    events = []
    for i, (shares, taken) in enumerate(zip(data["logging"], data["action"], strict=True)):
        lines = [f"shared |User id={i}"]
        for k in range(len(shares)):
            label = f"0:{-data['click'][i]:g}:{data['propensity'][i].item()!r} " if k == taken else ""
            lines.append(f"{label}|Article id={k}")
        events.append("\n".join(lines))
    path.write_text("\n\n".join([*events, *more]) + "\n")
    return path


def predicted(data: dict[str, Any], path: Path, *, pairs: bool) -> list[list[float]]:
    """Write another policy's predictions as 'vw -p' does, and return them in action order."""
    rng, shown, rows = np.random.default_rng(8), [], []
    for k in data["counts"]:
        shares = rng.dirichlet(np.ones(k)).tolist()
        rows.append(shares)
        ranked = sorted(range(k), key=lambda a: -shares[a])
        shown.append(",".join(f"{a}:{shares[a]!r}" for a in ranked) if pairs else ",".join(map(repr, shares)))
    path.write_text(("\n\n" if pairs else "\n").join(shown) + "\n")
    return rows


def test_cb_gives_the_same_bounds_as_the_plain_table(tmp_path: Path) -> None:
    data = decisions()
    imported = importers.cb(write_cb(tmp_path / "log.cb", data), action_count=5)
    logs = sl.Logs(reward=data["click"], propensity=data["propensity"], action=data["action"], action_count=5)
    ours, theirs = sl.compare(imported.logs, imported.policies["uniform"]), sl.compare(logs, sl.uniform())
    assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)
    done = run("compare", "log.cb", "--action-count", "5", "--certificate", "c.json", folder=tmp_path)
    assert done.returncode == 3
    assert run("verify", "c.json", "log.cb", folder=tmp_path).returncode == 0


def test_cb_adf_gives_the_same_bounds_and_predictions_are_a_policy(tmp_path: Path) -> None:
    data = decisions()
    imported = importers.cb_adf(write_adf(tmp_path / "log.cb_adf", data))
    logs = sl.Logs(
        {"r": data["click"], "p": data["propensity"], "a": data["action"], "k": data["counts"], "first": data["action"] * 0},
        reward="r", propensity="p", action="a", action_count="k",
    )  # fmt: skip
    ours, theirs = sl.compare(imported.logs, imported.policies["first"]), sl.compare(logs, sl.chosen("first"))
    assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)
    for pairs in (True, False):
        shares = predicted(data, tmp_path / "new.txt", pairs=pairs)
        logged = [row[a] for row, a in zip(shares, data["action"], strict=True)]
        mine = sl.compare(imported.logs, {"new": importers.predictions(tmp_path / "new.txt")})
        assert mine.lower == pytest.approx(sl.compare(logs, {"new": logged}).lower, abs=1e-12)
    done = run("compare", "log.cb_adf", "--predictions", "new.txt", "--json", "--certificate", "c.json", folder=tmp_path)
    assert "surelift verify c.json SOURCE --predictions new.txt" in done.stderr
    assert run("verify", "c.json", "log.cb_adf", "--predictions", "new.txt", folder=tmp_path).returncode == 0
    assert json.loads(done.stdout)["lower"] == mine.lower
    (tmp_path / "log.txt").write_text((tmp_path / "log.cb_adf").read_text())
    done = run("evaluate", "log.txt", "--format", "cb_adf", "--json", folder=tmp_path)
    assert set(json.loads(done.stdout)["policies"]) == {"first", "uniform"}


@pytest.mark.parametrize(
    "line, says",
    [
        ("1:0.5 | x", "the probability has no default"),
        ("| x", "events have no label"),
        ("1:0:0.5", "no '|'"),
        ("a:b:c | x", "three numbers"),
        ("0:1:0.5 | x", "actions are numbered from 1"),
        ("1:0:0.5 2:0:0.5 | x", "more than one label"),
        ("1:nan:0.5 | x", "not finite"),
        ("99999999999999999999999:-1:0.5 | x", "negative or too large"),
    ],
)
def test_broken_cb(line: str, says: str, tmp_path: Path) -> None:
    path = write_cb(tmp_path / "log.cb", decisions(rounds=20), line)
    with pytest.raises(LogsError, match=says.replace("|", r"\|")):
        sl.evaluate(importers.cb(path).logs, "production")


@pytest.mark.parametrize(
    "event, says",
    [
        ("shared | x", "no line for an action"),
        ("shared | x\n| a\n| b", "events have no label"),
        ("0:0:0.5 | a\n0:0:0.5 | b", "more than one label"),
        ("shared | x\n0:0:0.5 | a\nb", "without '|'"),
        ("0:0 | a\n| b", "has no default"),
        ("shared | a\n0:0:0.5 | x\nshared | b\n| z", "a blank line must end every event"),
    ],
)
def test_broken_cb_adf(event: str, says: str, tmp_path: Path) -> None:
    path = write_adf(tmp_path / "log.cb_adf", decisions(rounds=20), event)
    with pytest.raises(LogsError, match=says.replace("|", r"\|")):
        sl.evaluate(importers.cb_adf(path).logs, "production")


def test_broken_predictions(tmp_path: Path) -> None:
    for text in (b"0:0.5,2:0.5\n", b"0.5;0.5\n", b"\xff\xfe0.5\n"):
        (tmp_path / "new.txt").write_bytes(text)
        with pytest.raises(LogsError, match=r"line 1 of .*new.txt"):
            importers.predictions(tmp_path / "new.txt")
    with pytest.raises(UsageError, match="cannot be read"):
        importers.predictions(tmp_path / "none.txt")
    (tmp_path / "new.txt").write_text("0.5,0.5\n")
    logs = importers.cb(write_cb(tmp_path / "log.cb", decisions(rounds=20))).logs
    with pytest.raises(UsageError, match="predictions for 1 events, but the log has 20 rounds"):
        sl.compare(logs, {"new": importers.predictions(tmp_path / "new.txt")})
