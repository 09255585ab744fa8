"""The documentation: all code in it is executed. (``.ci/run`` builds the pages, and ``tests/docs_site`` opens them.)"""

import inspect
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Unpack, get_args, get_origin

import pytest

import surelift as sl
from surelift.bounds import BOUNDS
from surelift.cli.app import app
from surelift.decisions.options import BoundOptions

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
# Blocks without code: directives, and command output.
INERT = {"{toctree}", "{eval-rst}", "{literalinclude}", "{image}", "{flags}", "{fields}", "{words}", ""}
REFERENCE = "".join(page.read_text() for page in PAGES if page.parent.name == "reference")
COMMANDS = [name for name in app if not name.startswith("-")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_code_block_is_executed(page: Path) -> None:
    text = page.read_text()
    fences = [line.strip("`").split(" ")[0].strip() for line in text.splitlines() if line.startswith("```")][::2]
    assert {fence for fence in fences if fence != "{code-cell}"} <= INERT
    if "" in fences:
        assert page.name == "reproduction.md"
    if "{code-cell}" in fences:
        assert text.startswith("---\nfile_format: mystnb\n")


def test_every_bound_has_a_page_that_states_its_promise() -> None:
    for name in BOUNDS:
        text = (ROOT / "docs" / "bounds" / f"{name}.md").read_text()
        for heading in ("**Promise.**", "**Formula.**", "**When it is", "{code-cell}"):
            assert heading in text, name


def test_every_public_name_is_in_the_reference() -> None:
    modules = {name for name in sl.__all__ if isinstance(getattr(sl, name), ModuleType)}
    # The errors are documented as a module, and read by their names there.
    excluded = modules | {"__version__", "LogsError", "SureliftError", "UsageError"}
    for name in set(sl.__all__) - excluded:
        assert re.search(rf"\.{name}\b", REFERENCE), name
    for name in sl.results.__all__:
        assert re.search(rf"surelift\.(results\.)?{name}\b", REFERENCE), name
    for path in re.findall(r"\.\. auto(?:class|function|exception):: (\S+)", REFERENCE):
        assert pkgutil.resolve_name(path), path


def documented_arguments(text: str) -> set[str]:
    """The names in the Args section of a docstring."""
    section = re.search(r"^Args:\n((?:    .*\n?)+)", inspect.cleandoc(text), flags=re.MULTILINE)
    names = re.findall(r"^    (\w[\w, ]*):", section[1], flags=re.MULTILINE) if section else []
    return {name for listed in names for name in listed.split(", ")}


CALLED = [
    *re.findall(r"\.\. autofunction:: (\S+)", REFERENCE),
    "surelift.Logs", "surelift.Monitor", "surelift.Outcome", "surelift.PolicyLearner", "surelift.PolicyLearner.fit",
    "surelift.LearnedPolicy.decide", "surelift.learning.ItemSoftmax", "surelift.grids.Grid",
]  # fmt: skip


def arguments(called: Callable[..., Any]) -> set[str]:
    """Its parameters, and the options that verbs share; those of a bound are described together, as ``options``."""
    names = set[str]()
    for name, parameter in inspect.signature(called).parameters.items():
        shared = get_args(parameter.annotation) if get_origin(parameter.annotation) is Unpack else ()
        names |= {name}.union(*(fields.__annotations__.keys() - BoundOptions.__annotations__.keys() for fields in shared))
    return names - {"self"}


@pytest.mark.parametrize("path", CALLED)
def test_every_parameter_is_described(path: str) -> None:
    called = pkgutil.resolve_name(path)
    assert documented_arguments(called.__doc__ or "") == arguments(called)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section_with_an_example_and_its_flags(command: str) -> None:
    text = (ROOT / "docs" / "command_line.md").read_text()
    section = re.search(rf"^## {command}\n(.*?)^## ", text, flags=re.MULTILINE | re.DOTALL)
    assert section
    assert f"](#{command})" in text
    assert f"surelift {command}" in section[1]
    if command != "reproduce":  # it needs data sets, and has a page of its own
        assert re.search(rf"{{code-cell}} ipython3\n%%bash\n(.*\n)*?surelift {command}\b", section[1])
    assert f"```{{flags}} {command}\n" in section[1] + "\n"


def test_nothing_says_that_surelift_is_on_an_index() -> None:
    for page in PAGES:
        assert not re.search(r"pip install '?surelift", page.read_text()), page
