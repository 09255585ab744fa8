"""What is shown while a command runs."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from surelift.cli import terminal


def test_a_bar_appears_once_reading_takes_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now, shown = 0.0, list[object]()

    @contextmanager
    def bar(_: object) -> Iterator[Callable[..., None]]:
        shown.append("opened")
        yield lambda completed: shown.append(completed)
        shown.append("closed")

    monkeypatch.setattr(terminal, "watched", lambda: True)
    monkeypatch.setattr(terminal, "monotonic", lambda: now)
    monkeypatch.setattr(terminal, "_reading_bar", bar)
    with terminal.progress() as tell:
        assert tell is not None
        tell(10)
        now = terminal.PATIENCE + 1.0
        assert shown == []
        tell(20)
        tell(30)
    assert shown == ["opened", 20, 30, "closed"]


def test_the_bar_itself(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    with terminal._reading_bar(None) as update:
        update(completed=1_000)
    assert "1,000 rounds" in capsys.readouterr().err


def test_there_is_no_bar_where_nobody_watches() -> None:
    with terminal.progress() as tell:
        assert tell is None


@pytest.mark.parametrize("columns", ["0", "2"])
def test_help_on_a_terminal_of_few_columns_ends(columns: str) -> None:
    command = [sys.executable, "-m", "surelift", "compare", "--help"]
    surroundings = {**os.environ, "COLUMNS": columns}
    done = subprocess.run(command, env=surroundings, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert b"--propensity" in done.stdout
