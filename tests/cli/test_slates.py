"""Pages on the command line: each a round, by the product or by the sum of its positions' weights; verified from rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift import importers
from surelift.cli.app import main

PAGES, POSITIONS = 3_000, 3
OLD, NEW, ADDS = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.05, 0.08, 0.12, 0.2])
FLAGS = ["--slate", "page", "--reward", "r", "--propensity", "p", "--policy", "new=p_new"]
WAYS: dict[str, list[str]] = {"product": [], "additive": ["--slate-weight", "additive", "--slate-max", "3"]}


@pytest.fixture
def log(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    shown = rng.choice(4, size=(PAGES, POSITIONS), p=OLD)
    reward = (rng.random(PAGES) < ADDS[shown].sum(axis=1)).astype(float)
    table = {
        "page": np.repeat(np.arange(PAGES), POSITIONS), "r": np.repeat(reward, POSITIONS), "p": OLD[shown].ravel(),
        "p_new": NEW[shown].ravel(),
    }  # fmt: skip
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    return str(tmp_path / "log.parquet")


@pytest.mark.parametrize("weight", WAYS)
def test_the_answer_of_python_and_its_certificate(log: str, weight: Any, tmp_path: Path) -> None:
    certificate = str(tmp_path / "c.json")
    assert main(["compare", log, *FLAGS, *WAYS[weight], "--certificate", certificate]) == 0
    options: Any = {"probabilities": "independent"} | ({"most": POSITIONS} if weight == "additive" else {})
    pages = importers.slates(log, {"new": "p_new"}, slate="page", reward="r", propensity="p", weight=weight, **options)
    answer = sl.compare(pages.logs, pages.policies)
    assert sl.Certificate.load(certificate).content["answer"]["lower"] == answer.lower
    assert main(["verify", certificate, log, "--slate", "page"]) == 0
    assert main(["verify", certificate, log]) == 2
    assert main(["check", log, *FLAGS, *WAYS[weight]]) == 0


def test_half_of_the_pages_by_the_candidate(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["select", log, *FLAGS, "--policy", "p", "--blend", "new=0.5"]) in (0, 3)
    assert "50% of new" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "command, says",
    [
        (["compare", "LOG", *FLAGS, "--slate-weight", "additive"], "--slate-max, the most positions of a page"),
        (["compare", "LOG", *FLAGS, "--time", "t"], "--slate makes each page a round, and takes no --time"),
        (["compare", "LOG", *FLAGS, "--chosen", "a"], "takes candidates by --policy COLUMN, and no --chosen"),
        (["compare", "LOG", *FLAGS[2:], "--slate-max", "3"], "need --slate, the column of the page"),
        (["compare", "LOG", *FLAGS[:6]], "no candidate was named"),
        (["compare", "LOG", *FLAGS[:2], *FLAGS[4:]], "--slate needs --reward and --propensity"),
        (["learn", "LOG", *FLAGS[:6], "--output", "policy"], "takes rounds, not the positions of pages"),
    ],
)
def test_wrong_flags(log: str, command: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([log if word == "LOG" else word for word in command]) == 2
    assert says in " ".join(capsys.readouterr().err.split())


def test_a_certificate_of_rounds_is_not_one_of_pages(log: str, tmp_path: Path) -> None:
    certificate = str(tmp_path / "c.json")
    flags = [*FLAGS[2:], "--certificate", certificate]
    assert main(["compare", log, *flags]) in (0, 3)
    assert main(["verify", certificate, log, "--slate", "page"]) == 2
