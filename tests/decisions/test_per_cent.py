"""Margins in per cent, the tipping factor, and where there are none."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.cli.app import main
from surelift.questions.relative import NOT_KEPT
from tests.laws import LAWS, draw_index

LAW = LAWS["even"]
LIFT = LAW.value(LAW.candidate) / LAW.value(LAW.logging) - 1.0


def table(rounds: int = 3_000, seed: int = 1) -> dict[str, Any]:
    outcomes = LAW.outcomes()
    index = draw_index(np.random.default_rng(seed), [one[0] for one in outcomes], (rounds,))
    weight, rival, propensity, reward = (np.array([one[k] for one in outcomes])[index] for k in (1, 2, 3, 4))
    return {"r": reward, "p": propensity, "n": weight * propensity, "o": rival * propensity}


@pytest.fixture
def logs() -> sl.Logs:
    return sl.Logs(table(), reward="r", propensity="p")


def test_the_answer_says_so_in_numbers_and_words(logs: sl.Logs) -> None:
    answer = sl.compare(logs, "n")
    assert answer.relative_lower is not None
    assert answer.relative_upper is not None
    assert 0.0 < answer.relative_lower < LIFT < answer.relative_upper
    assert answer.tipping_factor == pytest.approx(1.0 + answer.relative_lower, rel=1e-9)
    assert f"  relative      {answer.lift}   of the value of production" in str(answer)
    assert "would hold even if weights were too large by up to a factor of" in str(answer)
    assert answer.survives in " ".join(answer.page().lead)
    assert {"relative_lower", "relative_upper", "tipping_factor"} <= answer.to_dict().keys()
    assert answer.to_frame()["relative_lower"][0] == answer.relative_lower


def test_a_margin_in_per_cent_is_judged_by_the_bound_in_per_cent(logs: sl.Logs) -> None:
    lower = sl.compare(logs, "n").relative_lower
    assert lower is not None
    below, above = f"{100 * lower - 0.01:.4f}%", f"{100 * lower + 0.01:.4f}%"
    certified, missed = sl.compare(logs, "n", margin=below), sl.compare(logs, "n", margin=above)
    assert certified.certified
    assert certified.e_value >= 20.0
    assert not missed.certified
    assert missed.e_value < 20.0
    assert certified.sentence() == f"Certified: 'n' is better than production by more than {below.rstrip('0%')}%."
    assert "do not show that 'n' is better than production by more than" in missed.sentence()
    assert sl.compare(logs, "n", margin="500%").ruled_out
    assert "0 is a true zero of the reward" in " ".join(certified.assumptions)
    assert certified.tipping_factor is None
    assert sl.compare(logs, "n", margin="-1%").claim == "'n' is not worse than production by more than 1%"
    assert sl.gate(logs, "n", margin=below).certified
    assert not sl.gate(logs, "n", margin=above).certified


def test_it_is_stored_and_verified(logs: sl.Logs, tmp_path: Path) -> None:
    for answer in (sl.compare(logs, "n", margin="2%"), sl.gate(logs, "n", margin="2%"), sl.compare(logs, "n")):
        certificate = sl.Certificate.of(answer)
        assert sl.verify(certificate, table()).differences == ()
        assert not sl.verify(certificate, table(seed=2)).same
    stored = sl.Certificate.of(sl.compare(logs, "n", margin="2%")).content
    assert stored["question"]["relative_margin"] == 0.02
    assert sl.Question.from_dict(stored["question"]).relative_margin == 0.02  # type: ignore[attr-defined]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, certificate = str(tmp_path / "log.parquet"), str(tmp_path / "c.json")
    pq.write_table(pa.table(table()), path)
    columns = ["--reward", "r", "--propensity", "p", "--policy", "n"]
    assert main(["gate", path, *columns, "--margin", "2%", "--certificate", certificate]) == 0
    assert main(["verify", certificate, path]) == 0
    capsys.readouterr()
    assert main(["explain", certificate]) == 0
    assert "margin 2%" in capsys.readouterr().out
    assert main(["compare", path, *columns, "--margin", "400%", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["relative_margin"] == 4.0
    for margin in ("two%", "2 per cent", "%", "nan%", "-100%"):
        assert main(["compare", path, *columns, "--margin", margin]) == 2
    assert main(["select", path, *columns, "--policy", "o", "--margin", "2%", "--json"]) == 0
    assert {one["relative_margin"] for one in json.loads(capsys.readouterr().out)["improvements"].values()} == {0.02}
    assert main(["power", path, *columns, "--margin", "2%"]) == 2
    assert "it forecasts the improvement in units" in capsys.readouterr().err
    assert main(["explain", "tipping", "factor"]) == 0


@pytest.mark.parametrize(
    "declared, says",
    [
        ({"reward": "r", "reward_range": (-1, 1)}, "may be negative"),
        ({"reward": "r1", "reward_range": (1, 2)}, r"declare a range from 0"),
        ({"cost": "r", "cluster": "u", "cluster_max": 2}, "largest cost"),
    ],
)
def test_without_a_natural_zero_there_are_no_per_cent(declared: dict[str, Any], says: str) -> None:
    content = table()
    content |= {"r1": content["r"] + 1.0, "u": np.arange(3_000)}
    logs = sl.Logs(content, propensity="p", **declared)
    policy = "o" if "cost" in declared else "n"
    answer = sl.compare(logs, policy)
    assert answer.relative_lower is None
    assert answer.relative_upper is None
    assert answer.lift == ""
    with pytest.raises(sl.UsageError, match=says):
        sl.compare(logs, policy, margin="1%")
    # How wrong the weights may be is no matter of the zero.
    assert answer.tipping_factor is not None
    assert answer.tipping_factor > 1.0


def test_other_methods_have_none(logs: sl.Logs) -> None:
    answer = sl.compare(logs, "n", method="blocks")
    assert answer.relative_lower is None
    assert answer.tipping_factor is None
    assert "method='mixture'" in answer.relative_note
    with pytest.raises(sl.UsageError, match="method='mixture'"):
        sl.compare(logs, "n", method="blocks", margin="2%")
    with pytest.raises(sl.UsageError, match=r"in per cent \(margin='2%'\) and power"):
        sl.power(logs, "n", margin="2%")  # type: ignore[arg-type]
    half = sl.compare(logs, "n", delta=0.025).relative_lower
    assert sl.select(logs, {"n": "n", "o": "o"})["n"].relative_lower == half
    together = sl.select(logs, {"n": "n", "o": "o"}, many="simultaneous")
    assert together["n"].relative_lower == half


def test_control_narrows_the_improvement_and_not_the_per_cent() -> None:
    """The tipping factor is that of the bound without control, which knows nothing of production's distribution."""
    content = table()
    taken = np.where(np.isclose(content["n"], LAW.candidate[0]), 0, 1)
    source = {"r": content["r"], "p": content["p"], "a": taken, "q": np.full((3_000, 2), 0.5)}
    logs = sl.Logs(source, reward="r", propensity="p", action="a", logging="q")
    policy = {"n": np.tile(LAW.candidate, (3_000, 1))}
    controlled, plain = sl.compare(logs, policy, control="weights"), sl.compare(logs, policy, control="none")
    assert controlled.lower != plain.lower
    assert controlled.relative_lower == pytest.approx(plain.relative_lower, rel=1e-9)
    assert controlled.tipping_factor == pytest.approx(plain.tipping_factor, rel=1e-9)


def test_a_blend_of_nothing_is_certainly_no_better(logs: sl.Logs) -> None:
    same = sl.compare(logs, {"same": sl.blend("n", 0.0)})
    assert (same.relative_lower, same.relative_upper) == (0.0, 0.0)
    assert sl.compare(logs, {"same": sl.blend("n", 0.0)}, margin="-1%").certified


def test_a_monitor_of_an_earlier_version_has_none_and_goes_on() -> None:
    path = Path(__file__).parents[1] / "stored" / "format-3" / "monitor-compare.json"
    watch = sl.Monitor.load(path)
    answer = watch.answer()
    assert isinstance(answer, sl.results.Improvement)
    assert answer.relative_lower is None
    assert answer.relative_note == NOT_KEPT
    fresh = sl.Monitor({"n": "n"}, reward="r", propensity="p", margin="2%")
    fresh.update(table(1_000), sequence=1)
    fresh.update(table(2_000, seed=2), sequence=2)
    both = {name: np.concatenate([table(1_000)[name], table(2_000, seed=2)[name]]) for name in table(1)}
    whole = sl.compare(sl.Logs(both, reward="r", propensity="p"), "n", margin="2%")
    answer = fresh.answer()
    assert isinstance(answer, sl.results.Improvement)
    assert answer.relative_lower == pytest.approx(whole.relative_lower, rel=1e-9)


def test_a_blend_that_may_earn_nothing_has_evidence_only_from_rewards() -> None:
    """What is blended earned nothing here, and may never: then the blend is exactly 10% worse, and no reward refutes it."""
    rows: dict[str, Any] = {"reward": [0.0, 1.0], "propensity": [0.1, 0.9]}
    never = sl.compare(sl.Logs(**rows), sl.blend(np.array([1.0, 0.0]), 0.1), margin="-10%")
    assert never.e_value <= 1.0
    assert not never.certified
    once = sl.compare(sl.Logs(**rows), sl.blend(np.array([1.0, 0.5]), 0.1), margin="-10%")
    assert once.e_value > 1e6
    assert once.certified
