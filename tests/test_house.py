"""House rules: folders import only from those above them, and files are short."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import pytest

import surelift
from surelift.traits.declaration import FLAT, SLOTS

SOURCE = Path(surelift.__file__).parent
ORDER = [
    "capabilities", "kernels", "logs", "traits", "policies", "batch", "importers",
    "quantities", "controls", "grids", "statistics", "engines", "bounds",
    "estimates", "evidence", "views", "results", "questions", "decisions", "learning", "datasets", "reproduce", "cli",
]  # fmt: skip
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES, MEDIAN_LINES, TOTAL_LINES, MOST_FILES, MOST_RAISES, MOST_PARAMETERS = 350, 128, 35_200, 290, 470, 10
# Declarations of many columns and options, and the flags of commands.
MANY_PARAMETERS = {
    "traits/logs.py:Logs.__init__",
    "learning/learner.py:PolicyLearner.__init__",
}


def imported_modules(path: Path) -> set[str]:
    """Every module of surelift that a file names in an import, in functions too, or in ``import_module("...")``.

    Those that only types need are left out: what has no effect is no dependence.
    """
    names: set[str] = set()
    for node in _walked(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "an import says from where"
            module = node.module or ""
            names |= {f"{module}.{alias.name}" for alias in node.names} if module == "surelift" else {module}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names |= {
                part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
            }
    return {name.removeprefix("surelift.") for name in names if name.startswith("surelift.")}


def _walked(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _walked(node)


def imported_folders(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported_modules(path)} & set(ORDER)


def parameters(path: Path) -> Iterator[tuple[str, int]]:
    """Every function of a file, with its number of parameters beside ``self`` and stars."""

    def within(nodes: Iterable[ast.AST], prefix: str) -> Iterator[tuple[str, int]]:
        for node in nodes:
            inner = prefix
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                inner = f"{prefix}{node.name}."
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                yield prefix + node.name, len([one for one in given if one.arg not in ("self", "cls")])
            yield from within(ast.iter_child_nodes(node), inner)

    return within(ast.parse(path.read_text()).body, "")


def place(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def asked_of_traits(path: Path) -> list[str]:
    """Where a file tests a field of a declaration for None, or which trait a log has."""
    slots = ("declaration", "declared", *SLOTS)
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
            asked = node.left
            if isinstance(asked, ast.Attribute) and asked.attr in FLAT and ast.unparse(asked.value).split(".")[-1] in slots:
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            kinds = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            found += [ast.unparse(node)] * bool(kinds & {kind.__name__ for kinds in SLOTS.values() for kind in kinds})
    return found


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name != "traits"], ids=place)
def test_only_traits_ask_which_trait_a_log_has(path: Path) -> None:
    assert asked_of_traits(path) == []


def test_the_test_of_traits_can_fail(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "logs.declaration.time is None or isinstance(declared.unit, Clusters) or declared.reward.cost is not None"
    )
    assert len(asked_of_traits(wrong)) == 3


def test_every_folder_is_listed() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ORDER)


@pytest.mark.parametrize("path", [path for path in FILES if path.parent != SOURCE], ids=place)
def test_a_folder_imports_only_from_those_above_it(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0]
    below = {name for name in imported_folders(path) if ORDER.index(name) > ORDER.index(own)}
    assert below == set()


def test_the_test_of_imports_can_fail(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from surelift.cli.app import app\nfrom surelift import datasets\nimport surelift.views.text\n"
        "def later(name):\n    from surelift.learning.learner import PolicyLearner\n"
        "    return importlib.import_module(f'surelift.reproduce.{name}'), import_module('surelift.decisions.gate')\n"
    )
    assert imported_folders(wrong) == {"cli", "datasets", "views", "learning", "reproduce", "decisions"}


def test_no_file_imports_the_package_whole() -> None:
    """It imports everything, so it would be a way up."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            whole = isinstance(node, ast.Import) and any(alias.name == "surelift" for alias in node.names)
            assert not whole or path.name == "__main__.py", place(path)


def test_a_class_name_is_defined_once() -> None:
    classes = [node for path in FILES for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    names = Counter(node.name for node in classes)
    assert {name for name, count in names.items() if count > 1} == set()


@pytest.mark.parametrize("path", FILES, ids=place)
def test_files_are_short_and_named_for_their_idea(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES
    assert "util" not in path.stem
    assert "helper" not in path.stem


def test_most_files_are_one_or_two_screens_and_the_whole_stays_small() -> None:
    lines = [len(path.read_text().splitlines()) for path in FILES]
    assert median(lines) < MEDIAN_LINES
    assert sum(lines) < TOTAL_LINES
    assert len(lines) <= MOST_FILES
    raises = sum(isinstance(node, ast.Raise) for path in FILES for node in ast.walk(ast.parse(path.read_text())))
    assert raises <= MOST_RAISES


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name != "cli"], ids=place)
def test_functions_have_few_parameters(path: Path) -> None:
    many = {name for name, count in parameters(path) if count > MOST_PARAMETERS}
    assert {f"{place(path)}:{name}" for name in many} <= MANY_PARAMETERS


def test_the_test_of_parameters_can_fail(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("class A:\n    def f(self, a, /, b, *args, c=1, **rest):\n        def g(x): ...\n")
    assert dict(parameters(wrong)) == {"A.f": 3, "A.f.g": 1}


@pytest.mark.parametrize("path", FILES, ids=place)
def test_names_say_what_they_are(path: Path) -> None:
    names = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    banned = re.compile(r"about_.*|(.*_)?(told|aloud)(_.*)?|said_of.*|taken_off")
    assert [name for name in names if banned.fullmatch(name)] == []


def test_public_names() -> None:
    assert len(set(surelift.__all__)) == len(surelift.__all__)
    for name in surelift.__all__:
        assert hasattr(surelift, name)
