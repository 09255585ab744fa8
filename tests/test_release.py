"""What a release needs to be true of the files around the package."""

import re
import subprocess
import sys
import tarfile
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import surelift as sl
from surelift.errors import install_extra

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
USED = [name for name in EXTRAS if name not in ("test", "docs")]
FROM_AN_INDEX = re.compile(r"(pip|uv|pipx) (add|install|tool install)( --?\S+)* ['\"]?surelift(?!-)")
TEXTS = [
    path
    for pattern in ("*.md", "*.cff", "docs/**/*.md", "examples/**/*.*", "src/**/*.py", ".github/**/*.*", "scripts/*")
    for path in ROOT.glob(pattern)
    if path.is_file()
]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def loaded(path: Path) -> ModuleType:
    """A script as a module."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FLOORS = loaded(ROOT / "scripts" / "floors.py")


def test_nothing_tells_to_install_from_an_index() -> None:
    """Until surelift is published, its name on an index may be somebody else's."""
    assert {path.name for path in TEXTS if FROM_AN_INDEX.search(path.read_text())} == set()


@pytest.mark.parametrize("told", ["pip install surelift", "pip install -U 'surelift[report]'", "uv add surelift"])
def test_the_test_of_installing_can_fail(told: str) -> None:
    assert FROM_AN_INDEX.search(told)
    assert not FROM_AN_INDEX.search("pip install surelift-0.1.0-py3-none-any.whl")
    assert not FROM_AN_INDEX.search(install_extra("report"))


def test_every_extra_that_a_message_names_exists() -> None:
    named = {
        extra for path in ROOT.glob("src/**/*.py") for extra in re.findall(r"install_extra\('(\w+)'\)", path.read_text())
    }
    assert named == {"report", "sklearn", "learn", "serve", "items", "lake"}
    assert named <= set(EXTRAS)


def test_one_version_and_one_address() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == sl.__version__
    assert f"\n## {sl.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    home = PROJECT["urls"]["Source"]
    assert citation["repository-code"] == home
    assert all(address.startswith(home) for address in PROJECT["urls"].values())
    for path in [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.yml")]:
        assert set(re.findall(r"https://github\.com/surelift/[\w-]+", path.read_text())) <= {home}, path


def test_classifiers() -> None:
    from trove_classifiers import classifiers  # comes with hatchling

    assert set(PROJECT["classifiers"]) <= classifiers
    versions = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert versions[0] == PROJECT["requires-python"].removeprefix(">=")
    tried = re.search(r"for version in ([\d. ]+);", (ROOT / "scripts" / "wheels.sh").read_text())
    assert tried is not None
    assert set(versions) <= set(tried[1].split())


def test_every_dependency_has_a_lowest_version_that_make_floors_installs() -> None:
    pinned = dict(line.lower().split("==") for line in (ROOT / "constraints.txt").read_text().splitlines())
    makefile = (ROOT / "Makefile").read_text()
    extras = re.search(r"FLOORS_EXTRAS := (.*)", makefile)
    assert extras is not None
    assert {*extras[1].split(), "spark"} == set(USED)  # without Spark, of 400 MB
    for line in FLOORS.floors(*USED):
        lowest = Requirement(line)
        (exact,) = lowest.specifier
        assert Version(exact.version) <= Version(pinned[lowest.name.lower()]), line
    for line in re.findall(r"tests/\S+", makefile):
        assert (ROOT / line).exists(), line


def test_a_dependency_without_a_lowest_version_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"'sqlglot<30' in pyproject\.toml has no lowest version"):
        FLOORS.floor("sqlglot<30")


def test_floors_past_known_advisories() -> None:
    floors = {Requirement(line).name: Version(FLOORS.floor(line).partition("==")[2]) for line in EXTRAS["report"]}
    assert floors["jinja2"] >= Version("3.1.6")  # CVE-2025-27516
    assert Version(FLOORS.floor(EXTRAS["learn"][0]).partition("==")[2]) >= Version("2.11")  # CVE-2026-4538


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_can_be_run_anywhere(path: Path) -> None:
    content: dict[Any, Any] = yaml.safe_load(path.read_text())
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    steps = [step for job in content["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    made = {command.split()[1] for command in commands if command.startswith("make ")}
    assert made <= targets
    assert made == ({"test", "floors"} if path.name == "ci.yml" else {"wheels"})
    assert (".ci/run" in commands) == (path.name == "ci.yml")
    assert content["permissions"] == {"contents": "read"}


def test_publishing_needs_a_tag_and_no_secret() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    publish = yaml.safe_load(text)["jobs"]["publish"]
    assert publish["if"] == "github.ref_type == 'tag'"
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in text


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*_*.yml")), ids=lambda path: path.name)
def test_issue_templates_ask_for_what_is_needed(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= form.keys()
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked)
    assert asked[0]["validations"] == {"required": True}


def test_links_of_the_readme_lead_out_of_the_page_of_an_index() -> None:
    pytest.importorskip("hatchling")
    links = loaded(ROOT / "hatch_build.py").with_whole_links
    text = '[a](docs/a.md) ![b](docs/b.png) <img src="./c.svg"> [d](https://d.org) [e](#e) [f](mailto:f@g.org)'
    assert links(text, "https://host/x", "v1") == (
        "[a](https://host/x/blob/v1/docs/a.md) ![b](https://host/x/raw/v1/docs/b.png) "
        '<img src="https://host/x/raw/v1/c.svg"> [d](https://d.org) [e](#e) [f](mailto:f@g.org)'
    )
    whole = links((ROOT / "README.md").read_text(), PROJECT["urls"]["Source"], "v1")
    assert set(re.findall(r"\]\((?!https?://|#)[^)]*\)", whole)) == set()


def test_the_source_archive_holds_every_file_of_the_repository(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("these are no sources under git")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    build = ["hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run([sys.executable, "-m", *build], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(tmp_path / f"surelift-{sl.__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        described = archive.extractfile(f"surelift-{sl.__version__}/PKG-INFO")
        assert described is not None
        information = described.read().decode()
    assert {name for name in listed if name} - names == set()
    assert {name for name in names if name.startswith(("build/", "dist/", ".venv/"))} == set()
    assert f"{PROJECT['urls']['Source']}/blob/v{sl.__version__}/docs/" in information
