"""surelift estimate and surelift profile: the answers of the library, as text, JSON, CSV and a page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.estimates import ESTIMATES
from tests.cli.test_cli import run

COLUMNS = ["log.parquet", "--reward", "r", "--propensity", "p"]
WHOLE = ["--action", "a", "--logging", "all", "--policy", "new"]
GIVEN = {"alpha": "0.5", "strength": "0.5", "clip": "3", "smoothing": "0.1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, rng = tmp_path_factory.mktemp("estimate"), np.random.default_rng(0)
    action = rng.integers(0, 2, 1_000)
    click = (rng.random(1_000) < np.where(action == 1, 0.6, 0.3)).astype(float)
    columns = {
        "r": click, "p": np.full(1_000, 0.5), "a": action, "all": [[0.5, 0.5]] * 1_000, "new": [[0.3, 0.7]] * 1_000,
        "one": np.where(action == 1, 0.7, 0.3), "q": [[0.3, 0.6]] * 1_000,
        "side": np.array(["left", "right"])[np.arange(1_000) % 2],
    }  # fmt: skip
    pq.write_table(pa.table(columns), path / "log.parquet")
    return path


def logs(folder: Path) -> sl.Logs:
    return sl.Logs(folder / "log.parquet", reward="r", propensity="p", action="a", logging="all")


@pytest.mark.parametrize("estimator", ESTIMATES)
def test_every_estimator_with_its_flag(estimator: str, folder: Path) -> None:
    line = ESTIMATES[estimator]
    flags = [f"--{line.parameter}", GIVEN[line.parameter]] if line.parameter else []
    model = ["--model", "q"] if line.asks_model else []
    done = run("estimate", *COLUMNS, *WHOLE, "--estimator", estimator, *flags, *model, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    options: dict[str, Any] = {line.parameter: float(GIVEN[line.parameter])} if line.parameter else {}
    if line.asks_model:
        options["model"] = sl.models.given("q")
    answer = sl.estimate(logs(folder), {"new": "new"}, estimator=estimator, **options)
    assert json.loads(done.stdout) == json.loads(answer.to_json())


def test_an_estimate_by_segment_as_files(folder: Path) -> None:
    files = ["--csv", "e.csv", "--html", "e.html"]
    done = run("estimate", *COLUMNS, "--policy", "one", "--by", "side", *files, folder=folder)
    assert done.returncode == 0
    assert "left" in done.stdout
    assert "right" in done.stdout
    assert (folder / "e.csv").read_text().startswith("side,")
    assert "<h1>" in (folder / "e.html").read_text()
    assert done.stderr == "Page written to e.html; open it in a browser.\nTable written to e.csv.\n"


def test_a_profile(folder: Path) -> None:
    done = run("profile", *COLUMNS, "--policy", "one", folder=folder)
    answer = sl.profile(sl.Logs(folder / "log.parquet", reward="r", propensity="p"), {"one": "one"})
    assert (done.returncode, done.stdout) == (0, f"{answer}\n")
    done = run("profile", *COLUMNS, "--policy", "one", "--grid", "planned", "--by", "side", "--json", folder=folder)
    assert set(json.loads(done.stdout)["segments"]) == {"left", "right"}
    files = ["--csv", "p.csv", "--html", "p.html"]
    assert run("profile", *COLUMNS, *WHOLE[:4], "--policy", "one", *files, folder=folder).returncode == 0
    assert "<h1>" in (folder / "p.html").read_text()


@pytest.mark.parametrize(
    "tokens, says",
    [
        (
            ["estimate", *COLUMNS, "--policy", "one", "--estimator", "ipss"],
            "no estimator 'ipss'; the estimators are ips",
        ),
        (
            ["estimate", *COLUMNS, "--policy", "one", "--clip", "3"],
            "estimator 'ips' does not use --clip; it takes none",
        ),
        (["estimate", *COLUMNS, "--policy", "one", "--estimator", "shrinkage"], "'shrinkage' needs --strength"),
        (["estimate", *COLUMNS, "--policy", "one", "--model", "q"], "does not use --model"),
        (["estimate", *COLUMNS, "--policy", "one", "--certificate", "c.json"], "Unknown option: --certificate"),
        (["profile", *COLUMNS, "--policy", "one", "--certificate", "c.json"], "Unknown option: --certificate"),
        (["profile", *COLUMNS, "--policy", "one", "--policy", "p"], "but this command takes one"),
        (["profile", *COLUMNS, "--policy", "one", "--method", "moments"], "Unknown option: --method"),
        (["profile", *COLUMNS, "--policy", "one", "--grid", "fine"], "grid"),
    ],
)
def test_what_is_refused(tokens: list[str], says: str, folder: Path) -> None:
    done = run(*tokens, folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
