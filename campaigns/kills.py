"""Commands killed at random moments: what they keep is the old or the new, whole, and the next run reaches the same answer.

A command runs in a process forked from one that has everything imported, so that a kill falls into its work. Half of the
kills come after a random time, half at a moment of writing: before or after a file is made, synced or renamed.
"""

import json
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

import surelift as sl
from campaigns.campaign import Case, scratch
from campaigns.stored import certificates, shop

SLICE, FULL = 20, 500
PARTS = 4
MOMENTS = ("fsync", "replace", "chmod", "mkstemp")
FLAGS = ["--reward", "click", "--propensity", "propensity"]
POLICY = ["--policy", "better=p_better"]
LEARNING = [
    *FLAGS,
    "--action",
    "item",
    "--actions",
    ",".join(shop.__wrapped__().columns()["actions"]),
    "--contexts",
    "visitor,device",
]
COMMANDS = {
    "monitor": ["monitor", "logs/*.parquet", "--state", "state.json", *FLAGS, *POLICY, "--json"],
    "certificate": ["compare", "log.parquet", *FLAGS, *POLICY, "--certificate", "certificate.json", "--json"],
    "report": ["report", "log.parquet", *FLAGS, *POLICY, "-o", "report.html"],
    "learn": ["learn", "log.parquet", *LEARNING, "--epochs", "3", "--checkpoint", "checkpoint", "--json"],
}
WRITTEN = {
    "monitor": ["state.json"],
    "certificate": ["certificate.json"],
    "report": ["report.html"],
    "learn": ["policy.safetensors", "checkpoint"],
}
LOCKS = re.compile(r"\..*\.lock")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@cache
def server() -> Any:
    """Processes are forked from one that has imported everything and has no threads."""
    context = multiprocessing.get_context("forkserver")
    commands = [f"surelift.cli.{name}" for name in ("monitor", "questions", "report", "learn")]
    context.set_forkserver_preload([*commands, "pyarrow.parquet", "jinja2", "altair", "vl_convert", "campaigns.warm"])
    return context


@dataclass(frozen=True)
class Moment:
    """At the given call of a function, before it or after it."""

    name: str
    call: int
    after: bool
    signal: int

    def arm(self) -> None:
        import tempfile

        holder: Any = tempfile if self.name == "mkstemp" else os
        plain, calls = getattr(holder, self.name), 0

        def armed(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == self.call and not self.after:
                os.kill(os.getpid(), self.signal)
            result = plain(*arguments, **options)
            if calls == self.call and self.after:
                os.kill(os.getpid(), self.signal)
            return result

        setattr(holder, self.name, armed)


def child(tokens: list[str], folder: Path, output: Path, ready: Connection, moment: Moment | None) -> None:
    """Run a command as the shell would, its streams in files."""
    from surelift.cli.app import main

    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(output / name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    if moment is not None:
        moment.arm()
    ready.send(True)
    code = main(tokens)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@dataclass(frozen=True)
class Done:
    code: int | None
    out: str
    err: str
    seconds: float


def run(tokens: list[str], folder: Path, moment: Moment | None = None, kill: tuple[float, int] | None = None) -> Done:
    """One run, killed at a moment or after so many seconds."""
    with tempfile.TemporaryDirectory(dir=scratch()) as output:
        ours, theirs = server().Pipe(duplex=False)
        process = server().Process(target=child, args=(tokens, folder, Path(output), theirs, moment))
        process.start()
        ours.recv()
        started = time.monotonic()
        if kill is not None:
            process.join(kill[0])
            if process.exitcode is None and process.pid is not None:
                os.kill(process.pid, kill[1])
        process.join(120)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{tokens} did not end")
        out, err = ((Path(output) / name).read_text(errors="replace") for name in ("out", "err"))
        return Done(process.exitcode, out, err, time.monotonic() - started)


def furnish(folder: Path, job: str, *, old: bool) -> None:
    """Logs, and what an earlier run wrote."""
    if job == "monitor":
        (folder / "logs").mkdir()
        for part in range(PARTS):
            pq.write_table(shop().table.slice(30 * part, 30), folder / "logs" / f"part-{part}.parquet")
        if old:
            watch = sl.Monitor({"better": "p_better"}, reward="click", propensity="propensity")
            watch.update_from(folder / "logs" / "part-0.parquet")
            watch.save(folder / "state.json")
        return
    pq.write_table(shop().table, folder / "log.parquet")
    if job == "certificate" and old:
        (folder / "certificate.json").write_text(certificates()["difference"])
    if job == "report" and old:
        (folder / "report.html").write_text("<html>an old report</html>")


@cache
def reference(job: str) -> tuple[Done, dict[str, Any]]:
    """A run that nobody disturbs."""
    folder = Path(tempfile.mkdtemp(prefix="kills-", dir=scratch()))
    try:
        furnish(folder, job, old=False)
        done = run(COMMANDS[job], folder)
        assert done.code in (0, 3), done.err
        return done, {name: READ[job](folder / name) for name in WRITTEN[job] if name != "checkpoint"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_state(path: Path) -> Any:
    return sl.Monitor.load(path).rounds


def read_certificate(path: Path) -> Any:
    return json.loads(path.read_text())


def read_report(path: Path) -> Any:
    text = path.read_text()
    assert text.rstrip().endswith("</html>"), "half a page"
    return re.sub(r"\d{4}-\d{2}-\d{2}", "today", text)


def read_policy(path: Path) -> Any:
    from campaigns.bytes import parsed

    sl.LearnedPolicy.load(path)
    header, texts, arrays = parsed(path.read_bytes())
    # The checksum is of the bytes, and the library that writes them has no fixed order of the header's texts.
    return header, {name: text for name, text in texts.items() if name != "sha256"}, arrays


READ: dict[str, Callable[[Path], Any]] = {
    "monitor": read_state,
    "certificate": read_certificate,
    "report": read_report,
    "learn": read_policy,
}


def case(case: Case) -> str | None:
    chance, folder = case.chance, case.folder
    job, old = chance.choices(list(COMMANDS), [6, 4, 2, 1])[0], chance.random() < 0.5
    wanted, kept = reference(job)
    furnish(folder, job, old=old)
    told, wrong = job, None
    for _ in range(chance.choice([1, 1, 2])):
        before = {name: (folder / name).read_bytes() for name in WRITTEN[job] if (folder / name).exists()}
        how, killed = killed_once(chance, job, folder, wanted.seconds)
        told += f", {how}"
        wrong = wrong or left_whole(job, folder, killed, before, kept)
    done = run(COMMANDS[job], folder)
    return None if (wrong := wrong or same_end(job, folder, done)) is None else f"{told}: {wrong}"


def killed_once(chance: Random, job: str, folder: Path, seconds: float) -> tuple[str, Done]:
    number = chance.choice(SIGNALS)
    if chance.random() < 0.5:
        moment = Moment(chance.choice(MOMENTS), chance.randint(1, 5), chance.random() < 0.5, number)
        return str(moment), run(COMMANDS[job], folder, moment)
    delay = chance.uniform(0.0, 1.2 * seconds)
    return f"signal {number} after {delay:.4f} s", run(COMMANDS[job], folder, kill=(delay, number))


def left_whole(job: str, folder: Path, killed: Done, before: dict[str, bytes], kept: dict[str, Any]) -> str | None:
    """What is there after a kill is what was there before, or what the command writes."""
    if killed.code not in (0, 3, 130, 143, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT):
        return f"exit code {killed.code}: {killed.err}"
    if "Traceback" in killed.err or "unexpected" in killed.err:
        return killed.err
    changed = False
    for name in WRITTEN[job]:
        path = folder / name
        if not path.exists() or before.get(name) == path.read_bytes():
            if name in before and not path.exists():
                return f"{name} is lost"
            continue
        changed = True
        if name == "checkpoint":
            continue
        found = READ[job](path)
        if found not in ([30 * part for part in range(PARTS + 1)] if job == "monitor" else [kept[name]]):
            return f"{name} is neither the old nor the new: {str(found)[:300]}"
    if changed and "nothing was written" in killed.err:
        return f"says that nothing was written, but it was: {killed.err}"
    return None


def same_end(job: str, folder: Path, done: Done) -> str | None:
    wanted, kept = reference(job)
    if done.code != wanted.code or "Traceback" in done.err:
        return f"the next run ends with exit code {done.code}, not {wanted.code}: {done.err}"
    if done.out != wanted.out:
        return f"the next run says {done.out[-600:]}, not {wanted.out[-600:]}"
    for name, content in kept.items():
        if READ[job](folder / name) != content:
            return f"the next run leaves another {name}"
    expected = {"logs"} if job == "monitor" else {"log.parquet"}
    rest = {path.name for path in folder.iterdir() if not LOCKS.fullmatch(path.name)} - expected - set(WRITTEN[job])
    return f"left behind: {sorted(rest)}" if rest else None
