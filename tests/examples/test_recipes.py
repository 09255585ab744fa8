"""The recipes: RLlib's Parquet rows, and a run of MLflow.

The rows were written by PPO of Ray 2.60.0. MLflow's client needs forty packages, some older than ours: here a stand-in takes
its calls, and ``benchmarks/clients.py`` runs the recipe with MLflow itself.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
ROWS = pq.read_table(Path(__file__).parent / "rllib_rows.parquet")
MLFLOW = """
import contextlib, json
start_run = contextlib.nullcontext
def log_metrics(metrics): json.dump({name: float(value) for name, value in metrics.items()}, open("metrics.json", "w"))
def log_text(text, artifact_file): open(artifact_file, "w").write(text)
def log_dict(dictionary, artifact_file): json.dump(dictionary, open(artifact_file, "w"), indent=2)
"""


def example(name: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), *sys.path])
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip


def spread(rows: Any, folder: Path) -> None:
    """One row per file, as Ray writes them."""
    folder.mkdir()
    for k in range(rows.num_rows):
        pq.write_table(rows.slice(k, 1), folder / f"run_{k:06}-0.parquet")


def test_rows_of_rllib_become_sessions(tmp_path: Path) -> None:
    spread(ROWS, tmp_path / "episodes")
    done = example("rllib_log.py", "episodes", "log.parquet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    declared: dict[str, Any] = {"reward": "rewards", "cluster": "eps_id", "cluster_max": 2, "position": "t"}
    logs = sl.Logs(tmp_path / "log.parquet", **declared, log_propensity="action_logp", action="actions", action_count=2)
    rows = ROWS.to_pandas()
    rows = rows.assign(t=rows.groupby("eps_id").cumcount(), q=np.exp(rows.action_logp.astype(float)))
    rows = rows.sort_values("eps_id", key=lambda names: names.map({name: k for k, name in enumerate(names.unique())}))
    plain = sl.Logs(
        rows[["rewards", "eps_id", "t", "q", "actions"]], **declared, propensity="q", action="actions", action_count=2
    )
    ours, theirs = (sl.compare(log, {"uniform": sl.uniform()}) for log in (logs, plain))
    assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), abs=1e-12)


def test_episodes_with_gaps_are_refused(tmp_path: Path) -> None:
    last = max(k for k in range(ROWS.num_rows) if ROWS["terminateds"][k].as_py())
    without_end = pa.concat_tables([ROWS.slice(0, last), ROWS.slice(last + 1)])
    for name, rows, says in [
        ("cut", without_end, "1 episodes break off"),
        ("turned", ROWS.take(list(range(ROWS.num_rows))[::-1]), "does not follow"),
    ]:
        spread(rows, tmp_path / name)
        done = example("rllib_log.py", name, "log.parquet", folder=tmp_path)
        assert done.returncode == 1
        assert says in done.stderr
    assert not (tmp_path / "log.parquet").exists()


def test_a_run_of_mlflow_keeps_a_certificate_that_verifies(tmp_path: Path) -> None:
    table = sl.datasets.shop(3_000).table.rename_columns({"click": "reward", "p_better": "p_new"})
    pq.write_table(table, tmp_path / "scored.parquet")
    (tmp_path / "mlflow.py").write_text(MLFLOW)
    done = example("track.py", "scored.parquet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    logs = sl.Logs(table, reward="reward", propensity="propensity")
    answer = sl.compare(logs, {"new": "p_new"})
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics == {"estimate": answer.estimate, "lower": answer.lower, "upper": answer.upper, "certified": 1.0}
    assert sl.verify(sl.Certificate.load(tmp_path / "certificate.json"), logs).same
    assert "<html" in (tmp_path / "result.html").read_text()
