"""The command line by running it: exit codes, streams, messages."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.bounds import BOUNDS
from surelift.cli.app import app, main
from surelift.estimates import ESTIMATES
from surelift.kernels.library import loops_in_use
from surelift.saving import sealed
from tests.prose import flat

COLUMNS = ["--reward", "click", "--propensity", "propensity"]


def run(*arguments: Any, folder: Path, apart: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a command does: in this process, since starting one takes ten times as long, or in one of its own."""
    if apart or environment:
        command = [sys.executable, "-m", "surelift", *map(str, arguments)]
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, check=False
        )
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(map(str, arguments)))
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def test_a_process_of_its_own_says_the_same(folder: Path) -> None:
    """Exit code and both streams, so that the other tests may do without one."""
    for command in (["--help"], ["compare", "shop.parquet", *COLUMNS, "--policy", "p_better", "--json"], ["compare"]):
        here, there = run(*command, folder=folder), run(*command, folder=folder, apart=True)
        assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli")
    table = sl.datasets.shop().table
    pq.write_table(table, path / "shop.parquet")
    p = table["propensity"].to_numpy().copy()
    p[417] = 0.0
    pq.write_table(table.set_column(table.column_names.index("propensity"), "propensity", [p]), path / "bad.parquet")
    p = table["propensity"].to_numpy() / 20
    pq.write_table(table.set_column(table.column_names.index("propensity"), "propensity", [p]), path / "wrong.parquet")
    (path / "truncated.parquet").write_bytes((path / "shop.parquet").read_bytes()[:5_000])
    (path / "empty.parquet").write_bytes(b"")
    pq.write_table(table.slice(0, 0), path / "none.parquet")
    return path


def assert_clean(done: subprocess.CompletedProcess[str]) -> None:
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr


@pytest.mark.parametrize("command", ["gate", "compare"])
@pytest.mark.parametrize(
    "arguments, code, says",
    [
        (["shop.parquet", *COLUMNS, "--policy", "p_better"], 0, "Certified: 'p_better' is better than production."),
        (["shop.parquet", *COLUMNS, "--policy", "new=p_better", "--blend", "new=0.1"], 0, "Certified: '10% of new'"),
        (["shop.parquet", *COLUMNS, "--policy", "p_slight"], 3, "Not certified"),
        (["shop.parquet", *COLUMNS, "--policy", "p_worse"], 3, "'p_worse' performs worse than production"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", "--margin", "0.09"], 3, "Not certified"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", "--propensity-is-estimated"], 3, "propensity model"),
        (["bad.parquet", *COLUMNS, "--policy", "p_better"], 4, "the first is 0.0 in row 417"),
        (["truncated.parquet", *COLUMNS, "--policy", "p_better"], 4, "truncated.parquet cannot be read"),
        (["empty.parquet", *COLUMNS, "--policy", "p_better"], 4, "empty.parquet cannot be read"),
        (["none.parquet", *COLUMNS, "--policy", "p_better"], 4, "empty"),
        (["nothing.parquet", *COLUMNS, "--policy", "p_better"], 2, "no file matches 'nothing.parquet'"),
        (["shop.parquet", "--reward", "clik", "--propensity", "propensity", "--policy", "p_better"], 2, "'click'"),
        (["shop.parquet", "--reward", "click", "--policy", "p_better"], 2, "no propensity"),
        (["shop.parquet", *COLUMNS], 2, "no candidate was named"),
        (["shop.parquet", *COLUMNS, "--policy", "p_bettr"], 2, "Did you mean 'p_better'"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", "--policy", "p_worse"], 2, "surelift select"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", "--detla", "0.1"], 2, "--detla"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", "--delta", "often"], 2, "delta"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", "--delta", "2"], 2, "strictly between 0 and 1"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", "--blend", "old=0.1"], 2, "names none"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", "--blend", "p_better=x"], 2, "is not a number"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", "--blend", "p_better=7"], 2, "alpha must be a number in"),
        (["shop.parquet", *COLUMNS, "--policy", "p_better", *["--blend", "p_better=0.1"] * 2], 2, "two shares"),
        (
            ["shop.parquet", *COLUMNS, "--policy", "10% of a=p_worse", "--policy", "a=p_better", "--blend", "a=0.1"],
            2,
            "two candidates one name",
        ),
        ([*COLUMNS, "--policy", "p_better"], 2, "SOURCE"),
    ],
)
def test_exit_codes(command: str, arguments: list[str], code: int, says: str, folder: Path) -> None:
    done = run(command, *arguments, folder=folder)
    assert done.returncode == code, done.stderr
    # The answer on standard output, an error on standard error, and never something on both.
    told, nothing = (done.stderr, done.stdout) if done.stderr else (done.stdout, done.stderr)
    assert nothing == ""
    assert says in flat(told)
    assert (code == 2) <= (told == done.stderr)
    assert (code in (0, 3)) <= (told == done.stdout)
    assert_clean(done)


def test_with_json_standard_output_holds_nothing_else(folder: Path) -> None:
    done = run("compare", "shop.parquet", *COLUMNS, "--policy", "p_better", "--json", folder=folder)
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    logs = sl.Logs(folder / "shop.parquet", reward="click", propensity="propensity")
    assert answer == sl.compare(logs, "p_better").to_dict()
    assert done.stderr == ""
    refused = run("gate", "bad.parquet", *COLUMNS, "--policy", "p_better", "--json", folder=folder)
    assert json.loads(refused.stdout)["certified"] is json.loads(refused.stdout)["fit"] is False
    assert json.loads(refused.stdout)["ok"] is False


def test_every_question_and_its_certificate(folder: Path) -> None:
    questions: list[list[str]] = [
        ["evaluate", "--policy", "p_better", "--policy", "bad=p_worse", "--sides", "lower"],
        ["compare", "--policy", "p_better", "--over", "p_slight"],
        ["select", "--policy", "better=p_better", "--policy", "worse=p_worse", "--margin", "0.01"],
        ["gate", "--policy", "p_better", "--grid", "planned"],
        ["evaluate", "--policy", "p_better", "--method", "logarithmic-smoothing", "--smoothing", "0.2"],
    ]
    for command, *options in questions:
        done = run(command, "shop.parquet", *COLUMNS, *options, "--certificate", "c.json", folder=folder)
        assert done.returncode == 0, done.stderr
        same = run("verify", "c.json", "shop.parquet", folder=folder)
        assert same.returncode == 0, same.stderr
        assert "Verified: the same 20,000 rounds give the same answer." in same.stdout
        other = run("verify", "c.json", "wrong.parquet", folder=folder)
        assert other.returncode in (3, 4)
        assert_clean(other)
        told = run("explain", "c.json", folder=folder)
        assert told.returncode == 0
        assert "20,000 rounds" in told.stdout


def test_verify_says_what_differs(folder: Path) -> None:
    run("compare", "shop.parquet", *COLUMNS, "--policy", "p_better", "--certificate", "c.json", folder=folder)
    content = json.loads((folder / "c.json").read_text())
    content["answer"]["lower"] = 0.9
    (folder / "tampered.json").write_text(json.dumps(content))
    edited = run("verify", "tampered.json", "shop.parquet", folder=folder)
    assert edited.returncode == 4
    assert "changed by hand" in edited.stderr
    (folder / "tampered.json").write_text(json.dumps(sealed(content)))
    done = run("verify", "tampered.json", "shop.parquet", folder=folder)
    assert done.returncode == 3
    assert "answer.lower was 0.9" in done.stdout
    done = run("verify", "tampered.json", "shop.parquet", "--json", folder=folder)
    assert done.returncode == 3
    assert json.loads(done.stdout)["same"] is False
    content["question"]["declaration"]["colour"] = "red"
    (folder / "damaged.json").write_text(json.dumps(sealed(content)))
    damaged = run("verify", "damaged.json", "shop.parquet", folder=folder)
    assert damaged.returncode == 4
    assert_clean(damaged)
    assert run("verify", "shop.parquet", "shop.parquet", folder=folder).returncode == 4
    assert run("verify", "nothing.json", "shop.parquet", folder=folder).returncode == 2


def test_the_gate_shows_what_the_check_warns_of(folder: Path, tmp_path: Path) -> None:
    table = sl.datasets.shop(2_000).table
    p = np.minimum(table["propensity"].to_numpy() * 3, 1.0)
    pq.write_table(table.set_column(table.column_names.index("propensity"), "propensity", [p]), tmp_path / "large.parquet")
    done = run("gate", "large.parquet", *COLUMNS, "--policy", "p_better", folder=tmp_path)
    assert done.returncode == 3
    assert "WARN" in done.stdout
    assert "propensities were logged too large" in done.stdout
    done = run("gate", "large.parquet", *COLUMNS, "--policy", "p_better", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["certified"] is False
    assert "WARN" in done.stderr


def test_the_gate_refuses_blocks_on_a_log_that_drifts(tmp_path: Path) -> None:
    table = sl.datasets.shop(4_000).table
    clicks = np.where(np.arange(4_000) < 2_000, 0.0, table["click"].to_numpy())
    pq.write_table(table.set_column(table.column_names.index("click"), "click", [clicks]), tmp_path / "late.parquet")
    flags = ["late.parquet", *COLUMNS, "--policy", "p_better", "--method", "blocks"]
    drifts = run("gate", *flags, "--time", "time", folder=tmp_path)
    assert drifts.returncode == 4
    assert "differs from day to day" in flat(drifts.stdout)
    untested = run("gate", *flags, folder=tmp_path)
    assert untested.returncode in (0, 3)
    assert "no time is declared" in flat(untested.stdout)


def test_check(folder: Path) -> None:
    good = run("check", "shop.parquet", *COLUMNS, "--policy", "p_better", folder=folder)
    assert good.returncode == 0
    assert "effective sample size" in good.stdout
    bad = run("check", "bad.parquet", *COLUMNS, folder=folder)
    assert bad.returncode == 4
    assert "REFUSE  propensity 'propensity': 1 of 20,000 values lie outside (0, 1]" in bad.stdout


def test_a_certificate_that_cannot_be_written_is_told_and_nothing_is_left(folder: Path, tmp_path: Path) -> None:
    done = run(
        "compare",
        folder / "shop.parquet",
        *COLUMNS,
        "--policy",
        "p_better",
        "--certificate",
        "no/c.json",
        folder=tmp_path,
    )
    assert done.returncode == 2
    assert "no/c.json cannot be written: there is no folder 'no'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_vectors_labels_and_costs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    logging = rng.dirichlet([2.0, 2.0], 2_000)
    action = (rng.random(2_000) > logging[:, 0]).astype(int)
    cost = np.where(action == 0, 1.0, 4.0)
    new = np.tile([0.9, 0.1], (2_000, 1))
    table = pa.table(
        {
            "cost": cost, "log_p": np.log(logging[np.arange(2_000), action]), "item": np.array(["x", "y"])[action],
            "all": list(logging), "n0": new[:, 0], "n1": new[:, 1], "pick": ["x"] * 2_000,
        }
    )  # fmt: skip
    pq.write_table(table, tmp_path / "log.parquet")
    declared = [
        "--cost", "cost", "--reward-range", "-1", "5", "--log-propensity", "log_p", "--action", "item", "--actions", "x,y",
    ]  # fmt: skip
    for policy in (["--policy", "new=n0,n1"], ["--chosen", "new=pick"]):
        done = run("compare", "log.parquet", *declared, "--logging", "all", *policy, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    done = run("evaluate", "log.parquet", *declared, "--policy", "new=n0,n1", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["policies"]["new"]["value_range"] == [-1.0, 5.0]


@pytest.mark.parametrize("method", BOUNDS)
def test_every_method_answers_certifies_as_it_says_and_is_explained(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    logging, new = np.full((1_000, 2), 0.5), np.tile([0.3, 0.7], (1_000, 1))
    action = rng.integers(0, 2, 1_000)
    click = (rng.random(1_000) < np.where(action == 1, 0.6, 0.3)).astype(float)
    columns = {"r": click, "p": np.full(1_000, 0.5), "a": action, "l": list(logging), "new": list(new)}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    declared = ["--reward", "r", "--propensity", "p", "--action", "a", "--logging", "l", "--policy", "new"]
    done = run("evaluate", "log.parquet", *declared, "--method", method, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)["policies"]["new"]
    assert answer["lower"] <= 0.51 <= answer["upper"]
    assert (answer["doubts"] == []) == BOUNDS[method].certifies
    written = run("evaluate", "log.parquet", *declared, "--method", method, "--certificate", "c.json", folder=tmp_path)
    if BOUNDS[method].certifies:
        assert run("verify", "c.json", "log.parquet", folder=tmp_path).returncode == 0
    else:
        assert written.returncode == 2
        assert "does not certify anything" in written.stderr
        assert not (tmp_path / "c.json").exists()
    told = run("explain", method, folder=tmp_path)
    assert told.returncode == 0
    assert f"Promise: {BOUNDS[method].promise}." in told.stdout
    # Two sentences: what it does, and what that is worth.
    assert BOUNDS[method].says.count(". ") == 1


def test_options_of_methods(folder: Path) -> None:
    moments = ["--method", "moments", "--order", "3", "--regularizer", "shrinkage:5", "--smoothing", "0.1"]
    done = run("evaluate", "shop.parquet", *COLUMNS, "--policy", "p_better", *moments, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["policies"]["p_better"]["promise"] == "any number of looks"
    clip = run("evaluate", "shop.parquet", *COLUMNS, "--policy", "p_better", "--clip", "3", folder=folder)
    assert clip.returncode == 2
    assert "does not use --clip" in clip.stderr
    paired = run("compare", "shop.parquet", *COLUMNS, "--policy", "p_better", "--method", "moments", folder=folder)
    assert paired.returncode == 2
    assert "bounds values, not improvements" in paired.stderr


@pytest.mark.parametrize("estimator", ESTIMATES)
def test_every_estimate_is_explained(estimator: str, folder: Path) -> None:
    assert ESTIMATES[estimator].says in " ".join(run("explain", estimator, folder=folder).stdout.split())


def test_explain(folder: Path) -> None:
    topics = run("explain", folder=folder)
    assert topics.returncode == 0
    assert "logarithmic-smoothing" in topics.stdout
    for topic in ("mixture", "logarithmic-smoothing", "e-value", "lower-bound", "lower bound", "certified", "control"):
        done = run("explain", *topic.split(), folder=folder)
        assert done.returncode == 0
        assert len(done.stdout) > 60
    assert run("explain", "astrology", folder=folder).returncode == 2


def test_help_for_newcomers(folder: Path) -> None:
    for command in ("check", "evaluate", "compare", "select", "gate", "verify", "explain", "demo"):
        done = run(command, "--help", folder=folder)
        assert done.returncode == 0
        assert "Usage: surelift " + command in done.stdout
        if command in ("evaluate", "compare", "select", "gate"):
            flags = (
                "--reward ",
                "--propensity ",
                "--policy ",
                "--logging ",
                "--delta ",
                "--control ",
                "--certificate ",
            )
            assert all(flag in done.stdout for flag in flags), command
    assert run("--version", folder=folder).stdout.strip() == f"surelift {sl.__version__} (loops: {loops_in_use()})"
    assert run("divine", folder=folder).returncode == 2


def test_the_demo_tells_the_truth(tmp_path: Path) -> None:
    done = run("demo", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = {line.split("  ")[1].strip(): line for line in done.stdout.splitlines() if line.endswith(")") and "  " in line}
    assert "certified better" in lines["better"]
    assert "certified better" in lines["10% of better"]
    assert "not certified yet" in lines["slight"]
    assert lines["worse"].count("worse") == 2  # its name and its verdict
    for line in list(lines.values())[-4:]:
        low, high, truth = (float(word.strip("()")) for word in line.split() if word.strip("()")[0] in "+-")
        assert low <= truth <= high
    assert run("verify", "demo/certificate.json", "demo/shop.parquet", folder=tmp_path).returncode == 0


def test_a_crash_is_never_a_verdict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from surelift.cli.app import main

    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("surelift.decisions.compare.compare", crash)
    arguments = ["compare", str(folder / "shop.parquet"), *COLUMNS, "--policy", "p_better"]
    assert main(arguments) == 1
    monkeypatch.setattr("surelift.decisions.compare.compare", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt()))
    assert main(arguments) == 130


def test_commands_are_those_of_the_design() -> None:
    names = {name for name in app if not name.startswith("-")}
    assert names == {
        "check",
        "evaluate",
        "estimate",
        "profile",
        "compare",
        "select",
        "gate",
        "learn",
        "report",
        "completion",
        "monitor",
        "power",
        "simulate",
        "verify",
        "explain",
        "reproduce",
        "demo",
    }


def test_segments_guardrails_and_discoveries(folder: Path) -> None:
    policy = ["--policy", "p_better"]
    done = run("compare", "shop.parquet", *COLUMNS, *policy, "--by", "visitor", "--json", folder=folder)
    assert done.returncode == 0
    assert set(json.loads(done.stdout)["segments"]) == {"new", "returning", "loyal"}
    done = run("compare", "shop.parquet", *COLUMNS, *policy, "--by", "visitor", folder=folder)
    assert "Together, all lower bounds hold with probability 0.95" in done.stdout
    done = run("compare", "shop.parquet", *COLUMNS, "--policy", "p_slight", "--by", "visitor", folder=folder)
    assert done.returncode == 3
    rail = ["--guardrail", "click:at-most-worse=0.01"]
    done = run("gate", "shop.parquet", *COLUMNS, *policy, *rail, "--certificate", "gate.json", folder=folder)
    assert done.returncode == 0
    assert "2 claims, each at delta 0.025" in done.stdout
    assert run("verify", "gate.json", "shop.parquet", folder=folder).returncode == 0
    assert "guardrail 'click'" in run("explain", "gate.json", folder=folder).stdout
    done = run("gate", "shop.parquet", *COLUMNS, "--policy", "p_worse", *rail, folder=folder)
    assert done.returncode == 3
    assert "is not shown to hold" in flat(done.stdout)
    three = ["--policy", "p_better", "--policy", "p_slight", "--policy", "p_worse"]
    done = run("select", "shop.parquet", *COLUMNS, *three, "--many", "e-bh", "--json", folder=folder)
    assert done.returncode == 0
    assert (json.loads(done.stdout)["discoveries"], json.loads(done.stdout)["chosen"]) == (["p_better"], None)


def test_several_outcomes(folder: Path) -> None:
    better = ["compare", "shop.parquet", *COLUMNS, "--policy", "p_better"]
    claims = ["--outcome", "clicks=click:at-least=0.01", "--outcome", "click:cost:at-most-worse=0.9"]
    files = ["--certificate", "outcomes.json", "--html", "outcomes.html", "--csv", "outcomes.csv"]
    done = run(*better, *claims, *files, "--json", folder=folder)
    assert done.returncode == 0
    assert json.loads(done.stdout)["certified"] is True
    done = run(*better, *claims, folder=folder)
    assert "'clicks' is higher by at least 0.01 and 'click' is worse by no more than 0.9" in flat(done.stdout)
    assert run("verify", "outcomes.json", "shop.parquet", folder=folder).returncode == 0
    told = run("explain", "outcomes.json", folder=folder).stdout
    assert "'clicks' (click) higher by at least 0.01" in told
    assert "'click': at least" in told
    assert (folder / "outcomes.csv").read_text().startswith("outcome,column,claim,policy")
    assert run(*better, "--outcome", "click:at-least=0.5", folder=folder).returncode == 3
    for wrong, says in (
        (["--outcome", "a=click", "--outcome", "a=p_slight"], "names 'a' twice"),
        (["--outcome", "a=click", "--outcome", "b=click"], "'a' and 'b' are both the reward 'click'"),
        (["--outcome", "click", "--margin", "0.1"], "--margin is for one reward"),
    ):
        done = run(*better, *wrong, folder=folder)
        assert done.returncode == 2
        assert says in flat(done.stderr)
        assert_clean(done)


def test_a_reward_model_from_the_command_line(folder: Path, tmp_path: Path) -> None:
    rng, rounds = np.random.default_rng(0), 600
    logging, new = rng.dirichlet(np.ones(3), rounds), rng.dirichlet(np.ones(3), rounds)
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    reward = (rng.random(rounds) < 0.2 + 0.3 * action).astype(float)
    table = pa.table(
        {
            "r": reward, "p": logging[np.arange(rounds), action], "a": action, "l": list(logging), "new": list(new),
            "q": list(np.tile([0.2, 0.5, 0.8], (rounds, 1))), "t": np.arange(rounds), "x": rng.random(rounds),
        }
    )  # fmt: skip
    pq.write_table(table, tmp_path / "log.parquet")
    flags = ["--reward", "r", "--propensity", "p", "--action", "a", "--logging", "l", "--policy", "new"]
    for control in (["model:q"], ["model", "--time", "t", "--contexts", "x"]):
        done = run(
            "evaluate",
            "log.parquet",
            *flags,
            "--json",
            "--certificate",
            "c.json",
            "--control",
            *control,
            folder=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["control"] == "model"
        assert run("verify", "c.json", "log.parquet", folder=tmp_path).returncode == 0
    assert run("evaluate", "log.parquet", *flags, "--control", "model:", folder=tmp_path).returncode == 2
    done = run("evaluate", "log.parquet", *flags, "--control", "model", folder=tmp_path)
    assert done.returncode == 2
    assert "--time" in done.stderr


@pytest.mark.parametrize(
    "text, says",
    [
        ("click:0.1", "'0.1' cannot be read"), ("click:at-least=x", "'x' is not a number"),
        ("click:at-most-worse=-1", "at least 0"), ("nope:cost", "no column 'nope'"), ("click:range=0", "LOW,HIGH"),
        (":cost", "takes COL"), ("click:at-least=1:at-most-worse=1", "makes one claim"),
    ],
)  # fmt: skip
def test_a_guardrail_that_makes_no_sense(folder: Path, text: str, says: str) -> None:
    done = run("gate", "shop.parquet", *COLUMNS, "--policy", "p_better", "--guardrail", text, folder=folder)
    assert done.returncode == 2
    assert says in flat(done.stderr)
    assert_clean(done)


def test_power_and_simulate(folder: Path) -> None:
    done = run("power", "shop.parquet", *COLUMNS, "--policy", "p_slight", "--json", folder=folder)
    assert done.returncode == 0
    assert json.loads(done.stdout)["more_rounds"] > 0
    done = run("power", "shop.parquet", *COLUMNS, "--policy", "p_slight", folder=folder)
    assert "more rounds like these (80% range: " in flat(done.stdout)
    done = run("power", "shop.parquet", *COLUMNS, "--policy", "p_slight", "--method", "blocks", folder=folder)
    assert "allows one look" in flat(done.stdout)
    done = run("power", "shop.parquet", *COLUMNS, "--policy", "p_slight", "--method", "normal", folder=folder)
    assert done.returncode == 2
    assert (
        "no more rounds are needed" in run("power", "shop.parquet", *COLUMNS, "--policy", "p_better", folder=folder).stdout
    )
    assert "no number of rounds" in run("power", "shop.parquet", *COLUMNS, "--policy", "p_worse", folder=folder).stdout
    done = run(
        "simulate",
        "shop.parquet",
        *COLUMNS,
        "--policy",
        "p_better",
        "--runs",
        3,
        "--rounds",
        500,
        "--json",
        folder=folder,
    )
    assert done.returncode == 0
    assert {row["method"] for row in json.loads(done.stdout)["outcomes"]} >= {"mixture", "normal"}
    assert run("simulate", "shop.parquet", *COLUMNS, "--policy", "p_better", "--runs", 0, folder=folder).returncode == 2


def test_check_names_the_day(folder: Path, tmp_path: Path) -> None:
    table = sl.datasets.shop().table
    late = table["time"].to_numpy() >= np.datetime64("2024-03-25")
    p = np.where(late, table["propensity"].to_numpy() / 3, table["propensity"].to_numpy())
    pq.write_table(table.set_column(table.column_names.index("propensity"), "propensity", [p]), tmp_path / "late.parquet")
    flags = [*COLUMNS, "--time", "time", "--policy", "p_better", "--by", "device", "--json"]
    done = run("check", "late.parquet", *flags, folder=tmp_path)
    assert done.returncode == 4
    segments = [finding["segment"] or "" for finding in json.loads(done.stdout)["findings"]]
    assert any("day 2024-03-2" in segment for segment in segments)
    assert run("check", folder / "shop.parquet", *flags, folder=tmp_path).returncode == 0


def test_wrong_propensities_are_told_in_both_ways(folder: Path) -> None:
    flags = ["wrong.parquet", *COLUMNS, "--policy", "p_better"]
    compared, gated = run("compare", *flags, folder=folder), run("gate", *flags, folder=folder)
    assert (compared.returncode, gated.returncode) == (4, 4)
    assert "otherwise suspect the propensities" in compared.stderr
    assert "the logged propensities are wrong" in gated.stdout
