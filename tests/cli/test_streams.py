"""Streams that are closed, full or endless, interrupts, and files that must not be overwritten."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import surelift as sl
from surelift.cli.messages import as_flags
from surelift.logs.sources import text_files
from surelift.logs.sources.streams import read_stream
from tests.prose import flat

COLUMNS = "--reward r --propensity p --policy q"
ROWS = [f"{i % 2},0.5,{0.6 if i % 2 else 0.4}" for i in range(300)]
TEXT = "\n".join(["r,p,q", *ROWS]) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text(TEXT)
    return tmp_path


def shell(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    whole = command.replace("surelift", f"{sys.executable} -m surelift")
    return subprocess.run(whole, shell=True, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_and_full_streams_do_not_change_the_verdict(closed: str, folder: Path) -> None:
    done = shell(f"surelift gate log.csv {COLUMNS} --certificate c.json {closed}", folder)
    assert (done.returncode, "fault" in done.stderr) == (0, False)
    assert sl.Certificate.load(folder / "c.json").content["rounds"] == 300


@pytest.mark.parametrize(
    "command",
    [f"compare log.csv {COLUMNS} --json", f"gate log.csv {COLUMNS} --quiet", "--help", "--version", "explain"],
)
def test_a_full_disk_on_standard_output_is_told(command: str, folder: Path) -> None:
    done = shell(f"surelift {command} >/dev/full", folder)
    assert done.returncode == 2
    assert "standard output cannot be used: No space left on device." in done.stderr
    assert "fault" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_an_interrupt_says_what_was_written(folder: Path) -> None:
    command = [sys.executable, "-m", "surelift", "monitor", "--stdin", "csv", "--state", "state.json", *COLUMNS.split()]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("r,p,q\n" + "\n".join(ROWS[:2] * 40_000) + "\n")
        process.stdin.flush()
        while not (folder / "state.json").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "interrupted; what was written before that is whole, state.json the last." in said


@pytest.mark.parametrize(
    "command",
    [
        f"compare log.csv {COLUMNS} --csv log.csv",
        f"compare . {COLUMNS} --html ./log.csv",
        f"compare log.csv {COLUMNS} --csv a --html a",
        f"report log.csv {COLUMNS} -o log.csv",
        f"monitor log.csv {COLUMNS} --state log.csv",
        f"monitor log.csv {COLUMNS} --state s --csv s",
        "learn log.csv --reward r --propensity p --action r --action-count 2 --contexts q --checkpoint log.csv",
    ],
)
def test_what_is_read_is_not_overwritten(command: str, folder: Path) -> None:
    done = shell(f"surelift {command}", folder)
    assert done.returncode == 2
    assert "would be overwritten, but this command reads or writes it" in done.stderr
    assert (folder / "log.csv").read_text() == TEXT


class Endless:
    """A line without an end, of which no more is read than needed."""

    def __init__(self, begin: bytes) -> None:
        self.begin, self.asked = begin, 0

    def readline(self, most: int) -> bytes:
        if self.begin:
            line, self.begin = self.begin, b""
            return line
        self.asked += most
        return b"1" * most


@pytest.mark.parametrize("kind, begin, line", [("csv", b"r,p,q\n", 2), ("csv", b"", 1), ("jsonl", b'{"r": 1}\n', 2)])
def test_a_line_without_an_end_is_refused_at_a_limit(kind: Any, begin: bytes, line: int) -> None:
    endless: Any = Endless(begin)
    with pytest.raises(sl.LogsError, match=f"line {line} of the stream is longer than 16 MiB"):
        list(read_stream(endless, kind))
    assert endless.asked == text_files.LONGEST_LINE + 1


def test_a_file_of_events_has_the_same_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LONGEST_LINE", 1 << 20)
    (folder / "log.dsjson").write_text('{"a": "' + "x" * (1 << 21) + '"}\n')
    with pytest.raises(sl.LogsError, match=r"line 1 of .*log\.dsjson is longer than 1 MiB"):
        sl.importers.dsjson(folder / "log.dsjson")


@pytest.mark.parametrize(
    "text, says",
    [
        (TEXT.replace("\n", "\r"), r"carriage return \(CR\) alone"),
        (TEXT.replace("q\n", "q\xe9\n", 1), "a column name of the stream is not UTF-8"),
        ("", "cannot be read as csv"),
        ("r,p,q,q\n1,0.5,0.5,0.5\n", "the stream has two columns 'q'"),
    ],
)
def test_streams_that_are_no_csv(text: str, says: str) -> None:
    with pytest.raises(sl.LogsError, match=says):
        list(read_stream(io.BytesIO(text.encode("latin-1")), "csv"))


def test_names_too_long_and_folders_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 300
    flags = "--reward r --propensity p"
    for command in (
        f"compare {long} {COLUMNS}", f"compare log.csv {COLUMNS} --certificate {long}", f"verify {long} log.csv",
        f"compare log.csv {COLUMNS} --html {long}", f"monitor log.csv {COLUMNS} --state {long}", f"explain {long}",
        f"compare log.csv {flags} --learned {long}", f"compare log.csv {flags} --predictions {long}",
        f"report log.csv {COLUMNS} -o {long}/{long}", f"compare log.csv/x.csv {COLUMNS}",
    ):  # fmt: skip
        done = shell(f"surelift {command}", folder)
        assert (done.returncode, "fault in surelift" in done.stderr) == (2, False), done.stderr
    os.mkfifo(folder / "pipe.csv")
    assert "is a pipe or a device" in shell(f"surelift compare pipe.csv {COLUMNS}", folder).stderr
    (folder / "pipe.csv").unlink()
    (folder / "inner").mkdir()
    scan = os.scandir

    def refused(path: Any) -> Any:
        if str(path).endswith("inner"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(sl.LogsError, match="inner cannot be read: Permission denied"):
        sl.Logs(folder, reward="r", propensity="p")


def test_advice_is_spelled_in_flags(folder: Path) -> None:
    (folder / "rail.csv").write_text("\n".join(["r,p,q,g", *(f"{row},7" for row in ROWS)]) + "\n")
    (folder / "out.csv").write_text(TEXT.replace("1,0.5", "3,0.5"))
    rail = shell(f"surelift gate rail.csv {COLUMNS} --guardrail g:at-most-worse=0.1", folder)
    assert rail.returncode == 4
    assert "COL:range=LOW,HIGH" in flat(rail.stdout + rail.stderr)
    assert "--reward-range" not in rail.stdout + rail.stderr
    for command in (f"check out.csv {COLUMNS}", f"gate out.csv {COLUMNS}", f"compare out.csv {COLUMNS}"):
        out = shell(f"surelift {command}", folder)
        assert out.returncode == 4
        assert "--reward-range LOW,HIGH" in flat(out.stdout + out.stderr)
        assert "reward_range=" not in out.stdout + out.stderr
    advice = "models.given('column'); pass it in policies=; declare prior='fitted', contexts=[...] and density=True"
    assert as_flags(advice) == (
        "--control model:COL; pass it in --predictions, or in Python as policies=; declare --prior fitted, "
        "--contexts A,B,... and --density"
    )


@pytest.mark.parametrize("flags", ["--order 2.5 --method moments", "--draws 1e3 --method bootstrap"])
def test_a_count_is_not_rounded(flags: str, folder: Path) -> None:
    done = shell(f"surelift evaluate log.csv {COLUMNS} {flags}", folder)
    assert done.returncode == 2
    assert "Invalid value" in done.stderr


def test_flags_of_a_monitor_that_would_do_nothing_are_refused(folder: Path) -> None:
    begin = f"surelift monitor log.csv --state state.json {COLUMNS}"
    assert shell(begin, folder).returncode == 0
    for flags, says in {
        "--stdin csv --state state.json --skip --append <log.csv": "--skip and --append exclude each other",
        "log.csv --state state.json --skip": "--skip and --append are about --stdin",
        "--merge state.json --delta 0.01": "--merge adds up states and reads nothing else",
        "--merge state.json --name a": "--merge adds up states and reads nothing else",
        "--merge state.json --reward r": "--merge adds up states and reads nothing else",
    }.items():
        done = shell(f"surelift monitor {flags}", folder)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr
