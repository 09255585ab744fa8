"""Names come from other people's files: in a terminal, in CSV, in JSON and in a plot they are only names."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.cli.app import main
from surelift.views.html import in_script
from surelift.views.names import cell, harmless, short, visible
from tests.results.samples import KINDS, every_result

matplotlib.use("Agg")
NASTY = "=cmd|'/c calc'!A0\x1b]0;owned\x07\r\x00\u202e$\\frac{$\u200b<b>\x9b31m"


def unseen(text: str) -> list[str]:
    return [one for one in text if not one.isprintable() and one != "\n"]


@given(st.text())
def test_nothing_is_hidden_in_a_name(name: str) -> None:
    assert visible(name).isprintable()
    assert visible(visible(name)) == visible(name)
    assert len(short(name)) <= 40
    assert unseen(harmless(name)) == []


@given(st.text())
def test_a_cell_is_no_formula(name: str) -> None:
    assert str(cell(name)).lstrip()[:1] not in ("=", "+", "-", "@")
    assert cell(-1.5) == -1.5


@given(st.recursive(st.text() | st.floats(allow_nan=False, allow_infinity=False), st.lists))
def test_json_in_a_page_ends_no_script(data: Any) -> None:
    text = in_script(data)
    assert "<" not in text
    assert ">" not in text
    assert json.loads(text) == data


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_terminal_and_in_json(kind: str) -> None:
    assert unseen(str(every_result(NASTY, "-1+1")[kind])) == []
    assert unseen(every_result(NASTY, "-1+1")[kind].to_json()) == []
    assert unseen(every_result(NASTY, "-1+1")[kind]._repr_html_()) == []
    assert "<b>" not in every_result(NASTY, "-1+1")[kind]._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_in_csv(kind: str) -> None:
    text = every_result(NASTY, "-1+1")[kind].to_csv()
    assert text is not None
    assert unseen(text) == []
    for row in csv.reader(io.StringIO(text)):
        for one in row:
            try:
                float(one)
            except ValueError:
                assert one[:1] not in ("=", "+", "-", "@")


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_plot(kind: str, tmp_path: Path) -> None:
    """A dollar begins no formula of TeX, which would not be one."""
    from matplotlib import pyplot

    axes = every_result(NASTY, "-1+1")[kind].plot()
    axes.figure.savefig(tmp_path / "plot.png")
    pyplot.close(axes.figure)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns, segments, actions and files with names of this kind, in answers and in refusals."""
    name = "p\x1b[2J\u202e"
    table: dict[str, Any] = {
        "r": [0.0, 1.0] * 50, "p": [0.5] * 100, name: [0.5, 0.6] * 50, "g": ["a\x1b[31m", "b\nc"] * 50,
    }  # fmt: skip
    path = tmp_path / "log\x1b[31m.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    flags = ["--reward", "r", "--propensity", "p"]
    for arguments in (
        ["compare", path, *flags, "--policy", name],
        ["compare", path, *flags, "--policy", name, "--by", "g"],
        ["check", path, *flags, "--policy", name],
        ["evaluate", path, *flags, "--policy", f"{name}=no\x1bsuch"],
        ["compare", path, "--reward", name, "--propensity", "p", "--policy", name, "--nonsense\x1b"],
        ["compare", str(path) + "\x1bmissing", *flags, "--policy", name],
        ["power", path, *flags, "--policy", name, "--json"],
    ):
        main(list(map(str, arguments)))
        shown = capsys.readouterr()
        assert unseen(shown.err) == [], arguments
        assert unseen(shown.out) == [], arguments
        assert shown.err


def test_columns_of_segments_are_cells_too() -> None:
    logs = sl.Logs(
        {"r": [0, 1] * 50, "p": [0.5] * 100, "q": [0.5] * 100, "=g": ["@x", "y"] * 50}, reward="r", propensity="p"
    )
    text = sl.compare(logs, {"new": "q"}, by="=g").to_csv()
    assert text is not None
    assert text.startswith("'=g,policy")
    assert "'@x" in text
