"""RLlib's offline episodes; the batches are made here, in the layout of its JsonWriter, and read from a file it wrote."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift import importers
from tests.cli.test_cli import run


def episodes(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Up to three steps each; production goes right with probability 0.4, and the candidate where obs is positive."""
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        steps = dict[str, list[Any]](
            (name, []) for name in ("eps_id", "t", "obs", "actions", "action_prob", "rewards", "dones", "p_new")
        )
        for t in range(3):
            obs, right = rng.normal(), rng.random() < 0.4
            done = t == 2 or rng.random() < 0.2
            values = (
                10**30 + number, t, [obs, float(t)], int(right), 0.4 if right else 0.6,
                float(rng.random() < (0.8 if right == (obs > 0) else 0.2)), bool(done),
                0.9 if right == (obs > 0) else 0.1,
            )  # fmt: skip
            for column, value in zip(steps.values(), values, strict=True):
                column.append(value)
            if done:
                break
        found.append(steps)
    return found


def batches(found: list[dict[str, Any]], size: int = 7) -> list[dict[str, Any]]:
    """Batches of so many steps, which may begin within an episode."""
    whole = {name: [value for steps in found for value in steps[name]] for name in found[0]}
    count = len(whole["t"])
    return [
        {"type": "SampleBatch", **{name: column[first : first + size] for name, column in whole.items()}}
        for first in range(0, count, size)
    ]


def write(path: Path, written: list[Any]) -> Path:
    path.write_text("".join(f"{batch if isinstance(batch, str) else json.dumps(batch)}\n" for batch in written))
    return path


def favourite(table: Any) -> Any:
    obs = np.array([row[0] for row in table["obs"].to_pylist()])
    return np.column_stack([np.where(obs > 0, 0.1, 0.9), np.where(obs > 0, 0.9, 0.1)])


def test_episodes_give_the_answers_of_the_plain_table(tmp_path: Path) -> None:
    found = episodes(800)
    written = batches(found)
    whole = {
        name: [value for batch in written for value in batch[name]] for name in ("t", "rewards", "action_prob", "p_new")
    }
    number = np.concatenate([[k] * len(steps["t"]) for k, steps in enumerate(found)])
    plain = sl.Logs(
        {**whole, "number": number}, reward="rewards", propensity="action_prob", cluster="number", cluster_max=3,
        position="t",
    )  # fmt: skip
    imported = importers.rllib(write(tmp_path / "output-1.json", written), cluster_max=3, action_count=2)
    theirs = sl.compare(plain, "p_new")
    ours = sl.compare(imported.logs, "p_new")
    assert (ours.rounds, ours.lower, ours.upper) == (800, theirs.lower, theirs.upper)
    by_function = sl.compare(imported.logs, {"new": favourite}, control="none")
    assert (by_function.lower, by_function.upper) == pytest.approx((ours.lower, ours.upper), rel=1e-12)
    assert ours.certified
    logs = [
        {**{name: column for name, column in batch.items() if name != "action_prob"},
         "action_logp": [math.log(p) for p in batch["action_prob"]], "obs": "BCJNGGhAi6AAAACzAgAAAAAAA"}
        for batch in written
    ]  # fmt: skip
    packed = importers.rllib(write(tmp_path / "output-2.json", logs), cluster_max=3)
    assert sl.compare(packed.logs, "p_new").lower == pytest.approx(ours.lower, rel=1e-9)
    wrapped = [{"type": "MultiAgentBatch", "count": 7, "policy_batches": {"default_policy": one}} for one in written]
    again = importers.rllib(write(tmp_path / "output-3.json", wrapped), cluster_max=3)
    assert sl.compare(again.logs, "p_new").lower == ours.lower
    uniform: Any = sl.evaluate(imported.logs, imported.policies)["uniform"]
    assert uniform.lower < 0.5 * np.mean([len(steps["t"]) for steps in found]) / 3 < uniform.upper


def test_the_command_line(tmp_path: Path) -> None:
    write(tmp_path / "out.json", batches(episodes(500)))
    flags = ("out.json", "--format", "rllib", "--policy", "p_new")
    done = run("compare", *flags, "--cluster-max", "3", "--certificate", "c.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run("verify", "c.json", "out.json", "--format", "rllib", folder=tmp_path).returncode == 0
    missing = run("compare", *flags, folder=tmp_path)
    assert missing.returncode == 2
    assert "the format rllib needs --cluster-max" in missing.stderr


STEP: dict[str, Any] = {"eps_id": [1], "t": [0], "actions": [0], "rewards": [0.5], "action_prob": [0.5], "p_new": [0.5]}
BROKEN: dict[str, Any] = {
    "lines are not JSON": "{",
    "lines are not JSON objects": [1],
    "several policies": {"type": "MultiAgentBatch", "policy_batches": {"a": STEP, "b": STEP}},
    "no list of rewards": {**STEP, "rewards": None},
    "no list of eps_id as long": {**STEP, "eps_id": [1, 1]},
    "neither a number nor text": {**STEP, "eps_id": [None]},
    "entry in rewards that is not a number": {**STEP, "rewards": ["x"]},
    "not a whole number": {**STEP, "actions": [0.25]},
    "entry in actions that is not a number": {**STEP, "actions": [[0.1, 0.2]]},
    "it has no default": {**STEP, "action_prob": None},
    "no list of p_new": {name: column for name, column in STEP.items() if name != "p_new"},
}


@pytest.mark.parametrize("reason", BROKEN)
def test_broken_batches_are_counted(reason: str, tmp_path: Path) -> None:
    imported = importers.rllib(write(tmp_path / "out.json", [STEP, BROKEN[reason]]), cluster_max=3)
    with pytest.raises(sl.LogsError) as error:
        sl.compare(imported.logs, "p_new")
    assert reason in str(error.value)
    assert "line 2" in str(error.value)


def test_episodes_that_break_off_are_refused(tmp_path: Path) -> None:
    """What they would still have earned counts as nothing, which an upper bound must not."""
    found = episodes(40)
    whole = importers.rllib(write(tmp_path / "a.json", batches(found)), cluster_max=3)
    assert any("from its first step to its last" in line for line in sl.compare(whole.logs, "p_new").assumptions)
    long = next(number for number, steps in enumerate(found) if len(steps["t"]) == 3)
    for number in (long, len(found) - 1):
        broken = [dict(steps) for steps in found]
        broken[number]["dones"] = [False] * len(broken[number]["t"])
        torn = importers.rllib(write(tmp_path / "b.json", batches(broken)), cluster_max=3)
        with pytest.raises(sl.LogsError, match="break off an episode that had not ended"):
            sl.compare(torn.logs, "p_new")


def test_episodes_that_are_torn_are_refused(tmp_path: Path) -> None:
    later = {**STEP, "eps_id": [2], "t": [1]}
    imported = importers.rllib(write(tmp_path / "out.json", [STEP, later]), cluster_max=3)
    with pytest.raises(sl.LogsError, match="1 clusters begin at 0, and 1 at 1"):
        sl.compare(imported.logs, "p_new")
    large = {**STEP, "action_prob": None, "action_logp": [3.0]}
    imported = importers.rllib(write(tmp_path / "large.json", [large]), cluster_max=3)
    with pytest.raises(sl.LogsError, match=r"lie outside \(0, 1\]"):
        sl.compare(imported.logs, "p_new")


def test_a_file_that_rllib_wrote(tmp_path: Path) -> None:
    """By the JsonWriter of Ray 2.60.0, 40 episodes, with compress_columns=[]."""
    path = Path(__file__).parent / "rllib_output.json"
    imported = importers.rllib(path, cluster_max=3)
    steps = [json.loads(line) for line in path.read_text().splitlines()]
    whole = {name: [value for batch in steps for value in batch[name]] for name in ("eps_id", "t", "rewards", "p_new")}
    plain = sl.Logs(
        {**whole, "q": [0.5] * len(whole["t"])}, reward="rewards", propensity="q", cluster="eps_id", cluster_max=3,
        position="t",
    )  # fmt: skip
    ours, theirs = sl.compare(imported.logs, "p_new"), sl.compare(plain, "p_new")
    assert (ours.lower, ours.upper, ours.rounds) == (theirs.lower, theirs.upper, 40)
    lines = path.read_text().splitlines(keepends=True)
    for k, part in enumerate((lines[:25], lines[25:])):  # the folder named as output
        (tmp_path / f"output-worker-{k}.json").write_text("".join(part))
    assert sl.compare(importers.rllib(tmp_path, cluster_max=3).logs, "p_new").lower == ours.lower
