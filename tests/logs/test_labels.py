"""Rewards of a few rounds and scores of all: read alike from every container, or refused with a sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import surelift as sl
from surelift.batch import Batch
from surelift.logs.rewards import LabelledLine
from surelift.traits.declaration import Declaration
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


def batch_of(source: Any, **declared: Any) -> Batch:
    logs = sl.Logs(source, **{**ROLES, **declared})
    (table,) = logs.batches()
    return Batch(logs, table).read()


def line_of(batch: Batch) -> LabelledLine:
    assert isinstance(batch.line, LabelledLine)
    return batch.line


def test_every_container_says_the_same(tmp_path: Path) -> None:
    pa.csv.write_csv(pa.table(columns()), tmp_path / "log.csv")
    arrays = {name: np.array(column, dtype=float) for name, column in columns().items()}
    sources = [columns(), pa.table(columns()), pd.DataFrame(columns()), arrays, str(tmp_path / "log.csv")]
    found = [batch_of(source) for source in sources]
    for batch in found:
        assert batch.fit
        assert line_of(batch).drawn.tolist() == [True, False, True, False]
        assert np.isnan(batch.reward).tolist() == [False, True, False, True]
        assert line_of(batch).earned.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert len({str(batch.rows.hashes.fingerprint()) for batch in found}) == 1
    everywhere = {**columns(), "k": [0.5] * 4}
    assert line_of(batch_of(everywhere, label_probability=0.5)).probability.tolist() == [0.5] * 4


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
    with pytest.raises(sl.LogsError, match=r"reward 'r': 2 of 4 values are missing \(null\) where label_probability is 1"):
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
    declared = Declaration.of(**{**ROLES, "label_probability": 0.05})
    assert Declaration.from_description(declared.describe()) == declared
    rail = declared.judged_by("latency", (0.0, 9.0), is_cost=True)
    assert rail.flat.keys() == {"cost", "reward_range", "propensity"}
    assert (rail.reward.cost, rail.reward.reward_range) == ("latency", (0.0, 9.0))


def test_second_moments_of_labels_by_hand() -> None:
    """What a label stands for is clipped before it is squared, on both sides; the rounds without one count as 0."""
    rng, n, log = np.random.default_rng(1), 3_000, np.log(1 / 0.1)
    q, reward, kappa = rng.uniform(0.2, 0.5, n), rng.random(n), rng.uniform(0.3, 1.0, n)
    p = q * rng.uniform(0.0, 2.0, n)
    drawn = rng.random(n) < kappa
    table = {"r": np.where(drawn, reward, np.nan), "p": q, "s": reward / 2, "k": kappa, "new": p}
    for side, earned in (("lower", reward), ("upper", 1 - reward)):
        logs: Any = sl.Logs(table, **ROLES)
        question = sl.Question.of("evaluate", logs, "new", sides=side, delta=0.1, method="second-moment", smoothing=0.1)
        found: Any = question.ask(logs)["new"]
        z = np.minimum(p / q * np.where(drawn, earned / kappa, 0.0), 10.0)
        bound = np.expm1(0.1 * z.mean() - 0.005 * (z * z).mean() - log / n) / 0.1
        assert (found.lower if side == "lower" else 1 - found.upper) == pytest.approx(bound, abs=1e-9)


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
