"""The paper's protocols: what is computed, how it is compared with print, and that an interrupted run resumes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.cli.app import main
from surelift.datasets.draws import softmax
from surelift.reproduce import data, figures, obd, ope, ops
from surelift.reproduce.folder import Folder, ReproducedTable


def squared(number: int) -> int:
    return number * number


def test_pieces_are_computed_once_and_an_interrupted_run_resumes(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", {"what": "squares"})
    progress: list[tuple[int, int, str]] = []
    assert folder.pieces(squared, [(2,), (3,)], lambda *step: progress.append(step)) == [4, 9]
    assert [step[:2] for step in progress] == [(1, 2), (2, 2)]
    # Stored pieces are reused; only missing or damaged ones are computed.
    (tmp_path / "run" / "pieces" / "squared-2.json").write_text("5")
    assert Folder(tmp_path / "run", {"what": "squares"}).pieces(squared, [(2,), (3,), (4,)], None) == [5, 9, 16]
    (tmp_path / "run" / "pieces" / "squared-3.json").write_text("[9")
    assert Folder(tmp_path / "run", {"what": "squares"}).pieces(squared, [(3,)], None) == [9]
    with pytest.raises(sl.UsageError, match="holds a run with other"):
        Folder(tmp_path / "run", {"what": "cubes"})


def test_a_table_as_markdown_and_csv(tmp_path: Path) -> None:
    table = ReproducedTable("t", "A title", ["name", "value"], [["a, b", 0.12345], ["c", None]], ["A note."])
    assert table.markdown() == "### A title\n\n| name | value |\n|---|---|\n| a, b | 0.123 |\n| c |  |\n\nA note.\n"
    assert table.csv() == 'name,value\n"a, b",0.12345\nc,\n'
    page = Folder(tmp_path, {}).write("Page", ["Intro."], [table], [("x.png", "A figure.")])
    assert "![A figure.](x.png)" in page.read_text()
    assert (tmp_path / "t.csv").read_text() == table.csv()


def test_the_distance_to_a_printed_number() -> None:
    mean, error, printed, away = ope.compared(np.array([0.1, 0.2, 0.3]), 0.4)
    assert (mean, printed) == (pytest.approx(0.2), 0.4)
    assert error == pytest.approx(0.1 / 3**0.5)
    assert away == pytest.approx(-2.0)
    assert ope.compared(np.ones(3), 1.0)[3] == 0.0
    assert ope.compared(np.ones(3), 0.9)[3] is None


def test_the_published_numbers_are_consistent() -> None:
    assert set(data.TABLE_4) == set(data.TABLE_6) == set(data.TABULAR)
    assert all(len(row) == len(data.PAPER_METHODS) for row in (*data.TABLE_4.values(), *data.TABLE_5.values()))
    assert all(sum(counts) == 10 for row in data.TABLE_6.values() for counts in row)
    # Table 5 averages the same radii as Table 4, over targets instead of sets.
    by_set, by_target = (np.mean(list(table.values()), axis=0) for table in (data.TABLE_4, data.TABLE_5))
    assert by_set == pytest.approx(by_target, abs=0.006)


@pytest.mark.parametrize("self_normalised", [False, True])
def test_the_trained_softmax_is_a_maximum(self_normalised: bool) -> None:
    rng = np.random.default_rng(0)
    features, action = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    reward, propensity = rng.random(60), np.full(60, 1 / 3)

    def value(weights: Any) -> float:
        weight = softmax(features @ weights.T)[np.arange(60), action] / propensity
        return float((weight * reward).sum() / (weight.sum() if self_normalised else 60))

    trained = ops.trained(features, action, reward, propensity, 3, self_normalised=self_normalised)
    assert value(trained) > value(np.zeros((3, 2))) + 0.02
    for _ in range(20):
        assert value(trained) > value(trained + 0.05 * rng.normal(size=(3, 2))) - 1e-3


def test_choices_and_their_outcomes() -> None:
    values = {"production": 0.5, "ideal": 0.8, "IPS": 0.4, "SNIPS": 0.6}
    assert [ops.outcome(values, name) for name in ("production", "ideal", "IPS", "SNIPS")] == [
        "better", "best", "worse", "better",
    ]  # fmt: skip
    assert ops.best_of({"production": 0.0, "ideal": 0.0}) == "production"
    assert ops.best_of({"production": 0.1, "ideal": 0.2}) == "ideal"


def test_missing_data_sets_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SURELIFT_DATA", str(tmp_path))
    with pytest.raises(sl.UsageError, match=r"obd-random-all is not in the SURELIFT_DATA folder"):
        obd.campaign("all")
    monkeypatch.setattr(data, "_from_openml", lambda name: (_ for _ in ()).throw(data.MissingDataError(f"no {name}")))
    for what in ("ope", "ops"):
        assert main(["reproduce", what, "--quick", "--output", str(tmp_path / what)]) == 2
    assert "no data set is available. no ecoli" in capsys.readouterr().err
    assert main(["reproduce", "opl", "--quick", "--output", str(tmp_path / "opl")]) == 2
    assert "mnist is not in the SURELIFT_DATA folder" in capsys.readouterr().err
    with pytest.raises(sl.UsageError, match="unknown data set 'iris'"):
        data.labelled("iris")
    assert data.imputed(np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0]])).tolist() == [[1, 6], [3, 4], [2, 8]]


def test_a_radius_by_hand(data_folder: Path) -> None:
    """Logarithmic smoothing, from its formula."""
    (row, *_), names = ope.scenarios("ecoli", 0), list(ope.METHODS)
    assert len(row) == len(names)
    labels = data.labelled("ecoli").labels
    codes, classes = sl.datasets.encode_labels(labels)
    rng = np.random.default_rng((0, list(data.TABULAR).index("ecoli")))
    logging = sl.datasets.faulty_policy(codes, len(classes), temperature=0.2)
    feedback = sl.datasets.supervised_to_bandit(np.zeros((len(codes), 1)), labels, logging, noise=0.0, rng=rng)
    policy, at = (
        sl.datasets.ideal_policy(codes, len(classes), temperature=0.1),
        (np.arange(len(codes)), feedback.action),
    )
    rate = len(codes) ** -0.5
    total = np.log1p(rate * policy[at] / logging[at] * feedback.reward).sum()
    bound = max(0.0, np.expm1((total - np.log(20.0)) / len(codes)) / rate)
    assert row[names.index("LS")] == pytest.approx(1.0 - bound / feedback.true_value(policy), abs=1e-9)


def test_bets_in_blocks_are_a_column_of_every_table_and_a_curve(tmp_path: Path) -> None:
    labels = ["a", "b", "c"] * 60
    codes, classes = sl.datasets.encode_labels(labels)
    logging = sl.datasets.faulty_policy(codes, len(classes), temperature=1.0)
    rng, policy = np.random.default_rng(0), sl.datasets.ideal_policy(codes, len(classes), temperature=0.5)
    feedback = sl.datasets.supervised_to_bandit(np.zeros((len(codes), 1)), labels, logging, rng=rng)
    radius = ope.radii(feedback, policy)
    lower = sl.evaluate(feedback.logs(), {"new": policy}, delta=ope.DELTA, method="blocks", sides="lower")["new"].lower
    assert lower is not None
    assert list(ope.METHODS)[-1] == "blocks"
    assert radius[-1] == abs(1.0 - lower / feedback.true_value(policy))
    runs = np.tile(radius, (1, 2, 45, 1))
    for table in (ope.by_dataset(["yeast"], runs), ope.by_target(["yeast"], runs), ope.by_size([256], runs[:, :, 0])):
        assert table.columns[-1] == "blocks"
        assert table.rows[0][-1] == pytest.approx(radius[-1])
    name, _ = figures.distribution(tmp_path, runs.reshape(-1, len(ope.METHODS)), tuple(ope.METHODS))
    assert (tmp_path / name).exists()


def test_a_refused_log_has_no_bound() -> None:
    """All rewards are 1 and the mean weight is 9, so the lower bound lies above every possible value."""
    logs = sl.Logs(reward=np.ones(200), propensity=np.full(200, 0.1))
    policy = np.full(200, 0.9)
    with pytest.raises(sl.LogsError, match="contradict"):
        sl.evaluate(logs, {"new": policy})
    assert ope.lower_bound(logs, policy, 0.05, {}) == 0.0


def test_the_open_bandit_page(data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "obd", "--output", str(tmp_path / "obd")]) == 0
    message = capsys.readouterr().out
    assert "In no campaign is it certified" in message
    for name in obd.CAMPAIGNS:
        result = json.loads((tmp_path / "obd" / "pieces" / f"campaign-{name}.json").read_text())
        assert result["lower"] <= result["thompson"] <= result["upper"]
    assert main(["reproduce", "obd", "--output", str(tmp_path / "obd")]) == 0
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "obd", "--output", str(tmp_path / "file")]) == 2


def test_learning_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    absent = "sys.modules.update(dict.fromkeys(['torch', 'threadpoolctl', 'safetensors']))"
    asked = ["reproduce", "opl", "--quick", "--output", str(tmp_path / "opl")]
    code = f"import sys; {absent}; from surelift.cli.app import main; sys.exit(main({asked!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install '.[learn]'" in done.stderr
