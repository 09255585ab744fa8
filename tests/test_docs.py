"""The documentation: all code in it is executed. (``.ci/run`` builds the pages.)"""

import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import surelift as sl
from surelift.bounds import BOUNDS
from surelift.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
# Blocks without code: MyST directives, and command output.
INERT = {"{toctree}", "{eval-rst}", "{literalinclude}", ""}


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
    text = (ROOT / "docs" / "api.md").read_text()
    modules = {name for name in sl.__all__ if isinstance(getattr(sl, name), ModuleType)}
    # The errors are documented as a module, and read by their names there.
    excluded = modules | {"__version__", "LogsError", "SureliftError", "UsageError"}
    for name in set(sl.__all__) - excluded:
        assert re.search(rf"\.{name}\b", text), name
    for name in sl.results.__all__:
        assert re.search(rf"surelift\.(results\.)?{name}\b", text), name
    documented = re.findall(r"\.\. auto(?:class|function|module):: surelift\.(\S+)", text)
    for path in documented:
        assert pkgutil.resolve_name(f"surelift.{path}"), path


def test_every_command_is_documented() -> None:
    text = "".join(page.read_text() for page in [ROOT / "README.md", *PAGES])
    for command in (name for name in app if not name.startswith("-")):
        assert f"surelift {command}" in text
