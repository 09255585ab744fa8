"""How often a log is read: once, whatever is asked of it."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.logs.batch import TableBatch
from tests.engines.cases import KINDS, ROUNDS

FILES = 3
Ask = Callable[[sl.Logs], Any]


class Reads:
    """Counts the passes over a source, and the batches that were only looked at."""

    def __init__(self, logs: sl.Logs, monkeypatch: pytest.MonkeyPatch) -> None:
        self.whole = self.looks = self.rows = 0
        batches = type(logs.source).batches

        def counted(source: Any, needs: Any, *ends: int) -> Iterator[TableBatch]:
            self.looks += 1
            for batch in batches(source, needs, *ends):
                self.rows += batch.table.num_rows
                yield batch
            self.looks -= 1
            self.whole += 1

        monkeypatch.setattr(type(logs.source), "batches", counted)


def files_of(kind: str, folder: Path) -> str:
    table = KINDS[kind].table()
    edges = np.linspace(0, table.num_rows, FILES + 1).astype(int)
    for part, (first, last) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(first, last - first), folder / f"{part}.parquet")
    return str(folder / "*.parquet")


def array(seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.0, 0.05, ROUNDS)


REPORTS: dict[str, tuple[str, Ask]] = {
    "one candidate": ("plain", lambda logs: sl.report(logs, "a")),
    "several candidates": ("plain", lambda logs: sl.report(logs, {"a": "a", "b": "b", "some": sl.blend("a", 0.1)})),
    "over another": ("plain", lambda logs: sl.report(logs, "a", over="b")),
    "an array": ("plain", lambda logs: sl.report(logs, {"new": array()})),
    "days": ("timed", lambda logs: sl.report(logs, ["a", "b"])),
    "clusters": ("clustered", lambda logs: sl.report(logs, "a")),
    "a sampled log": ("sampled", lambda logs: sl.report(logs, "a")),
    "costs": ("costs", lambda logs: sl.report(logs, "a")),
    "a planned grid": ("plain", lambda logs: sl.report(logs, "a", grid="planned")),
}
OTHERS: dict[str, tuple[str, Ask]] = {
    "gate": ("plain", lambda logs: sl.gate(logs, "a", guardrails=[sl.Outcome("g", at_most_worse=0)])),
    "outcomes": ("plain", lambda logs: sl.compare(logs, "a", outcomes=[sl.Outcome("g"), sl.Outcome("r")])),
    "check": ("timed", lambda logs: sl.check(logs, ["a", "b"], by="s")),
    "power": ("timed", lambda logs: sl.power(logs, "a", by="s")),
    "select by segment": ("timed", lambda logs: sl.select(logs, ["a", "b"], by="s")),
    "profile": ("plain", lambda logs: sl.profile(logs, "a")),
    "evaluate by bootstrap": ("plain", lambda logs: sl.evaluate(logs, "a", method="bootstrap")),
}


@pytest.mark.parametrize("name", [*REPORTS, *OTHERS])
def test_every_file_is_read_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, ask = {**REPORTS, **OTHERS}[name]
    logs = KINDS[kind].logs(files_of(kind, tmp_path))
    reads = Reads(logs, monkeypatch)
    ask(logs)
    assert (reads.whole, reads.looks) == (1, 0)
    assert reads.rows == KINDS[kind].table().num_rows


def test_whole_distributions_cost_a_look_at_the_first_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = KINDS["vectors"].logs(files_of("vectors", tmp_path))
    reads = Reads(logs, monkeypatch)
    selection = sl.report(logs, {"a": "va", "b": "vb"}).selection
    assert selection is not None
    assert selection.improvements["a"].control == "weights"
    assert (reads.whole, reads.looks) == (1, 1)
    assert reads.rows == ROUNDS + ROUNDS // FILES
