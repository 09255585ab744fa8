"""What is shown while a command runs."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.cli import progress
from surelift.cli.app import main


def test_a_bar_appears_once_reading_takes_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now, shown = 0.0, list[object]()

    @contextmanager
    def bar(*_: object) -> Iterator[Callable[..., None]]:
        shown.append("opened")
        yield lambda completed: shown.append(completed)
        shown.append("closed")

    monkeypatch.setattr(progress, "surroundings", lambda: "bar")
    monkeypatch.setattr(progress, "monotonic", lambda: now)
    monkeypatch.setattr(progress, "_counting_bar", bar)
    with progress.progress() as tell:
        assert tell is not None
        tell(10)
        now = progress.PATIENCE + 1.0
        assert shown == []
        tell(20)
        tell(30)
    assert shown == ["opened", 20, 30, "closed"]


def test_the_bar_itself(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    with progress._counting_bar(None, "rounds", None) as update:
        update(completed=1_000)
    assert "1,000 rounds" in capsys.readouterr().err


def test_there_is_no_bar_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal in ("xterm", "dumb"):
        monkeypatch.setenv("TERM", terminal)
        with progress.progress() as tell, progress.steps(lambda *_: "") as step:
            assert (tell, step) == (None, None)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("surroundings", [{"JPY_PARENT_PID": "1"}, {"TERM": "dumb"}])
def test_in_a_notebook_plain_lines_come_less_and_less_often(
    surroundings: dict[str, str], clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    with progress.progress(total=4_000_000) as tell:
        assert tell is not None
        for second in range(1, 301):
            clock[0] = float(second)
            tell(10_000 * second)
    told = screen.getvalue().splitlines()
    assert told[:2] == ["20,000 of 4,000,000 rounds, 2 s", "40,000 of 4,000,000 rounds, 4 s"]
    assert [line.split(", ")[-1] for line in told] == [
        "2 s", "4 s", "8 s", "16 s", "32 s", "64 s", "124 s", "184 s", "244 s",
    ]  # fmt: skip


def test_a_source_that_knows_its_length_is_asked_once_and_only_for_a_line(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def count() -> int:
        nonlocal asked
        asked += 1
        return 50

    monkeypatch.setenv("JPY_PARENT_PID", "1")
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    logs: Any = SimpleNamespace(source=SimpleNamespace(quick_count=count))
    with progress.progress(logs) as tell:
        assert tell is not None
        tell(10)
        assert asked == 0
        for clock[0] in (3.0, 10.0):
            tell(int(clock[0]))
    assert screen.getvalue() == "3 of 50 rounds, 3 s\n10 of 50 rounds, 10 s\n"
    assert asked == 1


def test_steps_in_a_notebook(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    with progress.steps(lambda done, of, bound: f"pass {done} of {of}, bound {bound:+.2f}") as tell:
        assert tell is not None
        tell(1, 20, 0.5)
        clock[0] = 5.0
        tell(2, 20, 0.25)
    assert screen.getvalue() == "pass 2 of 20, bound +0.25, 5 s\n"


def test_a_notebook_sees_a_command_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way: every command hands its progress on."""
    pq.write_table(sl.datasets.shop(2_000).table, tmp_path / "shop.parquet")
    flags = ["--reward", "click", "--propensity", "propensity", "--policy", "p_better"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    monkeypatch.setattr(progress, "FIRST_LINE", 0.0)
    told = {}
    for command in (["compare"], ["check"], ["verify", "c.json"], ["simulate", "--runs", "2", "--rounds", "50"],
                    ["monitor", "--state", "state.json"], ["estimate"], ["profile"], ["evaluate", "-"]):  # fmt: skip
        screen = Screen()
        monkeypatch.setattr("sys.stderr", screen)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "shop.parquet").read_bytes())))
        name, *more = command
        source = [] if more == ["-"] else ["shop.parquet"]
        kept = ["--certificate", "c.json"] if name == "compare" else []
        assert main([name, *more, *source, *([] if name == "verify" else flags), *kept]) == 0
        told[name] = screen.getvalue()
    simulated = told.pop("simulate")
    assert re.search(r"^\d of 2 simulated logs, 0 s$", simulated, flags=re.MULTILINE)
    for name, text in told.items():
        assert re.search(r"^2,000( of 2,000)? rounds, 0 s$", text, flags=re.MULTILINE), (name, text)
    assert "0 MiB of standard input, 0 s" in told["evaluate"]


@pytest.mark.parametrize("columns", ["0", "2"])
def test_help_on_a_terminal_of_few_columns_ends(columns: str) -> None:
    command = [sys.executable, "-m", "surelift", "compare", "--help"]
    surroundings = {**os.environ, "COLUMNS": columns}
    done = subprocess.run(command, env=surroundings, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert b"--propensity" in done.stdout
