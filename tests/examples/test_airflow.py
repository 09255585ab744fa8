"""The task of Airflow, called without it: what it returns, and which failures a retry would not mend."""

from pathlib import Path
from typing import Any

import pytest

from tests.examples.shop import BIN, load, scored

task = load("airflow_dag")
SURELIFT = str(BIN / "surelift")


def arrive(folder: Path, day: int, rounds: Any) -> dict[str, str]:
    (folder / "logs").mkdir(exist_ok=True)
    rounds.to_parquet(folder / "logs" / f"day-{day}.parquet")
    return {"surelift": SURELIFT, "logs": str(folder / "logs"), "state": str(folder / "state.json")}


def test_it_goes_on_once_the_candidate_is_certified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = scored(rounds=3_000)
    places = arrive(tmp_path, 1, log[:200])
    assert task.is_certified(**places) is False
    arrive(tmp_path, 2, log[200:])
    assert task.is_certified(**places) is True
    assert "1 new file, 1 counted before\n3,000 rounds so far" in capsys.readouterr().out


def test_a_log_that_is_not_fit_fails_without_a_retry(tmp_path: Path) -> None:
    places = arrive(tmp_path, 1, scored(rounds=300).assign(propensity=0.0))
    with pytest.raises(task.AirflowFailException, match=r"300 of 300 values lie outside \(0, 1\]"):
        task.is_certified(**places)


def test_other_failures(tmp_path: Path) -> None:
    with pytest.raises(task.AirflowFailException, match=r"nowhere cannot be run: No such file .* Install surelift there"):
        task.is_certified(surelift=str(tmp_path / "nowhere"))
    killed = tmp_path / "killed"
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    with pytest.raises(RuntimeError, match="surelift ended with -9; a retry may help"):
        task.is_certified(surelift=str(killed))
