"""Do the recipes run with the clients of today? GrowthBook's SDK, RLlib's writer and MLflow, each in its own environment.

They are too large for the tests, which read files that these clients wrote. Name some, or run all three:
python benchmarks/clients.py [growthbook] [rllib] [mlflow]
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

import surelift as sl

EXAMPLES = Path(__file__).parent.parent / "examples"
OURS = [
    "numpy",
    "scipy",
    "pyarrow",
    "narwhals",
    "cyclopts",
    "rich",
    "altair",
    "vl-convert-python",
    "jinja2",
    "matplotlib",
]
INSTALLS = {"growthbook": ["growthbook"], "rllib": ["ray[rllib]"], "mlflow": ["mlflow-skinny", *OURS]}
GROWTHBOOK = """
import csv, random
from growthbook import Experiment, GrowthBook
random.seed(0)
with open("exposures.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["user_id", "timestamp", "experiment_id", "variation_id", "bought"])
    for user in range(5000):
        def viewed(experiment, result, **rest):
            at = f"2026-03-{1 + user % 28:02}T10:00:00"
            rows.writerow([result.hashValue, at, experiment.key, result.key, int(random.random() < 0.3)])
        book = GrowthBook(attributes={"id": f"user-{user}"}, on_experiment_viewed=viewed)
        book.run(Experiment(key="checkout", variations=["blue", "green"], weights=[0.7, 0.3]))
        book.destroy()
"""
RLLIB = """
import numpy as np
from ray.rllib.offline.io_context import IOContext
from ray.rllib.offline.json_writer import JsonWriter
from ray.rllib.policy.sample_batch import SampleBatch
rng, writer = np.random.default_rng(0), JsonWriter("output", IOContext(), compress_columns=[])
for episode in range(40):
    steps = int(rng.integers(1, 4))
    writer.write(SampleBatch({
        "eps_id": np.full(steps, episode), "t": np.arange(steps), "obs": rng.normal(size=(steps, 2)),
        "actions": rng.integers(0, 2, steps), "rewards": rng.integers(0, 2, steps).astype(float),
        "action_prob": np.full(steps, 0.5), "terminateds": np.arange(steps) == steps - 1}))
"""


def growthbook(python: Path, folder: Path) -> str:
    subprocess.run([str(python), "-c", GROWTHBOOK], cwd=folder, check=True, capture_output=True)
    brought = sl.importers.growthbook(folder / "exposures.csv", weights=[0.7, 0.3], reward="bought")
    health = sl.check(brought.logs)
    return f"{health.rounds:,} users drawn by its hash; the weights are {'right' if health.ok else 'refused'}"


def rllib(python: Path, folder: Path) -> str:
    subprocess.run([str(python), "-c", RLLIB], cwd=folder, check=True, capture_output=True)
    brought = sl.importers.rllib(folder / "output", cluster_max=3, action_count=2)
    return f"{sl.compare(brought.logs, brought.policies).rounds} episodes read"


def mlflow(python: Path, folder: Path) -> str:
    table = sl.datasets.shop(3_000).table.rename_columns({"click": "reward", "p_better": "p_new"})
    pq.write_table(table, folder / "scored.parquet")
    environment = {
        **os.environ, "PYTHONPATH": str(Path(sl.__file__).parent.parent), "MLFLOW_TRACKING_URI": f"file:{folder}/runs",
        "MLFLOW_ALLOW_FILE_STORE": "true",
    }  # fmt: skip
    command = [str(python), str(EXAMPLES / "track.py"), "scored.parquet"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    (path,) = (folder / "runs").rglob("certificate.json")
    logs = sl.Logs(folder / "scored.parquet", reward="reward", propensity="propensity")
    same = sl.verify(sl.Certificate.load(path), logs).same
    return f"the certificate among its artifacts {'verifies' if same else 'DIFFERS'}"


CLIENTS: dict[str, Callable[[Path, Path], str]] = {"growthbook": growthbook, "rllib": rllib, "mlflow": mlflow}


def main() -> None:
    for name in sys.argv[1:] or CLIENTS:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
            python = Path(folder) / "venv" / "bin" / "python"
            install = [str(python), "-m", "pip", "install", "--quiet", *INSTALLS[name]]
            if subprocess.run(install, capture_output=True, check=False).returncode:
                print(f"{name}: could not be installed here")
                continue
            print(f"{name}: {CLIENTS[name](python, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
