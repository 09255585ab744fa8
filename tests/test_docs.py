"""The documentation and the examples: all code in them is executed. (``.ci/run`` builds the pages.)"""

import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
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


def commands() -> list[str]:
    import yaml

    steps = yaml.safe_load((ROOT / "examples" / "gate.yml").read_text())["jobs"]["gate"]["steps"]
    return [step["run"] for step in steps if "surelift gate" in step.get("run", "")]


@pytest.mark.parametrize("candidate, code", [("p_better", 0), ("p_worse", 3)])
def test_the_workflow_gate_stops_a_merge(tmp_path: Path, candidate: str, code: int) -> None:
    (command,) = commands()
    table = sl.datasets.shop().table.to_pandas().rename(columns={candidate: "p_new"})
    table["complaint"] = (np.random.default_rng(0).random(len(table)) < 0.02).astype(float)
    table.to_parquet(tmp_path / "scored.parquet")
    done = shell(command, tmp_path)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "certificate.json").exists()
    assert (tmp_path / "gate.html").exists()


def test_the_cron_job_reports_only_news(tmp_path: Path) -> None:
    logs, state = tmp_path / "logs", tmp_path / "state"
    logs.mkdir()
    state.mkdir()
    days = sl.datasets.shop(3_000).table.to_pandas().rename(columns={"p_better": "p_new"})
    script, folders = str(ROOT / "examples" / "monitor.sh"), {"LOGS": str(logs), "STATE": str(state)}
    certified = []
    for day, (first, last) in enumerate([(0, 200), (200, 2_500), (2_500, 3_000)]):
        days[first:last].to_parquet(logs / f"day-{day}.parquet")
        done = shell(f"bash {script}", tmp_path, **folders)
        assert done.returncode == 0, done.stderr
        certified.append("Certified" in done.stdout)
    assert sum(certified) == 1  # not certified at first, and reported once
    assert not certified[0]
    assert (state / "report.html").exists()
    (logs / "day-3.parquet").write_bytes(b"broken")
    done = shell(f"bash {script}", tmp_path, **folders)
    assert done.returncode == 4
    assert "surelift monitor failed (exit code 4)" in done.stdout


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, **environment},
    )  # fmt: skip


def test_every_command_is_documented() -> None:
    text = "".join(page.read_text() for page in [ROOT / "README.md", *PAGES])
    for command in (name for name in app if not name.startswith("-")):
        assert f"surelift {command}" in text
