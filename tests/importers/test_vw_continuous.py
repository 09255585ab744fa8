"""Vowpal Wabbit's continuous actions (CATS): the answers of the plain table, and densities that VW itself wrote."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift import importers
from tests.cli.test_cli import run
from tests.importers.vw import TIME, predict

CATS = "--cats_pdf 4 --bandwidth 2 --min_value 0 --max_value 32 --dsjson --epsilon 0.2"


def doses(rounds: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    near = rng.random(rounds) < 0.5
    # Half of the time anywhere in [0, 32], half in [8, 16].
    action = np.where(near, rng.uniform(8, 16, rounds), rng.uniform(0, 32, rounds))
    density = 0.5 / 32 + 0.5 / 8 * ((action >= 8) & (action < 16))
    well = (rng.random(rounds) < np.exp(-np.abs(action - 20) / 8)).astype(float)
    return {"action": action, "density": density, "well": well, "ward": rng.integers(2, size=rounds)}


def event(data: dict[str, Any], i: int, **besides: Any) -> str:
    return json.dumps(
        {
            "_label_ca": {"cost": -data["well"][i], "pdf_value": data["density"][i], "action": data["action"][i]},
            "Timestamp": TIME, "Version": "1", "EventId": f"e{i}", "c": {"Patient": {"ward": int(data["ward"][i])}},
            "VWState": {"m": "N/A"}, **besides,
        }
    )  # fmt: skip


def write(path: Path, data: dict[str, Any], *more: str) -> Path:
    path.write_text("\n".join([*(event(data, i) for i in range(len(data["action"]))), *more]) + "\n")
    return path


def plain(data: dict[str, Any]) -> sl.Logs:
    table = {"r": data["well"], "p": data["density"], "a": data["action"], "Patient.ward": data["ward"]}
    return sl.Logs(table, reward="r", propensity="p", action="a", density=True)


def test_a_log_gives_the_answers_of_the_plain_table(tmp_path: Path) -> None:
    data = doses(1_500)
    imported = importers.cats(write(tmp_path / "log.json", data), action_range=(0, 32))
    even = sl.densities.uniform(0, 32)
    ours, theirs = sl.compare(imported.logs, imported.policies), sl.compare(plain(data), {"uniform": even})
    assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)
    assert ours.provenance.fingerprint == theirs.provenance.fingerprint
    wards = [sl.compare(logs, {"new": even}, by="Patient.ward") for logs in (imported.logs, plain(data))]
    assert [each.lower for each in wards[0].values()] == [each.lower for each in wards[1].values()]
    # A uniform dose is well with the mean of exp(-|a - 20| / 8) over [0, 32].
    truth = float(np.exp(-np.abs(np.linspace(0, 32, 100_001) - 20) / 8).mean())
    value: Any = sl.evaluate(imported.logs, imported.policies)["uniform"]
    assert value.lower <= truth <= value.upper


def test_densities_that_vw_wrote(tmp_path: Path) -> None:
    data = doses(800)
    path = write(tmp_path / "log.json", data)
    written = predict(CATS, path, tmp_path / "new.txt")
    lines = [line for line in written.read_text().splitlines() if line]
    density = []
    for line, action in zip(lines, data["action"], strict=True):
        parts = [(*map(float, ends.split("-")), float(value)) for ends, value in (p.split(":") for p in line.split(","))]
        mass = sum((high - low) * value for low, high, value in parts)
        density.append(sum(value for low, high, value in parts if low <= action < high) / mass)
    assert len(set(density)) > 1
    logs = importers.cats(path).logs
    ours = sl.compare(logs, {"new": importers.predictions(written)})
    theirs = sl.compare(plain(data), {"new": density})
    assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), abs=1e-12)
    done = run(
        "compare",
        "log.json",
        "--format",
        "cats",
        "--predictions",
        "new.txt",
        "--certificate",
        "c.json",
        folder=tmp_path,
    )
    assert done.returncode in (0, 3), done.stderr
    again = ("--format", "cats", "--predictions", "new.txt")
    assert run("verify", "c.json", "log.json", *again, folder=tmp_path).returncode == 0


def test_negative_ends_and_both_ends_count(tmp_path: Path) -> None:
    data = {key: values[:4] for key, values in doses(4).items()} | {"action": np.array([-2.0, 0.0, 1e-05, 2.0])}
    logs = importers.cats(write(tmp_path / "log.json", data)).logs
    (tmp_path / "new.txt").write_text("-2--1:0.5,-1-1e-05:0.1,1e-05-2:0.2\n\n" * 4)
    mass = 0.5 + 0.1 * 1.00001 + 0.2 * 1.99999
    expected = np.array([0.5, 0.1, 0.2, 0.2]) / mass / data["density"]
    found = sl.estimate(logs, {"new": importers.predictions(tmp_path / "new.txt")})["new"].estimate
    assert found == pytest.approx(float((expected * data["well"]).mean()))


def test_what_vw_draws_itself_is_no_density(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", doses(30))
    logs = importers.cats(path).logs
    (tmp_path / "even.txt").write_text("0.5,0.5\n" * 30)
    with pytest.raises(sl.UsageError, match="write them with --cats_pdf"):
        sl.compare(logs, {"new": importers.predictions(tmp_path / "even.txt")})
    written = predict(CATS.replace("--cats_pdf", "--cats"), path, tmp_path / "drawn.txt")
    with pytest.raises(sl.LogsError, match="no probabilities"):
        importers.predictions(written)


BROKEN = {
    "{": "lines are not JSON",
    "[]": "lines are not JSON objects",
    '{"_label_cost":0}': "events have no _label_ca",
    '{"_label_ca":{"cost":0,"action":1}}': "no number in pdf_value of _label_ca, which has no default",
    '{"_label_ca":{"cost":0,"action":1,"pdf_value":1},"pdrop":2}': "pdrop outside",
}


@pytest.mark.parametrize("line", BROKEN)
def test_broken_events_are_counted(line: str, tmp_path: Path) -> None:
    imported = importers.cats(write(tmp_path / "log.json", doses(3), line))
    with pytest.raises(sl.LogsError, match=f"{BROKEN[line].replace('[', '.')}.*line 4 of"):
        sl.evaluate(imported.logs, "production")


def test_a_density_of_zero_and_ranges(tmp_path: Path) -> None:
    data = doses(3) | {"density": np.array([0.1, 0.0, 0.1])}
    path = write(tmp_path / "log.json", data)
    with pytest.raises(sl.LogsError, match="row 1"):
        sl.evaluate(importers.cats(path).logs, "production")
    for wrong in (3, (1,), (2, 1)):
        with pytest.raises(sl.UsageError):
            importers.cats(path, action_range=wrong)  # type: ignore[arg-type]


def test_sampled_events(tmp_path: Path) -> None:
    data = doses(200)
    path = tmp_path / "log.json"
    path.write_text("".join(event(data, i, pdrop=0.5) + "\n" for i in range(200)))
    imported = importers.cats(path, action_range=(0, 32), rounds_before_sampling=400)
    assert sl.evaluate(imported.logs, imported.policies)["uniform"].rounds == 400
