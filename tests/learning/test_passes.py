"""A fit goes over the logs at most three times, and as often as needed when the rounds do not fit in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.learning.learner import PolicyLearner
from surelift.learning.training import blocks
from surelift.logs.sources.files import Files
from tests.learning.test_learner import problem


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Filled with the columns of every pass over a file."""
    calls: list[Any] = []
    batches = Files.batches

    def counted(self: Files, needs: Any, *ends: int) -> Any:
        calls.append(needs.columns())
        return batches(self, needs, *ends)

    monkeypatch.setattr(Files, "batches", counted)
    return calls


@pytest.fixture
def logs(tmp_path: Path) -> sl.Logs:
    data = problem(3_000)
    columns = {f"x{k}": data["contexts"][:, k] for k in range(3)} | {f"l{k}": data["logging"][:, k] for k in range(3)}
    columns |= {name: data[name] for name in ("action", "reward", "propensity")}
    columns |= {"t": np.where(np.arange(3_000) % 3, "a", "b"), "time": np.arange(3_000)}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet", row_group_size=700)
    return sl.Logs(
        tmp_path / "log.parquet", reward="reward", propensity="propensity", action="action", time="time",
        logging=["l0", "l1", "l2"], contexts=["x0", "x1", "x2", "t"],
    )  # fmt: skip


OPTIONS: dict[str, tuple[int, dict[str, Any]]] = {
    "gaussian, fitted prior": (2, {"policy": "gaussian"}),
    "gaussian, zero prior": (2, {"policy": "gaussian", "prior": "zero"}),
    "gaussian, refitted model": (2, {"policy": "gaussian", "control": sl.models.refitted("linear")}),
    "linear": (3, {"policy": "linear"}),
    "network": (3, {"policy": "network"}),
    "linear, in blocks": (3, {"policy": "linear", "method": "blocks"}),
    "linear, three stages": (3, {"policy": "linear", "progressive": 3}),
    "linear, doubly robust": (
        3,
        {"policy": "linear", "objective": "doubly-robust", "control": sl.models.refitted("linear")},
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_fit_makes_at_most_three_passes(name: str, passes: list[Any], logs: sl.Logs) -> None:
    expected, options = OPTIONS[name]
    PolicyLearner(**options, epochs=2).fit(logs)
    assert len(passes) <= expected <= 3


@pytest.mark.parametrize("name", OPTIONS)
def test_memory_makes_no_difference(name: str, passes: list[Any], logs: sl.Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a log read one by one, again and again, give the policy of one pass over all of them."""
    options = OPTIONS[name][1]
    kept = PolicyLearner(**options, epochs=2).fit(logs)
    once = len(passes)
    monkeypatch.setattr(blocks, "MEMORY", 1)
    again = PolicyLearner(**options, epochs=2).fit(logs)
    assert len(passes) - once > 3
    assert again.answer_.lower == kept.answer_.lower
    assert again.policy_.describe() == kept.policy_.describe()
