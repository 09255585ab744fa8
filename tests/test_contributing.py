"""The examples in CONTRIBUTING are complete: their files are added to a copy of the package, and they print what it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import surelift

CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"
BLOCK = re.compile(r"```(python)?\n(.*?)```", flags=re.DOTALL)
FILE = re.compile(r"# src/(\S+)\n")


def blocks(heading: str) -> tuple[dict[str, str], str, str]:
    """The files of one example by path, the code that uses them, and what it prints."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)^## ", CONTRIBUTING.read_text(), flags=re.DOTALL | re.MULTILINE)
    files, use, printed = {}, "", ""
    for language, code in BLOCK.findall(section):
        named = FILE.match(code)
        if named:
            files[named[1]] = code[named.end() :]
        elif language:
            use = code
        else:
            printed = code
    return files, use, printed


def copied(files: dict[str, str], folder: Path) -> Path:
    """A copy of the package with further files."""
    package = folder / "surelift"
    shutil.copytree(Path(surelift.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for path, code in files.items():
        assert not (folder / path).exists()
        (folder / path).write_text(code)
    return package


def run(code: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "heading, added",
    [
        ("Adding a bound", ["surelift/bounds/hoeffding.py"]),
        ("Adding a statistic", ["surelift/statistics/largest_reward.py"]),
        (
            "Adding a question and its result",
            ["surelift/results/target.py", "surelift/questions/target.py", "surelift/decisions/target.py"],
        ),
    ],
)
def test_the_example_prints_what_it_says(heading: str, added: list[str], tmp_path: Path) -> None:
    files, use, printed = blocks(heading)
    assert list(files) == added
    package = copied(files, tmp_path)
    if heading == "Adding a bound":
        table = package / "bounds" / "__init__.py"
        listed = table.read_text().replace("NORMAL, BOOTSTRAP,", "NORMAL, BOOTSTRAP, HOEFFDING,")
        table.write_text(listed.replace("\n\n__all__", "\nfrom surelift.bounds.hoeffding import HOEFFDING\n\n__all__", 1))
    assert printed.strip()
    assert run(use, tmp_path).rstrip() == printed.rstrip()


def test_the_folders_are_listed_in_their_order() -> None:
    from tests.test_house import ORDER

    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", CONTRIBUTING.read_text(), flags=re.MULTILINE)
    assert rows == ORDER
