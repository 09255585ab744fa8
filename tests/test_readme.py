"""The README's eight lines of Python print what it says, its commands run, and its links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest

from surelift.cli.app import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str = "") -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    return [text for named, text in fenced if named == language]


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 90


def test_the_python_example_prints_the_answer_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    capsys.readouterr()
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 8
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert capsys.readouterr().out in blocks()
    assert (tmp_path / "report.html").is_file()
    assert main(["verify", "certificate.json", "demo/shop.parquet"]) == 0


def test_the_commands_run_on_the_log_that_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row certifies nothing; that is what the exit code says."""
    monkeypatch.chdir(tmp_path)
    (commands,) = (block for block in blocks() if "p_new" in block)
    Path("log.csv").write_text("\n".join(re.findall(r"`([\w.]+(?:,[\w.]+){2})`", README)))
    for command, code in zip(commands.splitlines(), (3, 3), strict=True):
        assert main(shlex.split(command)[1:]) == code


def test_make_demo_and_make_test_come_first() -> None:
    assert [line.split("#")[0].strip() for line in blocks()[0].strip().splitlines()] == ["make demo", "make test"]


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).is_file(), target
