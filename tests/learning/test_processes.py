"""Training in several processes under torchrun gives the result of a single process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from surelift.errors import UsageError
from surelift.learning import PolicyLearner
from surelift.learning.learner import PolicyLearner as Learner
from surelift.learning.training.processes import ProcessGroup, _sendable
from tests.learning.test_learner import logs_of, means, problem

SCRIPT = """
import json, os, sys
import torch.distributed as dist
sys.path.insert(0, sys.argv[1])
from surelift.errors import FitManyError, UsageError
from surelift.learning import fit_many, PolicyLearner
from surelift.learning.training import checkpoint
from tests.learning.test_processes import ASKED, means
from tests.learning.test_learner import logs_of, problem

rank, folder = int(os.environ["RANK"]), sys.argv[2]
written = []
save = checkpoint.Checkpoint.save
checkpoint.Checkpoint.save = lambda *a, **k: (written.append(1), save(*a, **k))
logs = logs_of(problem(1003))
results = {}
for name, options in ASKED.items():
    reports = []
    learner = PolicyLearner(**options, checkpoint=f"{folder}/{name}.safetensors")
    learner.fit(logs, progress=lambda *report: reports.append(report))
    results[name] = {"lower": learner.answer_.lower, "reports": len(reports), "written": len(written)}
    written.clear()
    if options["policy"] != "linear":
        results[name]["means"] = means(learner).tolist()
several = fit_many([PolicyLearner(**ASKED["improvement"], seed=seed) for seed in (1, 2)], logs)
results["several"] = [learner.answer_.lower for learner in several]
many = [PolicyLearner(**ASKED["improvement"], seed=seed) for seed in (1, 2, 1)]
given = [logs, logs_of({**problem(1003), "propensity": problem(1003)["propensity"] * 3.0}), logs]
for _ in range(2):
    try:
        fit_many(many, given, checkpoint=f"{folder}/many")
    except FitManyError as error:
        results.setdefault("many", []).append([list(error.failed), many[0].answer_.lower, many[2].answer_.lower])
try:
    PolicyLearner(epochs=1).fit(logs_of(problem(500, seed=rank)))
except UsageError as error:
    results["refused"] = str(error)
with open(f"{folder}/{rank}.json", "w") as file:
    json.dump(results, file)
dist.barrier()  # the other process may still be working
os._exit(0)  # without waiting for torch's threads, which abort the exit now and then
"""
ASKED: dict[str, dict[str, Any]] = {
    "improvement": {"policy": "gaussian", "epochs": 2, "learning_rate": 0.05},
    "snips": {"epochs": 2, "policy": "linear", "objective": "snips"},
    "diagonal": {"policy": "gaussian", "epochs": 2, "objective": "ls-lin", "covariance": "diagonal", "prior": "zero"},
}
ROOT = Path(__file__).parent.parent.parent


def launched(*command: str, processes: int = 2) -> subprocess.CompletedProcess[str]:
    """Run a command under torchrun on this machine."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    return subprocess.run([*start, *command], capture_output=True, text=True, timeout=240, cwd=ROOT, check=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("processes")
    (folder / "script.py").write_text(SCRIPT)
    done = launched(str(folder / "script.py"), str(ROOT), str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("name", ASKED)
def test_two_processes_learn_the_policy_of_one(results: list[dict[str, Any]], name: str) -> None:
    """1,003 rounds, so that the last batch of an epoch cannot be split evenly."""
    alone: Any = PolicyLearner(**ASKED[name]).fit(logs_of(problem(1003)))
    first, second = (result[name] for result in results)
    assert first["lower"] == second["lower"] == pytest.approx(alone.answer_.lower, abs=1e-6)
    if "means" in first:
        np.testing.assert_allclose(first["means"], means(alone), atol=1e-4)
        assert first["means"] == second["means"]


def test_one_process_writes_checkpoints_and_reports(results: list[dict[str, Any]]) -> None:
    for name in ASKED:
        assert [result[name]["written"] for result in results] == [2, 0]
        assert [result[name]["reports"] for result in results] == [2, 0]


def test_many_problems_in_two_processes(results: list[dict[str, Any]]) -> None:
    logs = logs_of(problem(1003))
    for lower, seed in zip(results[0]["several"], (1, 2), strict=True):
        alone: Any = Learner(**ASKED["improvement"], seed=seed).fit(logs)
        assert lower == pytest.approx(alone.answer_.lower, abs=1e-6)


def test_a_problem_that_fails_and_a_run_that_resumes_in_two_processes(results: list[dict[str, Any]]) -> None:
    for result in results:
        first, again = result["many"]
        assert first == again
        assert first == [[1], *[pytest.approx(result["several"][0], abs=1e-6)] * 2]
    assert results[0]["many"] == results[1]["many"]


def test_processes_with_different_rounds_are_refused(results: list[dict[str, Any]]) -> None:
    for result in results:
        assert "do not have the same rounds and options" in result["refused"]


@pytest.mark.slow
def test_the_command_writes_and_prints_once(tmp_path: Path) -> None:
    data = problem(2_000)
    columns = {"reward": data["reward"], "propensity": data["propensity"], "action": data["action"]}
    columns |= {f"x{k}": data["contexts"][:, k] for k in range(3)} | {f"p{k}": data["logging"][:, k] for k in range(3)}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    done = launched(
        "-m", "surelift", "learn", str(tmp_path / "log.parquet"), "--reward", "reward", "--propensity", "propensity",
        "--action", "action", "--contexts", "x0,x1,x2", "--logging", "p0,p1,p2", "--epochs", "3",
        "--learning-rate", "0.1", "-o", str(tmp_path / "policy.safetensors"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["rounds"] == 600
    assert (tmp_path / "policy.safetensors").exists()


def test_shares_cover_every_batch() -> None:
    for size in range(20):
        taken = [place for rank in range(3) for place in ProcessGroup(rank, 3).share(size)]
        assert taken == list(range(size))


def test_an_error_that_cannot_be_sent_is_told_in_words() -> None:
    class StrangeError(Exception):
        def __init__(self, reason: str) -> None:
            super().__init__(reason, lambda: None)

    assert "StrangeError: ('odd'" in str(_sendable(StrangeError("odd")))
    known = UsageError("known")
    assert _sendable(known) is known
    assert _sendable(None) is None
