"""The gate of a workflow, run as it is: installed from a wheel in a repository of a user, and from this checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

import surelift as sl
from tests.examples.shop import BIN, EXAMPLES, logged, run, scored, write_policy

ROOT = EXAMPLES.parent
STEPS = yaml.safe_load((EXAMPLES / "gate.yml").read_text())["jobs"]["gate"]["steps"]
INSTALL, SCORE, GATE = (step["run"] for step in STEPS if "run" in step)
SITE = Path(sysconfig.get_path("purelib"))
EVIDENCE = {"certificate.json", "gate.html", "gate.txt", "summary.md"}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's repository as gate.yml expects it, in a fresh environment in which its install step was run."""
    folder = tmp_path_factory.mktemp("repository")
    build = ["pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", "wheels"]
    # Without the compiled loops: .ci/run tries the wheel that has them.
    environment = {**os.environ, "SURELIFT_COMPILER": "none"}
    subprocess.run([sys.executable, "-m", *build, ROOT], cwd=folder, check=True, env=environment)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "venv"], cwd=folder, check=True)
    # Without a network: pip from here, and the packages that surelift needs once it is installed itself.
    (folder / "pip").mkdir()
    (folder / "pip" / "pip").symlink_to(SITE / "pip")
    quiet = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = in_repository(INSTALL, folder, PYTHONPATH=str(folder / "pip"), **quiet)
    assert done.returncode == 0, done.stderr
    (home,) = folder.glob("venv/lib/python*/site-packages")
    (home / "beside.pth").write_text(f"{SITE}\n")
    (folder / "gate").mkdir()
    for name in ("gate.sh", "score.py"):
        shutil.copy(EXAMPLES / name, folder / "gate" / name)
    (folder / "logs").mkdir()
    logged().to_parquet(folder / "logs" / "last-month.parquet")
    return folder


def in_repository(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A step of the workflow; the host runs it with bash -e."""
    environment.setdefault("PYTHONPATH", "")
    return run("bash", "-e", "-c", command, folder=folder, programs=folder / "venv" / "bin", given=environment)


def test_the_wheel_is_what_runs(repository: Path) -> None:
    done = in_repository("python -c 'import surelift; print(surelift.__file__)'", repository)
    assert Path(done.stdout.strip()).is_relative_to(repository / "venv")


def test_the_workflow_with_a_better_candidate(repository: Path) -> None:
    write_policy(repository / "policy", "better")
    done = in_repository(SCORE, repository)
    assert done.returncode == 0, done.stderr
    summary = repository / "summary.md"
    done = in_repository(GATE, repository, GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 0, done.stdout
    evidence = repository / "evidence"
    assert {path.name for path in evidence.iterdir()} == EVIDENCE
    assert sl.verify(evidence / "certificate.json", repository / "scored.parquet").same
    assert summary.read_text().startswith("### Certified: the candidate may be launched.\n")
    assert summary.read_text() == (evidence / "summary.md").read_text()
    kept = next(step for step in STEPS if "upload-artifact" in step.get("uses", ""))
    assert (kept["if"], kept["with"]["path"]) == ("always()", "evidence")
    (repository / "scored.parquet").write_bytes(b"PAR1 broken")
    assert in_repository(GATE, repository).returncode == 4


def test_a_worse_candidate_stops_the_merge(tmp_path: Path) -> None:
    scored("worse").to_parquet(tmp_path / "log.parquet")
    done = run("bash", EXAMPLES / "gate.sh", "log.parquet", "evidence", folder=tmp_path)
    assert done.returncode == 3, done.stdout
    assert done.stdout.endswith("gate.sh: Not certified: keep production.\n")
    assert {path.name for path in (tmp_path / "evidence").iterdir()} == EVIDENCE


def too_small(folder: Path) -> None:
    scored().assign(propensity=lambda log: log["propensity"] / 4).to_parquet(folder / "log.parquet")


def without_complaints(folder: Path) -> None:
    scored().drop(columns="complaint").to_parquet(folder / "log.parquet")


@pytest.mark.parametrize(
    "spoil, code, says",
    [
        (too_small, 4, "not fit for a guarantee"),
        (without_complaints, 2, "asked wrongly"),
    ],
)
def test_without_an_answer_no_earlier_certificate_is_left(tmp_path: Path, spoil: Any, code: int, says: str) -> None:
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    for name in EVIDENCE:
        (evidence / name).write_text("of an earlier run")
    spoil(tmp_path)
    done = run("bash", EXAMPLES / "gate.sh", "log.parquet", "evidence", folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert {path.name for path in evidence.iterdir()} == {"gate.txt", "summary.md"}
    assert says in (evidence / "summary.md").read_text().splitlines()[0]
    assert "says nothing about the candidate" in done.stdout


def test_wrong_calls_get_a_sentence(tmp_path: Path) -> None:
    script, bash = EXAMPLES / "gate.sh", shutil.which("bash")
    done = run(bash, script, "log.parquet", folder=tmp_path)
    assert (done.returncode, done.stderr[:28]) == (2, "gate.sh: say: bash gate.sh L")
    (tmp_path / "taken").write_text("")
    done = run(bash, script, "log.parquet", "taken", folder=tmp_path, programs=BIN)
    assert done.returncode == 2
    assert "gate.sh: the folder taken cannot be made." in done.stderr
    done = subprocess.run([str(bash), script, "a", "b"], env={"PATH": "/nowhere"}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no command surelift; install it from its wheel" in done.stderr
