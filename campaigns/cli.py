"""Random command lines: exit codes 0, 2, 3 and 4 only, no traceback, and with valid flags the answer of the Python API.

Most run in this process, through the function behind the command; a few in a process of their own, with standard streams
that are closed or full.
"""

import atexit
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import surelift as sl
from campaigns.campaign import Case, scratch
from campaigns.stored import certificates, shop
from surelift.cli.app import main

SLICE, FULL = 400, 5_000
APART = 0.01  # the share of cases in a process of their own
CODES = {0, 2, 3, 4}
BASE = ["--reward", "click", "--propensity", "propensity"]
POLICIES = {"better": "p_better", "slight": "p_slight", "worse": "p_worse"}
PATHS = (
    "log.parquet", "log.csv", "log.arrow", "*.parquet", "missing.parquet", "empty.csv", "empty.parquet",
    "cut.parquet", "latin.csv", "text.parquet", "folder", "certificate.json", "gate.json", "state.json",
    "damaged.json", "unfit.csv", "wide.tsv", "/nonexistent/x.parquet", "", ".", "..", "log.PARQUET", "a" * 300,
    "a" * 300 + ".csv", "[", "**", "log.csv.gz", "s3://", "http://[", "caf\u00e9.csv", os.fsdecode(b"caf\xe9.csv"),
    "log.parquet/", "-", "~", "$HOME", "nul\u0001.csv", "notes.txt",
)  # fmt: skip
VALUES = (
    "", "0", "1", "-1", "0.5", "0.05", "1e-300", "1e999", "nan", "inf", "-inf", "1" * 400, "abc", "click",
    "propensity", "p_better", "visitor", "item", "time", "production", "new=p_better", "=p_better", "new=",
    "better=0.1", "better=2", "0,1", "1,0", "0,0", "0,1,2", "a,b", ",", "1e400,2", "=", "--", "mixture", "moments",
    "normal", "efron-stein", "planned", "none", "weights", "model", "model:p_better", "model:", "\u202e",
    "\x1b[31m", "'", '"', "\\", "%s", "{}", "\udcff", "\u00e9", "click:0.1", "click:x", "click:0.1:0,1:cost", ":",
    "out.html", "folder/out.json", "nowhere/out.json", "log.parquet", "certificate.json", "2**3", "0x10", "1_000",
    "\uff11", "True",
)  # fmt: skip
FLAGS = (
    "--reward", "--cost", "--propensity", "--log-propensity", "--action", "--actions", "--logging", "--contexts",
    "--time", "--cluster", "--cluster-size", "--cluster-max", "--keep-probability", "--rounds-before-sampling",
    "--action-count", "--reward-range", "--density", "--propensity-is-estimated", "--policy", "--chosen",
    "--learned", "--predictions", "--blend", "--delta", "--method", "--control", "--grid", "--smoothing", "--draws",
    "--over", "--margin", "--by", "--segments", "--json", "--certificate", "--html", "--csv", "--sides", "--level",
    "--guardrail", "--outcome", "--state", "--stdin", "--skip", "--append", "--merge", "--name", "--about", "--many",
    "--format", "--output", "-o", "--help", "-h", "--version", "--no-json", "--jsno", "-x", "--order", "--clip", "--target",
    "--runs", "--rounds", "--seed", "--quiet", "-q", "--estimator", "--alpha", "--strength", "--model",
)  # fmt: skip
COMMANDS = (
    "check",
    "evaluate",
    "estimate",
    "profile",
    "compare",
    "select",
    "gate",
    "verify",
    "explain",
    "power",
    "simulate",
    "monitor",
    "report",
)
HEAVY = ("learn", "reproduce", "demo", "completion", "nothing", "")
STREAMS = (b"", b"click,propensity,p_better\n1,0.5,0.5\n", b"\xff\xfe", b'{"click": 1}\n', b"{" * 2000, b"\0" * 50)
LOCALES: tuple[dict[str, str], ...] = (
    {},
    {"LC_ALL": "C"},
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    {"COLUMNS": "0"},
)
SPELLINGS = re.compile(
    r"\b(reward_range|rounds_before_sampling|keep_probability|cluster_max|cluster_size|action_count|log_propensity|"
    r"propensity_is_estimated)="
)


@cache
def log() -> Any:
    return shop().table


@cache
def prototype() -> Path:
    """A folder with good files and bad ones."""
    folder = Path(tempfile.mkdtemp(prefix="cli-", dir=scratch()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    pq.write_table(log(), folder / "log.parquet")
    pa.csv.write_csv(log(), folder / "log.csv")
    with pa.ipc.new_file(folder / "log.arrow", log().schema) as writer:
        writer.write_table(log())
    for name in ("empty.csv", "empty.parquet"):
        (folder / name).write_bytes(b"")
    (folder / "cut.parquet").write_bytes((folder / "log.parquet").read_bytes()[:-50])
    (folder / "latin.csv").write_bytes(b"click,propensity,p_better\n1,0.5,caf\xe9\n")
    (folder / "caf\u00e9.csv").write_bytes((folder / "log.csv").read_bytes())
    (folder / "text.parquet").write_text("no parquet")
    (folder / "notes.txt").write_text("notes")
    (folder / "folder").mkdir()
    (folder / "certificate.json").write_text(certificates()["compare"])
    (folder / "gate.json").write_text(certificates()["gate"])
    (folder / "damaged.json").write_text(certificates()["compare"][:-20])
    (folder / "unfit.csv").write_text("click,propensity,p_better\n1,0.5,0.5\n2,0,x\n")
    (folder / "wide.tsv").write_text("click\tpropensity\tp_better\n1\t0.5\t0.5\n0\t0.5\t0.4\n")
    return folder


def valid(chance: Random, command: str) -> list[str]:
    """A command line that can be answered."""
    source = chance.choice(["log.parquet", "log.csv", "log.arrow"])
    names = chance.sample(
        list(POLICIES), chance.randint(1, 3) if command in ("evaluate", "select", "check", "report") else 1
    )
    policies = [part for name in names for part in ("--policy", f"{name}={POLICIES[name]}")]
    if command == "verify":
        return [command, chance.choice(["certificate.json", "gate.json"]), source]
    if command == "explain":
        return [command, chance.choice(["mixture", "moments", "delta", "certificate.json", "nonsense"])]
    if command == "monitor":
        return [command, source, "--state", "state.json", *BASE, *policies]
    if command == "report":
        return [command, source, *BASE, *policies, "-o", "out.html"]
    extra = (
        chance.choice([[], [], ["--json"], ["--delta", "0.1"]])
        if command not in ("check", "estimate", "profile", "power", "simulate")
        else []
    )
    return [
        command,
        source,
        *BASE,
        *policies,
        *extra,
        *(["--runs", "3", "--rounds", "50"] if command == "simulate" else []),
    ]


def mutate(chance: Random, tokens: list[str]) -> None:
    place, what = chance.randrange(len(tokens)), chance.randrange(8)
    if what == 0:
        del tokens[place]
    elif what == 1:
        tokens.insert(place, tokens[place])
    elif what in (2, 3):
        tokens[place] = chance.choice(VALUES)
    elif what == 4:
        tokens[min(1, len(tokens) - 1)] = chance.choice(PATHS)
    elif what == 5:
        tokens += [chance.choice(FLAGS), chance.choice(VALUES)]
    elif what == 6:
        tokens.append(chance.choice(FLAGS))
    else:
        tokens.insert(place, chance.choice(PATHS + VALUES))


def command_line(chance: Random) -> tuple[list[str], bool]:
    """The tokens, and whether they are valid."""
    if chance.random() < 0.03:
        # These take long where they are right.
        return [
            chance.choice(HEAVY),
            chance.choice(["", "missing.parquet", "--nothing", "xyz"]),
            chance.choice(FLAGS),
        ], False
    command = chance.choice(COMMANDS) if chance.random() < 0.95 else "check"
    if command in ("report", "simulate") and chance.random() < 0.8:
        command = "compare"
    tokens, mutations = valid(chance, command), chance.choice([0, 1, 1, 2, 3])
    for _ in range(mutations):
        if tokens:
            mutate(chance, tokens)
    return [*tokens[:1], *(token for token in tokens[1:])], mutations == 0


def case(case: Case) -> str | None:
    chance = case.chance
    tokens, is_valid = command_line(chance)
    tokens = [token.replace("\0", "") for token in tokens]
    if chance.random() < 0.1 and tokens[:1] == ["monitor"]:
        tokens = [
            "monitor",
            "--stdin",
            chance.choice(["csv", "jsonl", "arrow", "x"]),
            "--state",
            "state.json",
            *BASE,
            "--policy",
            "p_better",
        ]
    shutil.copytree(prototype(), case.folder, dirs_exist_ok=True)
    stdin = chance.choice(
        [b"", b"click,propensity,p_better\n1,0.5,0.5\n", b"\xff\xfe", b'{"click": 1}\n', b"{" * 2000, b"\0" * 50]
    )
    if chance.random() < APART:
        return apart(chance, case.folder, tokens, stdin)
    code, out, err = in_process(case.folder, tokens, stdin)
    wrong = judged(code, out, err)
    if wrong is None and is_valid and "--json" in tokens:
        wrong = same_as_api(case.folder, tokens, code, out)
    return None if wrong is None else f"surelift {tokens}\n{wrong}"


def judged(code: Any, out: str, err: str) -> str | None:
    if code not in CODES:
        return f"exit code {code}\n{out[-500:]}\n{err[-1500:]}"
    if "Traceback" in err or "Traceback" in out or "unexpected" in err:
        return f"a traceback\n{err[-1500:]}"
    found = SPELLINGS.search(err)
    return f"the spelling of Python in a message: {found[0]}\n{err[-500:]}" if found else None


@contextmanager
def streams(stdin: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    kept = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", errors="backslashreplace", write_through=True)
    try:
        yield out, err
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            stream.detach()
        sys.stdin, sys.stdout, sys.stderr = kept


def in_process(folder: Path, tokens: list[str], stdin: bytes) -> tuple[Any, str, str]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        with streams(stdin) as (out, err):
            try:
                code: Any = main(tokens)
            except SystemExit as ended:
                code = ended.code or 0
        return code, out.getvalue().decode(errors="replace"), err.getvalue().decode(errors="replace")
    finally:
        os.chdir(before)


def same_as_api(folder: Path, tokens: list[str], code: int, out: str) -> str | None:
    ask: Any = {"evaluate": sl.evaluate, "compare": sl.compare, "select": sl.select, "gate": sl.gate}[tokens[0]]
    logs = sl.Logs(folder / tokens[1], reward="click", propensity="propensity")
    policies = dict(token.split("=") for place, token in enumerate(tokens) if tokens[place - 1] == "--policy")
    answer: Any = ask(logs, policies)
    if tokens[0] == "gate" and not answer.health.ok:
        return None if code == 4 else f"exit code {code}, and the logs are not fit"
    sure = {"evaluate": True, "select": getattr(answer, "chosen", None) is not None}.get(tokens[0])
    sure = answer.certified if sure is None else sure
    if code != (0 if sure else 3):
        return f"exit code {code}, and the API says {sure}"
    return (
        None
        if json.loads(out) == json.loads(answer.to_json())
        else f"another answer than the API's:\n{out}\n{answer.to_json()}"
    )


SHELLS = {
    "stdout closed": '"$@" >&-', "stdout full": '"$@" >/dev/full', "stderr closed": '"$@" 2>&-',
    "stderr full": '"$@" 2>/dev/full', "stdin closed": '"$@" <&-', "all closed": '"$@" <&- >&- 2>&-',
    "plain": '"$@"',
}  # fmt: skip


def apart(chance: Random, folder: Path, tokens: list[str], stdin: bytes) -> str | None:
    """In a process of its own, with odd streams or an odd locale."""
    how = chance.choice(list(SHELLS))
    source = Path(sl.__file__).parents[1]
    surroundings = {**os.environ, "PYTHONPATH": str(source), **chance.choice(LOCALES)}
    given = [os.fsencode(token) if encodable(token) else b"x" for token in tokens]
    command: list[str | bytes] = ["sh", "-c", SHELLS[how], "sh", sys.executable, "-m", "surelift", *given]
    done = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, timeout=60, env=surroundings, check=False)
    wrong = judged(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
    if wrong is None and how == "stdout full" and done.returncode in (0, 3):
        wrong = f"exit code {done.returncode}, but the answer could not be written"
    return None if wrong is None else f"surelift {tokens}, {how}\n{wrong}"


def encodable(token: str) -> bool:
    try:
        os.fsencode(token)
    except UnicodeEncodeError:
        return False
    return True
