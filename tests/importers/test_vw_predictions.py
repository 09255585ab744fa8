"""What Vowpal Wabbit itself writes with -p, as policies: the same answers as the table made by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift import importers
from tests.cli.test_cli import run
from tests.importers.test_vw_contexts import plain
from tests.importers.vw import predict, visits, write_adf, write_cb, write_dsjson

ROUNDS = 400


def rows(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line.strip()]


def distribution(line: str) -> list[float]:
    by_action = {int(k): float(p) for k, p in (part.split(":") for part in line.split()[0].split(","))}
    shares = [by_action[k] for k in sorted(by_action)]
    return [share / sum(shares) for share in shares]


def read(kind: str, path: Path) -> sl.Logs:
    options: dict[str, Any] = {"action_count": 3} if kind == "cb" else {}
    return importers.read(kind, [path], **options).logs


@pytest.mark.parametrize(
    "kind, options",
    [
        ("dsjson", "--cb_explore_adf --dsjson --epsilon 0.2 -q UA"),
        ("cb_adf", "--cb_explore_adf --epsilon 0.2 -q UA"),
        ("cb", "--cb_explore 3 --epsilon 0.2"),
        ("dsjson", "--cb_explore_adf --dsjson --softmax --lambda 3 -q UA"),
        ("cb_adf", "--cb_explore_adf --epsilon 0.2 --cb_sample"),
    ],
)
def test_probabilities(kind: str, options: str, tmp_path: Path) -> None:
    data = visits(ROUNDS)
    path = {"dsjson": write_dsjson, "cb": write_cb, "cb_adf": write_adf}[kind](tmp_path / f"log.{kind}", data)
    written = predict(options, path, tmp_path / "new.txt")
    logs = read(kind, path)
    shares = [distribution(line) for line in rows(written)]
    assert len({tuple(row) for row in shares}) > 1
    known: dict[str, Any] = {"dsjson": {"logging": "l"}, "cb": {"action_count": 3}, "cb_adf": {"action_count": "k"}}
    ours = sl.compare(logs, {"new": importers.predictions(written)})
    theirs = sl.compare(plain(data, **known[kind]), {"new": np.array(shares)})
    assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), abs=1e-9)
    assert ours.control == theirs.control


@pytest.mark.parametrize(
    "kind, options, first",
    [
        ("cb", "--cb 3", 0),
        ("cb", "--cb 3 --cb_force_legacy", 1),
        ("cb_adf", "--cb_adf -q UA", 0),
        ("dsjson", "--cb_adf --dsjson -q UA", 0),
    ],
)
def test_one_action_per_line_is_a_deterministic_policy(kind: str, options: str, first: int, tmp_path: Path) -> None:
    data = visits(ROUNDS)
    path = {"dsjson": write_dsjson, "cb": write_cb, "cb_adf": write_adf}[kind](tmp_path / f"log.{kind}", data)
    written = predict(options, path, tmp_path / "new.txt")
    chosen = np.array([int(line) for line in rows(written)]) - first
    assert set(chosen) == {0, 1, 2}
    logs = read(kind, path)
    new = importers.predictions(written, first_action=1) if first else importers.predictions(written)
    known: dict[str, Any] = {"dsjson": {"logging": "l"}, "cb": {"action_count": 3}, "cb_adf": {"action_count": "k"}}
    theirs = sl.compare(plain(data, **known[kind]), {"new": np.eye(3)[chosen]})
    ours = sl.compare(logs, {"new": new})
    assert (ours.lower, ours.upper, ours.control) == (theirs.lower, theirs.upper, theirs.control)
    assert sl.verify(sl.Certificate.of(ours), logs, {"new": new}).same


def test_actions_whose_numbering_is_not_told_are_refused(tmp_path: Path) -> None:
    data = visits(3)
    path, new = write_cb(tmp_path / "log.cb", data), tmp_path / "new.txt"
    logs = importers.cb(path, action_count=3).logs
    new.write_text("1\n2\n1\n")
    with pytest.raises(sl.UsageError, match=r"none is 0, .* first_action=, 0 or 1"):
        importers.predictions(new)
    for first in (0, 1):
        chosen = np.eye(3)[np.array([1, 2, 1]) - first]
        answer = sl.evaluate(logs, {"new": importers.predictions(new, first_action=first)})["new"]
        assert answer.estimate == sl.evaluate(plain(data, action_count=3), {"new": chosen})["new"].estimate
    done = run("evaluate", "log.cb", "--action-count", "3", "--predictions", "new.txt", folder=tmp_path)
    assert done.returncode == 2
    assert "Say which in --first-action, 0 or 1" in done.stderr
    done = run(
        "compare", "log.cb", "--action-count", "3", "--predictions", "new.txt", "--first-action", "1", "--certificate",
        "c.json", folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "--first-action 1" in done.stderr
    flags = ("--predictions", "new.txt", "--first-action", "1")
    assert run("verify", "c.json", "log.cb", *flags, folder=tmp_path).returncode == 0
    new.write_text("1\n0\n1\n")
    with pytest.raises(sl.UsageError, match="holds action 0"):
        importers.predictions(new, first_action=1)
    with pytest.raises(sl.UsageError, match="must be 0 or 1"):
        importers.predictions(new, first_action=2)  # type: ignore[arg-type]
    new.write_text("0\n3\n1\n")
    with pytest.raises(sl.LogsError, match=r"'new'.*1 of 3"):
        sl.evaluate(logs, {"new": importers.predictions(new)})


def test_six_decimals_of_many_actions_are_rescaled(tmp_path: Path) -> None:
    """VW writes 0.950833 and 59 times 0.000833: 0.99998 in all."""
    log = tmp_path / "log.cb_adf"
    events = []
    for taken in range(20):
        actions = [f"{'0:-1:0.5 ' if k == taken else ''}|A id={k}" for k in range(60)]
        events.append("\n".join(["shared |U x", *actions]) + "\n\n")
    log.write_text("".join(events))
    written = predict("--cb_explore_adf --epsilon 0.05", log, tmp_path / "new.txt")
    printed = [sum(float(part.split(":")[1]) for part in line.split(",")) for line in rows(written)]
    assert max(abs(total - 1.0) for total in printed) > 1e-5
    logs = importers.cb_adf(log).logs
    assert sl.evaluate(logs, {"new": importers.predictions(written)})["new"].rounds == 20


def test_events_that_are_left_out_have_no_prediction(tmp_path: Path) -> None:
    """VW skips what was never shown and rewards without a decision, and so does the importer."""
    from tests.importers.vw import dsjson

    data = visits(50)
    path = write_dsjson(
        tmp_path / "log.dsjson",
        data,
        dsjson(data, 0, _skipLearn=True),
        '{"RewardValue":1,"EventId":"x"}',
        dsjson(data, 1, EventId="again"),
    )
    imported = importers.dsjson(path)
    written = predict("--cb_explore_adf --dsjson", path, tmp_path / "new.txt")
    assert sl.evaluate(imported.logs, {"new": importers.predictions(written)})["new"].rounds == 51
    assert sum(imported.left_out.values()) == 2


@pytest.mark.parametrize(
    "options, says",
    [
        ("--cb_adf --rank_all", "line 1 of .* These are scores"),
        ("--cb_explore_adf", "predictions for 400 events, but the log has 399 rounds"),
    ],
)
def test_what_cannot_be_read(options: str, says: str, tmp_path: Path) -> None:
    path = write_adf(tmp_path / "log.cb_adf", visits(400))
    written = predict(options, path, tmp_path / "new.txt")
    logs = importers.cb_adf(write_adf(tmp_path / "fewer.cb_adf", visits(399))).logs
    with pytest.raises((sl.LogsError, sl.UsageError), match=says):
        sl.compare(logs, {"new": importers.predictions(written)})


@pytest.mark.parametrize(
    "text, says",
    [
        ("0.5,0.5\n1\n", "line 2 of .* holds one action, but line 1 probabilities"),
        ("0:0.5,2:0.5\n", "line 1 of .* each action from 0 once"),
        ("0:1.5,1:-0.5\n", "line 1 of .* no probabilities, with a sum of 1"),
        ("99999999999\n", "too large"),
        ("0:nan,1:0.5\n", "no probabilities"),
        ("0-1:0.5,0.5-2:0.5\n", "overlap"),
        ("0-1:0.5\n", "no density with a mass of 1"),
        ("0-1:0.5,x\n", "no density with a mass of 1"),
    ],
)
def test_broken_predictions(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text(text)
    with pytest.raises(sl.LogsError, match=says):
        importers.predictions(tmp_path / "new.txt")
    with pytest.raises((sl.LogsError, sl.UsageError)):
        importers.predictions(tmp_path / "new.txt", first_action=0)
