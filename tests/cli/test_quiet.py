"""--quiet: the answer, and nothing on standard error but errors."""

import io
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.cli.app import app, main
from tests.cli.test_cli import COLUMNS, run
from tests.importers.test_vowpal_wabbit import decisions, dsjson_line, write_dsjson

POLICY = ["--policy", "p_better"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("quiet")
    pq.write_table(sl.datasets.shop(2_000).table, path / "shop.parquet")
    return path


@pytest.mark.parametrize("quiet", ["--quiet", "-q"])
@pytest.mark.parametrize(
    "command",
    [
        ["compare", "shop.parquet", "./shop.parquet", *COLUMNS, *POLICY, "--certificate", "c.json", "--csv", "c.csv"],
        ["monitor", "shop.parquet", "--state", "state.json", *COLUMNS, *POLICY],
        ["report", "shop.parquet", *COLUMNS, *POLICY, "-o", "page.html"],
    ],
    ids=lambda command: command[0],
)
def test_nothing_but_the_answer(command: list[str], quiet: str, folder: Path) -> None:
    loud = run(*command, folder=folder)
    for state in folder.glob("*state.json*"):
        state.unlink()
    hushed = run(*command, quiet, folder=folder)
    for state in folder.glob("*state.json*"):
        state.unlink()
    assert loud.stderr != ""
    assert (hushed.returncode, hushed.stdout, hushed.stderr) == (loud.returncode, loud.stdout, "")


def test_errors_are_told(folder: Path) -> None:
    for wrong in (
        ["shop.parquet", *COLUMNS, "--policy", "p_bettr"],
        ["shop.parquet", "--nonsense"],
        ["no.csv", *COLUMNS, *POLICY],
    ):
        done = run("compare", "--quiet", *wrong, folder=folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("surelift: ")


def test_what_a_format_leaves_out_is_a_note(tmp_path: Path) -> None:
    data = decisions(rounds=50)
    path = write_dsjson(tmp_path / "log.dsjson", data, dsjson_line(data, 0, _skipLearn=True))
    assert "Left out" in run("evaluate", path, folder=tmp_path).stderr
    assert run("evaluate", path, "-q", folder=tmp_path).stderr == ""


def test_standard_error_is_restored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stderr
    assert main(["compare", str(folder / "shop.parquet"), *COLUMNS, *POLICY, "-q"]) in (0, 3)
    assert sys.stderr is before
    assert main(["compare", "-q"]) == 2
    assert "needs SOURCE" in capsys.readouterr().err


def test_a_wrong_flag_is_told_before_standard_input_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream: Any = io.BytesIO(b"r,p,new\n1,0.5,0.5\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
    assert main(["evaluate", "-", "--rewrd", "r"]) == 2
    assert "Did you mean --reward?" in capsys.readouterr().err
    assert stream.tell() == 0


def test_every_command_that_reads_logs_takes_it() -> None:
    for command in (name for name in app if not name.startswith("-")):
        flags = {name for argument in app[command].assemble_argument_collection() for name in argument.names}
        assert ({"--quiet", "-q"} <= flags) == (command not in ("explain", "demo", "completion")), command
