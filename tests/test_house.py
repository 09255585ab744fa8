"""House rules: folders import only from those above them, files are short, and importing is fast."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import surelift

SOURCE = Path(surelift.__file__).parent
ORDER = [
    "logs", "policies", "importers", "quantities", "controls", "grids", "statistics", "engines", "bounds", "estimates",
    "evidence", "views", "results", "questions", "decisions", "learning", "datasets", "reproduce", "cli",
]  # fmt: skip
FILES = sorted(SOURCE.rglob("*.py"))
# Names that are still defined twice; the list may only shrink.
DEFINED_TWICE = {
    "Bounded", "Clipping", "ExponentialSmoothing", "Finding", "ImplicitExploration", "Improvement", "Value",
}  # fmt: skip


def imported_folders(path: Path) -> set[str]:
    folders = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "surelift":
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module.removeprefix("surelift.")] if node.module.startswith("surelift.") else []
        elif isinstance(node, ast.Import):
            names = [alias.name.removeprefix("surelift.") for alias in node.names if alias.name.startswith("surelift.")]
        else:
            continue
        folders |= {name.split(".")[0] for name in names}
    return folders & set(ORDER)


def test_every_folder_is_listed() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ORDER)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parent != SOURCE], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_a_folder_imports_only_from_those_above_it(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0]
    below = {name for name in imported_folders(path) if ORDER.index(name) > ORDER.index(own)}
    assert below == set()


def test_the_test_of_imports_can_fail(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from surelift.cli.app import app\nfrom surelift import datasets\nimport surelift.views.text")
    assert imported_folders(wrong) == {"cli", "datasets", "views"}


def test_a_class_name_is_defined_once() -> None:
    names = Counter(
        node.name for path in FILES for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} <= DEFINED_TWICE


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_are_short_and_named_for_their_idea(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400
    assert "util" not in path.stem
    assert "helper" not in path.stem


def test_importing_loads_nothing_heavy() -> None:
    heavy = ["numba", "scipy", "pyarrow.dataset", "pandas", "polars", "torch", "sklearn", "matplotlib", "duckdb"]
    code = f"import sys, surelift; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names() -> None:
    assert len(set(surelift.__all__)) == len(surelift.__all__)
    for name in surelift.__all__:
        assert hasattr(surelift, name)
