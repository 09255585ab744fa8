"""The paper's protocols: what is computed, what is printed beside it, and that a killed run goes on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.cli.app import main
from surelift.reproduce import data, obd, ope, ops, published
from surelift.reproduce.folder import Folder, ReproducedTable


def squared(number: int) -> int:
    return number * number


def test_pieces_are_computed_once_and_a_killed_run_goes_on(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", {"what": "squares"})
    told: list[tuple[int, int, str]] = []
    assert folder.pieces(squared, [(2,), (3,)], lambda *one: told.append(one)) == [4, 9]
    assert [one[:2] for one in told] == [(1, 2), (2, 2)]
    # Found again, and only what is missing is computed.
    (tmp_path / "run" / "pieces" / "squared-2.json").write_text("5")
    assert Folder(tmp_path / "run", {"what": "squares"}).pieces(squared, [(2,), (3,), (4,)], None) == [5, 9, 16]
    (tmp_path / "run" / "pieces" / "squared-3.json").write_text("[9")
    assert Folder(tmp_path / "run", {"what": "squares"}).pieces(squared, [(3,)], None) == [9]
    with pytest.raises(sl.UsageError, match="holds another run"):
        Folder(tmp_path / "run", {"what": "cubes"})


def test_a_table_is_written_as_it_is_shown(tmp_path: Path) -> None:
    table = ReproducedTable("t", "A title", ["name", "value"], [["a, b", 0.12345], ["c", None]], ["A note."])
    assert table.markdown() == "### A title\n\n| name | value |\n|---|---|\n| a, b | 0.123 |\n| c |  |\n\nA note.\n"
    assert table.csv() == 'name,value\n"a, b",0.12345\nc,\n'
    page = Folder(tmp_path, {}).write("Page", ["Intro."], [table], [("x.png", "A figure.")])
    assert "![A figure.](x.png)" in page.read_text()
    assert (tmp_path / "t.csv").read_text() == table.csv()


def test_how_far_a_printed_number_is() -> None:
    mean, error, printed, away = ope.compared(np.array([0.1, 0.2, 0.3]), 0.4)
    assert (mean, printed) == (pytest.approx(0.2), 0.4)
    assert error == pytest.approx(0.1 / 3**0.5)
    assert away == pytest.approx(-2.0)
    assert ope.compared(np.ones(3), 1.0)[3] == 0.0
    assert ope.compared(np.ones(3), 0.9)[3] is None


def test_the_published_numbers_are_whole() -> None:
    assert set(published.TABLE_4) == set(published.TABLE_6) == set(data.TABULAR)
    assert all(len(row) == len(published.METHODS) for row in (*published.TABLE_4.values(), *published.TABLE_5.values()))
    assert all(sum(counts) == 10 for row in published.TABLE_6.values() for counts in row)
    # Table 5 averages the same radii as Table 4, over targets instead of sets.
    by_set, by_target = (np.mean(list(one.values()), axis=0) for one in (published.TABLE_4, published.TABLE_5))
    assert by_set == pytest.approx(by_target, abs=0.006)


@pytest.mark.parametrize("self_normalised", [False, True])
def test_the_softmax_policies_reach_a_maximum(self_normalised: bool) -> None:
    rng = np.random.default_rng(0)
    features, action = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    reward, propensity = rng.random(60), np.full(60, 1 / 3)

    def value(weights: Any) -> float:
        weight = ops.softmax(features @ weights.T)[np.arange(60), action] / propensity
        return float((weight * reward).sum() / (weight.sum() if self_normalised else 60))

    found = ops.trained(features, action, reward, propensity, 3, self_normalised=self_normalised)
    assert value(found) > value(np.zeros((3, 2))) + 0.02
    for _ in range(20):
        assert value(found) > value(found + 0.05 * rng.normal(size=(3, 2))) - 1e-3


def test_what_was_chosen_and_how_it_turned_out() -> None:
    values = {"production": 0.5, "ideal": 0.8, "IPS": 0.4, "SNIPS": 0.6}
    assert [ops.outcome(values, one) for one in ("production", "ideal", "IPS", "SNIPS")] == [
        "better", "best", "worse", "better",
    ]  # fmt: skip
    assert ops.best_of({"production": 0.0, "ideal": 0.0}) == "production"
    assert ops.best_of({"production": 0.1, "ideal": 0.2}) == "ideal"


def test_sets_that_are_not_to_be_had_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SURELIFT_DATA", str(tmp_path))
    with pytest.raises(sl.UsageError, match=r"obd-random-all is not in the folder that SURELIFT_DATA names"):
        obd.campaign("all")
    monkeypatch.setattr(data, "_from_openml", lambda name: (_ for _ in ()).throw(data.MissingDataError(f"no {name}")))
    for what in ("ope", "ops"):
        assert main(["reproduce", what, "--quick", "--output", str(tmp_path / what)]) == 2
    assert "no data set is to be had. no ecoli" in capsys.readouterr().err
    assert main(["reproduce", "opl", "--quick", "--output", str(tmp_path / "opl")]) == 2
    assert "mnist is not in the folder that SURELIFT_DATA names" in capsys.readouterr().err
    with pytest.raises(sl.UsageError, match="no data set 'iris'"):
        data.labelled("iris")
    assert data.imputed(np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0]])).tolist() == [[1, 6], [3, 4], [2, 8]]


def test_a_radius_by_hand(data_folder: Path) -> None:
    """Of logarithmic smoothing, from its formula."""
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


def test_the_open_bandit_page(data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "obd", "--output", str(tmp_path / "obd")]) == 0
    said = capsys.readouterr().err
    assert "In no campaign is it certified" in said
    for name in obd.CAMPAIGNS:
        found = json.loads((tmp_path / "obd" / "pieces" / f"campaign-{name}.json").read_text())
        assert found["lower"] <= found["thompson"] <= found["upper"]
    assert main(["reproduce", "obd", "--output", str(tmp_path / "obd")]) == 0
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "obd", "--output", str(tmp_path / "file")]) == 2
