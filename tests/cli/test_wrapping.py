"""Messages are wrapped between words, and what is copied stays in one piece."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.cli import terminal
from surelift.cli.terminal import wrapped


@given(text=st.text(alphabet="ab '\"-:\n", max_size=200), width=st.integers(10, 60))
def test_only_breaks_are_added(text: str, width: int) -> None:
    assert wrapped(text, width).split() == text.split()
    assert wrapped(text, width).count("\n") >= text.count("\n")


@pytest.mark.parametrize(
    "piece",
    [
        "'surelift explain'",
        "\"country = 'FR'\"",
        "--reward-range LOW,HIGH",
        "--actions A,B,...",
        "/a/very/long/path/without-a-blank/part-0001.parquet",
        "production's",
    ],
)
def test_what_is_copied_stays_in_one_piece(piece: str) -> None:
    for before in range(30):
        text = f"{'x' * before} and then {piece}, which is not broken wherever it stands in a line."
        assert any(piece in line for line in wrapped(text, 32).split("\n"))


def test_a_command_stays_in_one_line() -> None:
    command = "surelift verify c.json SOURCE --predictions new=scores.txt"
    assert wrapped(f"Certificate written to c.json; confirm it with: {command}", 40).split("\n")[-1] == command


def test_lines_and_indents_of_a_message_stay() -> None:
    text = "first line\n  an indented line that is too long for this width\n- a bullet of more than one line\nlast"
    assert wrapped(text, 24) == (
        "first line\n  an indented line that\n  is too long for this\n  width\n- a bullet of more than\n  one line\nlast"
    )


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns, longest", [("60", 60), ("300", terminal.WIDEST)])
def test_messages_fit_the_terminal_and_pipes_get_one_line(
    columns: str, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, pipe, screen = "word " * 50, io.StringIO(), Screen()
    monkeypatch.setenv("COLUMNS", columns)
    for stream in (pipe, screen):
        monkeypatch.setattr("sys.stderr", stream)
        terminal.say(text)
    assert pipe.getvalue() == text + "\n"
    lengths = [len(line) for line in screen.getvalue().splitlines()]
    assert longest - len("word ") < max(lengths) <= longest


def test_what_the_encoding_of_standard_output_lacks_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    raw: Any = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    terminal.print_answer("café\x1b[31m\nsure")
    assert raw.getvalue() == b"caf\\xe9\\x1b[31m\nsure\n"
