"""Names from other people's files do no harm in a terminal, in CSV, in JSON or in a plot."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import matplotlib
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.cli.app import main
from surelift.views.formats import cell, harmless, short, visible
from surelift.views.html import in_script
from tests.results.samples import KINDS, every_result

matplotlib.use("Agg")
NASTY = "=cmd|'/c calc'!A0\x1b]0;owned\x07\r\x00\u202e$\\frac{$\u200b<b>\x9b31m"


def unprintable(text: str) -> list[str]:
    return [letter for letter in text if not letter.isprintable() and letter != "\n"]


@given(st.text())
def test_every_character_of_a_name_is_visible(name: str) -> None:
    assert visible(name).isprintable()
    assert visible(visible(name)) == visible(name)
    assert len(short(name)) <= 40
    assert unprintable(harmless(name)) == []


@given(st.text())
def test_a_cell_is_never_a_formula(name: str) -> None:
    assert str(cell(name)).lstrip()[:1] not in ("=", "+", "-", "@")
    assert cell(-1.5) == -1.5


@given(st.recursive(st.text() | st.floats(allow_nan=False, allow_infinity=False), st.lists))
def test_json_cannot_close_the_script_it_is_in(data: Any) -> None:
    text = in_script(data)
    assert "<" not in text
    assert ">" not in text
    assert json.loads(text) == data


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_terminal_and_in_json(kind: str) -> None:
    assert unprintable(str(every_result(NASTY, "-1+1")[kind])) == []
    assert unprintable(every_result(NASTY, "-1+1")[kind].to_json()) == []
    assert unprintable(every_result(NASTY, "-1+1")[kind]._repr_html_()) == []
    assert "<b>" not in every_result(NASTY, "-1+1")[kind]._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_in_csv(kind: str) -> None:
    text = every_result(NASTY, "-1+1")[kind].to_csv()
    assert text is not None
    assert unprintable(text) == []
    for row in csv.reader(io.StringIO(text)):
        for entry in row:
            try:
                float(entry)
            except ValueError:
                assert entry[:1] not in ("=", "+", "-", "@")


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_plot(kind: str, tmp_path: Path) -> None:
    """A dollar sign does not start a TeX formula, which would fail to parse."""
    from matplotlib import pyplot

    axes = every_result(NASTY, "-1+1")[kind].plot()
    axes.figure.savefig(tmp_path / "plot.png")
    pyplot.close(axes.figure)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hostile names of columns, segments, actions and files, in answers and in errors."""
    name = "p\x1b[2J\u202e"
    table: dict[str, Any] = {
        "r": [0.0, 1.0] * 50, "p": [0.5] * 100, name: [0.5, 0.6] * 50, "g": ["a\x1b[31m", "b\nc"] * 50,
    }  # fmt: skip
    path = tmp_path / "log\x1b[31m.parquet"
    pq.write_table(pa.table(table), path)
    flags = ["--reward", "r", "--propensity", "p"]
    answered: list[list[Any]] = [
        ["compare", path, *flags, "--policy", name],
        ["compare", path, *flags, "--policy", name, "--by", "g"],
        ["check", path, *flags, "--policy", name],
        ["estimate", path, *flags, "--policy", name, "--by", "g"],
        ["power", path, *flags, "--policy", name, "--json"],
    ]
    refused: list[list[Any]] = [
        ["evaluate", path, *flags, "--policy", f"{name}=no\x1bsuch"],
        ["compare", path, "--reward", name, "--propensity", "p", "--policy", name, "--nonsense\x1b"],
        ["compare", str(path) + "\x1bmissing", *flags, "--policy", name],
        ["comp\x1bare", path],
    ]
    for arguments in (*answered, *refused):
        code = main(list(map(str, arguments)))
        shown = capsys.readouterr()
        assert unprintable(shown.err) == [], arguments
        assert unprintable(shown.out) == [], arguments
        assert (code == 2, shown.out != "") == (arguments in refused, arguments in answered), arguments


def test_the_name_of_a_segment_column_is_a_safe_cell_too() -> None:
    logs = sl.Logs(
        {"r": [0, 1] * 50, "p": [0.5] * 100, "q": [0.5] * 100, "=g": ["@x", "y"] * 50}, reward="r", propensity="p"
    )
    text = sl.compare(logs, {"new": "q"}, by="=g").to_csv()
    assert text is not None
    assert text.startswith("'=g,policy")
    assert "'@x" in text
