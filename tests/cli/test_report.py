"""The commands that write pages, and what completes them."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from surelift.cli.app import app
from surelift.cli.invocation import command_typed, typed
from tests.cli.test_cli import COLUMNS, folder, run

__all__ = ["folder"]


def test_a_report_is_written_and_its_verdict_is_the_exit_code(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("report", "shop.parquet", *COLUMNS, "--policy", "p_better", "-o", page, "--json", folder=folder)
    assert done.returncode == 0
    assert f"Report written to {page}" in done.stderr
    assert json.loads(done.stdout)["certified"]
    assert "Choose &#39;p_better&#39;" in page.read_text()
    done = run("report", "shop.parquet", *COLUMNS, "--policy", "p_worse", "-o", page, folder=folder)
    assert done.returncode == 3
    assert "Keep production" in page.read_text()


def test_of_unfit_logs_the_page_says_why(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("r,p,q\n1,0.5,0.5\n0,1.5,0.5\n")
    page = tmp_path / "page.html"
    done = run("report", "log.csv", "--reward", "r", "--propensity", "p", "--policy", "q", "-o", page, folder=tmp_path)
    assert done.returncode == 4
    assert "propensity" in page.read_text()
    assert "Not fit for a guarantee" in done.stdout
    assert "REFUSE  propensity 'p': 1 of 2 values lie outside (0, 1]" in done.stdout


def test_a_wrong_question_writes_nothing(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("report", "shop.parquet", *COLUMNS, "-o", page, folder=folder).returncode == 2
    assert run("report", "shop.parquet", *COLUMNS, "--policy", "p_no", "-o", page, folder=folder).returncode == 2
    done = run(
        "report", "shop.parquet", *COLUMNS, "--policy", "p_better", "-o", tmp_path / "no" / "page.html", folder=folder
    )
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_every_answer_as_a_page(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for command in ("evaluate", "compare", "select", "gate"):
        done = run(command, "shop.parquet", *COLUMNS, "--policy", "p_better", "--html", page, folder=folder)
        assert done.returncode == 0, done.stderr
        assert f"Page written to {page}" in done.stderr
        assert "<h1>" in page.read_text()
        page.unlink()
    state = tmp_path / "state.json"
    done = run("monitor", "shop.parquet", "--state", state, *COLUMNS, "--policy", "p_better", "--html", page, folder=folder)
    assert done.returncode == 0
    assert "How the evidence grew" in page.read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(shell: str, folder: Path, tmp_path: Path) -> None:
    done = run("completion", shell, folder=folder)
    assert done.returncode == 0
    for command in (name for name in app if not name.startswith("-")):
        assert re.search(rf"\b{command}\b", done.stdout)
    if shell == "bash":
        (tmp_path / "surelift.sh").write_text(done.stdout)
        script = (
            "source surelift.sh; COMP_WORDS=(surelift comp); COMP_CWORD=1; _surelift; echo ${COMPREPLY[@]};"
            "COMP_WORDS=(surelift report --prop); COMP_CWORD=2; _surelift; echo ${COMPREPLY[@]}"
        )
        shown = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert "compare" in shown.stdout.splitlines()[0]
        assert "--propensity" in shown.stdout.splitlines()[1]


def test_in_a_pipe_there_is_no_colour(folder: Path) -> None:
    for arguments in (["--help"], ["report", "--help"], ["compare", "shop.parquet", *COLUMNS, "--policy", "p_better"]):
        done = run(*arguments, folder=folder, apart=True)
        assert "\x1b" not in done.stdout + done.stderr
        assert all(len(line) <= 80 for line in (done.stdout + done.stderr).splitlines())


def test_the_foot_of_a_page_has_the_command_that_made_it(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "a page.html"
    for command in ("report", "compare"):
        named = ("-o", page) if command == "report" else ("--html", page)
        assert run(command, "shop.parquet", *COLUMNS, "--policy", "p_better", *named, folder=folder).returncode == 0
        foot = page.read_text().rpartition("<footer>")[2].replace("&#39;", "'")
        assert f"surelift {command} shop.parquet --reward click" in foot
        assert f"'{page}'</code>" in foot


def test_the_command_is_told_without_credentials() -> None:
    with typed(["compare", "https://me:word@host/a.csv?Signature=12", "--reward", "r"]):
        assert command_typed() == "surelift compare https://host/a.csv --reward r"
    assert command_typed() == "surelift"
