"""The README's ten lines of Python run, and its commands are the project's."""

import re
from pathlib import Path

import pytest

from surelift.cli.app import main

README = Path(__file__).parent.parent / "README.md"


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


def test_the_python_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    block, *others = python_blocks()
    assert len([line for line in block.splitlines() if line.strip()]) <= 10
    names: dict[str, object] = {}
    for code in (block, *others):
        exec(compile(code, "README.md", "exec"), names)
    shown = capsys.readouterr().out
    assert "Certified: '10% p_better' is better than production." in shown
    assert "Choose 'new'" in shown
    assert "Verified: the same 20,000 rounds give the same answer." in shown


def test_the_answer_shown_is_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["demo"])
    capsys.readouterr()
    flags = ["--reward", "click", "--propensity", "propensity", "--policy", "p_better", "--blend", "p_better=0.1"]
    assert main(["compare", "demo/shop.parquet", *flags]) == 0
    assert capsys.readouterr().err.strip() in README.read_text()


def test_make_demo_and_make_test_come_first() -> None:
    first = re.findall(r"```\n(.*?)```", README.read_text(), flags=re.DOTALL)[0]
    assert [line.split("#")[0].strip() for line in first.strip().splitlines()] == ["make demo", "make test"]
