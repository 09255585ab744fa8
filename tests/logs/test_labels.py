"""Rewards of a few rounds and scores of all: read alike from every container, or refused with a sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import surelift as sl
from surelift.logs.declaration import Declaration
from surelift.logs.rounds import Rounds
from tests.cli.test_cli import run

ROLES: dict[str, Any] = {"reward": "r", "propensity": "p", "score": "s", "label_probability": "k"}


def columns() -> dict[str, Any]:
    return {
        "r": [1, None, 0, None],
        "p": [0.5] * 4,
        "s": [0.9, 0.8, 0.1, 0.0],
        "k": [1.0, 0.5, 0.25, 0.5],
        "new": [0.5] * 4,
    }


def rounds_of(source: Any, **declared: Any) -> Rounds:
    logs = sl.Logs(source, **{**ROLES, **declared})
    (batch,) = logs.batches()
    return Rounds(logs, batch)


def test_every_container_says_the_same(tmp_path: Path) -> None:
    pa.csv.write_csv(pa.table(columns()), tmp_path / "log.csv")
    arrays = {name: np.array(column, dtype=float) for name, column in columns().items()}
    sources = [columns(), pa.table(columns()), pd.DataFrame(columns()), arrays, str(tmp_path / "log.csv")]
    found = [rounds_of(source) for source in sources]
    for rounds in found:
        assert not rounds.faults.tallies
        assert rounds.labels is not None
        assert rounds.labels.drawn.tolist() == [True, False, True, False]
        assert np.isnan(rounds.reward).tolist() == [False, True, False, True]
        assert rounds.estimated_reward.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert len({str(rounds.hashes.fingerprint()) for rounds in found}) == 1
    everywhere = {**columns(), "k": [0.5] * 4}
    assert rounds_of(everywhere, label_probability=0.5).labels.probability.tolist() == [0.5] * 4  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "column, value, says, remedy",
    [
        ("r", 2.0, "lie outside the declared reward range", "from what a reward can be"),
        ("r", float("inf"), "are infinite", "division by zero"),
        (
            "s",
            1.2,
            "score 's', declared in [0, 1]: 1 of 4 values lie outside the declared reward range",
            "Any function of",
        ),
        ("s", None, "score 's': 1 of 4 values are missing", "do not impute"),
        ("k", 0.0, "label_probability 'k': 1 of 4 values lie outside (0, 1]", "drawn to be labelled"),
        ("k", 1.5, "label_probability 'k': 1 of 4 values lie outside (0, 1]", "drawn to be labelled"),
        ("k", 1e-200, "", ""),
    ],
)
def test_bad_rows_are_counted(column: str, value: Any, says: str, remedy: str) -> None:
    table = columns()
    table[column][2] = value
    with pytest.raises(sl.LogsError) as caught:
        sl.compare(sl.Logs(table, **ROLES), "new")
    assert says in str(caught.value)
    assert remedy in str(caught.value)


def test_a_round_that_is_always_drawn_needs_its_reward() -> None:
    table = {**columns(), "k": [1.0] * 4}
    with pytest.raises(
        sl.LogsError, match=r"reward 'r': 2 of 4 values are missing \(null\) where label_probability is 1"
    ):
        sl.compare(sl.Logs(table, **ROLES), "new")
    with pytest.raises(sl.LogsError, match="do not impute"):
        sl.compare(sl.Logs(table, reward="r", propensity="p"), "new")


@pytest.mark.parametrize(
    "declared, says",
    [
        ({"label_probability": None}, "go together"),
        ({"score": None}, "go together"),
        ({"score": "r"}, "also the column of the reward"),
        ({"label_probability": 0}, r"must lie in \(0, 1\], or name a column, but is 0"),
        ({"label_probability": 5}, r"must lie in \(0, 1\], or name a column, but is 5"),
        ({"score": "judge"}, "no column 'judge' for score"),
        ({"contexts": ["s"]}, "names 's', the score"),
    ],
)
def test_bad_declarations(declared: dict[str, Any], says: str) -> None:
    with pytest.raises(sl.UsageError, match=says):
        sl.Logs(columns(), **{**ROLES, **declared})


def test_control_by_a_score_that_is_not_declared() -> None:
    with pytest.raises(sl.UsageError, match="control='score' needs score="):
        sl.compare(sl.Logs(reward=[1, 0], propensity=[0.5, 0.5]), {"new": [0.5, 0.5]}, control="score")


def test_a_declaration_is_stored_and_guardrails_have_no_labels() -> None:
    declared = Declaration(**{**ROLES, "label_probability": 0.05})
    assert Declaration.from_description(declared.describe()) == declared
    rail = declared.with_reward("latency", (0.0, 9.0), is_cost=True)
    assert (rail.score, rail.label_probability, rail.cost) == (None, None, "latency")


def test_the_command_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    reward, action = (rng.random(3_000) < 0.5).astype(float), rng.random(3_000) < 0.5
    table = {
        "r": np.where(rng.random(3_000) < 0.2, reward, np.nan), "p": np.full(3_000, 0.5), "s": 0.1 + 0.8 * reward,
        "new": np.where(action, 0.9, 0.1),
    }  # fmt: skip
    pa.csv.write_csv(
        pa.table({name: pa.array(column, from_pandas=True) for name, column in table.items()}), tmp_path / "l.csv"
    )
    flags = ["--reward", "r", "--propensity", "p", "--score", "s", "--label-probability", "0.2", "--json"]
    done = run("evaluate", "l.csv", *flags, "--policy", "new", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"score"' in done.stdout
    for word, meaning in (("score", "judge"), ("label_probability", "drawn"), ("label-probability", "drawn")):
        assert meaning in run("explain", word, folder=tmp_path).stdout
