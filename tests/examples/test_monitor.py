"""The monitor's script, run as cron and systemd would: what it tells, when, and that no file counts twice."""

import configparser
import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing
from tests.examples.shop import BIN, EXAMPLES, run, scored

SCRIPT = EXAMPLES / "monitor.sh"


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    places = {"LOGS": str(tmp_path / "logs"), "STATE": str(tmp_path / "state")}
    for place in places.values():
        Path(place).mkdir()
    return places


def arrive(folders: dict[str, str], day: str, rounds: Any) -> Path:
    path = Path(folders["LOGS"]) / f"day-{day}.parquet"
    rounds.to_parquet(path)
    return path


def counted(folders: dict[str, str]) -> int:
    (ledger,) = json.loads((Path(folders["STATE"]) / "state.json").read_text())["ledgers"].values()
    return int(ledger["rows"])


def test_verdicts_are_told_once_and_files_count_once(tmp_path: Path, folders: dict[str, str]) -> None:
    better, worse, told = scored("better"), scored("worse"), "surelift monitor: "

    def tells() -> str:
        done = run(SCRIPT, folder=tmp_path, given=folders)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    arrive(folders, "1", better[:200])
    assert tells() == ""
    arrive(folders, "2", better[200:1_000])
    killed_while_telling(tmp_path, folders)
    again = tells()
    assert again.startswith(f"{told}certified, before it was open\n0 new files, 2 counted before\n")
    arrive(folders, "3", better[1_000:1_100])
    assert tells() == ""
    last = arrive(folders, "4", worse[1_100:])
    assert tells().startswith(f"{told}worse, before it was certified\n1 new file, 3 counted before\n")
    assert counted(folders) == 20_000
    last.rename(last.with_name("day-5.parquet"))
    done = run(SCRIPT, folder=tmp_path, given=folders)
    assert done.returncode == 4
    assert done.stdout.startswith(f"{told}failed with exit code 4\n")
    assert "would count twice" in done.stdout
    assert counted(folders) == 20_000


def killed_while_telling(tmp_path: Path, folders: dict[str, str]) -> None:
    """Kill a run whose files are counted and whose message is on the way; until then no other run may start."""
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, **folders, "TELL": "touch telling; sleep 60"}
    process = subprocess.Popen([SCRIPT], cwd=tmp_path, env=environment, start_new_session=True)
    try:
        until = time.monotonic() + 60
        while not (tmp_path / "telling").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        second = run(SCRIPT, folder=tmp_path, given=folders)
        assert (second.returncode, second.stdout) == (75, "")
        assert "another run is at work on" in second.stderr
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_what_is_wrong_is_told(tmp_path: Path, folders: dict[str, str]) -> None:
    arrive(folders, "1", scored(rounds=300))
    wrong = {**folders, "REPORT": "no folder/page.html"}
    done = run(SCRIPT, folder=tmp_path, given={**wrong, "TELL": "cat > message"})
    assert (done.returncode, done.stdout) == (2, "")
    message = (tmp_path / "message").read_text()
    assert message.startswith("surelift monitor: failed with exit code 2\n")
    assert "no folder/page.html cannot be written" in message
    done = run(SCRIPT, folder=tmp_path, given={**wrong, "TELL": "exit 7"})
    assert (done.returncode, done.stderr) == (
        1,
        "monitor.sh: the message could not be sent; the next run tries again.\n",
    )


def test_wrong_folders_get_a_sentence(tmp_path: Path, folders: dict[str, str]) -> None:
    done = run(SCRIPT, folder=tmp_path, given={**folders, "LOGS": ""})
    assert (done.returncode, done.stderr) == (2, "monitor.sh: LOGS must name the folder of the log files; it is ''.\n")
    done = run(SCRIPT, folder=tmp_path, given={**folders, "STATE": "nowhere"})
    assert done.returncode == 2
    assert "STATE must name a folder for the counts; it is 'nowhere'" in done.stderr
    (Path(folders["STATE"]) / ".lock").mkdir()
    done = run(SCRIPT, folder=tmp_path, given=folders)
    assert done.returncode == 2
    assert done.stderr.endswith(f"monitor.sh: {folders['STATE']} cannot be written.\n")
    bash = str(shutil.which("bash"))
    bare = subprocess.run([bash, SCRIPT], env={**folders, "PATH": "/nowhere"}, capture_output=True, text=True)
    assert (bare.returncode, bare.stderr[:43]) == (2, "monitor.sh: there is no command flock; it i")


def installed(text: str, tmp_path: Path, folders: dict[str, str]) -> str:
    """With the places of this test instead of those of a server."""
    places = {"/opt/surelift/venv/bin": str(BIN), "/opt/surelift": str(EXAMPLES), "/srv/logs": folders["LOGS"]}
    for place, here in {**places, "/var/lib/surelift": folders["STATE"]}.items():
        assert place in text
        text = text.replace(place, here)
    return text


def test_the_lines_for_cron(tmp_path: Path, folders: dict[str, str]) -> None:
    arrive(folders, "1", scored(rounds=3_000))
    text = installed((EXAMPLES / "surelift-monitor.cron").read_text(), tmp_path, folders)
    *settings, line = [line for line in text.splitlines() if not line.startswith("#")]
    environment = dict(setting.split("=", 1) for setting in settings)
    *times, user, command = line.split(maxsplit=6)
    assert (times, user) == (["15", "5", "*", "*", "*"], "surelift")
    # Cron gives a job nothing else.
    done = subprocess.run(["/bin/sh", "-c", command], env=environment, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("surelift monitor: certified, before it was open\n")


def test_the_units_of_systemd(tmp_path: Path, folders: dict[str, str]) -> None:
    arrive(folders, "1", scored(rounds=3_000))
    text = installed((EXAMPLES / "surelift-monitor.service").read_text(), tmp_path, folders)
    service = [line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#")]
    assignments = [shlex.split(value)[0].split("=", 1) for key, value in service if key == "Environment"]
    environment, mailer = dict(assignments), tmp_path / "mail"
    mailer.write_text('#!/bin/sh\nprintf "%s|" "$@" > "$(dirname "$0")/mailed"\ncat >> "$(dirname "$0")/mailed"\n')
    mailer.chmod(0o755)
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    assert environment.pop("REPORT") == f"{folders['STATE']}/report.html"  # drawing it takes seconds
    (command,) = (value for key, value in service if key == "ExecStart")
    done = subprocess.run([command], env=environment, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    mailed = (tmp_path / "mailed").read_text()
    assert mailed.startswith("-s|surelift monitor|team@example.org|surelift monitor: certified, before it was open\n")
    timer = configparser.ConfigParser(interpolation=None)
    timer.read(EXAMPLES / "surelift-monitor.timer")
    assert timer["Timer"]["OnCalendar"] == "*-*-* 05:15"
    assert timer["Install"]["WantedBy"] == "timers.target"


def test_systemd_understands_the_units(tmp_path: Path, folders: dict[str, str]) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd", "systemd-analyze is not installed")
    for name in ("surelift-monitor.service", "surelift-monitor.timer"):
        text = (EXAMPLES / name).read_text()
        (tmp_path / name).write_text(installed(text, tmp_path, folders) if name.endswith("service") else text)
    done = run("systemd-analyze", "verify", "--man=no", *tmp_path.glob("surelift-monitor.*"), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    calendar = run("systemd-analyze", "calendar", "*-*-* 05:15", folder=tmp_path)
    assert "Normalized form: *-*-* 05:15:00" in calendar.stdout


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.sh")), ids=lambda script: script.name)
def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    if shutil.which("shellcheck") is None:
        missing("shellcheck", "it is not installed")
    done = run("shellcheck", script, folder=EXAMPLES)
    assert done.returncode == 0, done.stdout
