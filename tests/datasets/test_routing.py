"""The router with a known truth, and the page that certifies a cheaper table from its log."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.json
import pytest
from scipy.stats import binom

import surelift as sl
from surelift.datasets.routing import MODELS, ROUTERS, routing
from tests.examples.shop import run

PAGE = Path(__file__).parent.parent.parent / "docs" / "gallery" / "model_routing.md"


def improvements(router: str) -> dict[str, float]:
    truth = routing(1).true_values
    return {
        name: (truth[router][claim.column] - truth["production"][claim.column]) * (-1 if claim.cost else 1)
        for name, claim in sl.datasets.Routing.outcomes().items()
    }


def test_it_is_reproducible() -> None:
    assert routing(100).table.equals(routing(100).table)
    assert not routing(100, seed=1).table.equals(routing(100).table)
    assert routing(100, seed=1).true_values == routing(100).true_values


def test_the_routers_are_what_they_are_called() -> None:
    better = {router: improvements(router) for router in ROUTERS}
    assert all(improvement > 0 for improvement in better["cheap"].values())
    assert better["careful"]["quality"] > better["cheap"]["quality"] > 0 > better["careful"]["cost"]
    assert better["reckless"]["quality"] < -0.05
    assert better["reckless"]["cost"] > better["cheap"]["cost"]


def test_rounds_agree_with_the_expected_values() -> None:
    data = routing(100_000, seed=5)
    logged = np.asarray(data.table["probabilities"].combine_chunks().flatten()).reshape(-1, len(MODELS))
    taken = np.array([MODELS.index(model) for model in data.table["model"].to_pylist()])
    assert np.array_equal(logged[np.arange(len(taken)), taken], np.asarray(data.table["propensity"]))
    for outcome, expected in data.expected.items():
        earned, means = np.asarray(data.table[outcome]), expected[np.arange(len(taken)), taken]
        assert earned.mean() == pytest.approx(means.mean(), abs=5 * earned.std() / len(earned) ** 0.5)
        # The requests themselves differ from their population by chance.
        population = data.true_values["production"][outcome]
        assert data.true_value(logged, outcome) == pytest.approx(population, abs=5 * means.std() / len(means) ** 0.5)
        assert earned.min() >= 0
        assert earned.max() <= next(c for c in data.outcomes().values() if c.column == outcome).range[1]


def test_all_bounds_of_all_outcomes_hold_as_often_as_promised() -> None:
    logs, delta, failed = 40, 0.1, 0
    truth = improvements("cheap")
    for seed in range(logs):
        data = routing(1_000, seed=seed)
        answer = sl.compare(data.logs(), {"cheap": sl.chosen("cheap")}, outcomes=data.outcomes(), delta=delta)
        failed += any(result.lower > truth[name] for name, result in answer.items())
    assert failed <= binom.isf(1e-6, logs, delta)


def test_json_lines_hold_the_log(tmp_path: Path) -> None:
    data = routing(500)
    data.write_json_lines(tmp_path / "requests.jsonl")
    again = sl.Logs(pyarrow.json.read_json(tmp_path / "requests.jsonl"), **data.columns())
    certificate = sl.Certificate.of(sl.compare(data.logs(), {"cheap": sl.chosen("cheap")}, outcomes=data.outcomes()))
    assert sl.verify(certificate, again).same


def test_the_page_certifies_a_cheaper_table_and_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) > 10
    for block in blocks:
        lines = [line for line in block.splitlines() if ".plot()" not in line]
        exec(compile("\n".join(line for line in lines if not line.startswith("!")), PAGE.name, "exec"), names)
        for command in (line[1:] for line in lines if line.startswith("!")):
            done = run("bash", "-e", "-c", command, folder=tmp_path)
            assert done.returncode == 0, done.stderr
    answer, found = names["answer"], names["found"]
    assert answer.certified
    assert "True" in capsys.readouterr().out.split()
    for name, claim in names["claims"].items():
        improvement = (names["truth"][name] - names["production"][name]) * (-1 if claim.cost else 1)
        assert answer[name].lower <= improvement <= answer[name].upper
        cheap = names["answers"]["cheap"][name]
        assert cheap.lower <= improvements("cheap")[name] <= cheap.upper
    assert set(found.values()) == set(MODELS)
    assert [name for name, result in names["answers"].items() if result.certified] == ["cheap"]
