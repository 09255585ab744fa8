"""Under torchrun each process reads and keeps its share of the log; policy and certificate are those of a single one."""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.learning.data import dataset, features
from surelift.learning.data.features import FeatureSurvey
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.data.rounds import moved_cuts
from surelift.learning.learned import LearnedPolicy
from surelift.learning.learner import PolicyLearner
from surelift.learning.training import blocks
from surelift.logs.sources.parquet import ParquetFile
from tests.learning.test_learner import problem
from tests.learning.test_processes import ROOT, launched

ROUNDS = 3_001
FEW: dict[str, Any] = {"epochs": 2, "learning_rate": 0.05}
GAUSSIAN: dict[str, Any] = {"policy": "gaussian"}
FITS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "fitted prior": (GAUSSIAN, []),
    "zero prior": ({**GAUSSIAN, "prior": "zero"}, []),
    "softmax": ({"policy": "linear"}, []),
    "softmax, cuts that move": ({"policy": "linear"}, ["time"]),
    "fitted prior, cuts that move": (GAUSSIAN, ["time"]),
    "softmax, short of memory": ({"policy": "linear"}, ["short"]),
    "fitted prior, short of memory": (GAUSSIAN, ["short"]),
    "refitted model": ({**GAUSSIAN, "control": "refitted"}, ["time"]),
    "refitted model, held out": (
        {"policy": "linear", "objective": "doubly-robust", "control": "refitted"},
        ["time"],
    ),
}
SCRIPT = """
import json, os, sys
import torch.distributed as dist
sys.path.insert(0, sys.argv[1])
from tests.learning.test_shares import *

rank, folder, results = int(os.environ["RANK"]), Path(sys.argv[2]), {}
read, kept = watched()
for name in FITS:
    learner = fitted(name, folder)
    results[name] = {"lower": learner.answer_.lower, "read": sum(read), "kept": max(kept, default=0)}
    learner.save(str(folder / f"{name} {rank}.safetensors"))
    read.clear(), kept.clear()
for name, broken in BROKEN.items():
    try:
        broken(folder, rank)
        results[name] = "nothing"
    except Exception as error:
        results[name] = f"{type(error).__name__}: {error}"
(folder / f"{rank}.json").write_text(json.dumps(results))
dist.barrier()  # the other process may still be working
os._exit(0)  # without waiting for torch's threads, which abort the exit now and then
"""


def watched() -> tuple[list[int], list[int]]:
    """Filled with the rows of each batch that is decoded, and with the rounds of each data set that is kept."""
    read, kept = list[int](), list[int]()
    file, whole = cast(Any, ParquetFile), cast(Any, dataset.Dataset)
    batches, keep = file.batches, whole.keep

    def counted(self: ParquetFile, *arguments: Any) -> Any:
        for batch in batches(self, *arguments):
            read.append(batch.num_rows)
            yield batch

    def remembered(self: dataset.Dataset, **options: Any) -> Any:
        kept.append(len(examples := keep(self, **options)))
        return examples

    file.batches, whole.keep = counted, remembered
    return read, kept


def fitted(name: str, folder: Path) -> PolicyLearner:
    options, of = FITS[name]
    if "control" in options:
        options = {**options, "control": sl.models.refitted("linear")}
    with pytest.MonkeyPatch.context() as patch:
        if "short" in of:
            patch.setattr(blocks, "MEMORY", 1)
            patch.setattr(blocks, "ROWS_PER_BATCH", 256)
            patch.setattr(dataset, "ROWS_PER_BATCH", 256)
        return PolicyLearner(**options, **FEW).fit(logs_of(name, folder))


def table() -> pa.Table:
    data = problem(ROUNDS)
    columns = {"reward": data["reward"], "propensity": data["propensity"], "action": data["action"]}
    columns |= {f"x{k}": data["contexts"][:, k] for k in range(3)} | {f"p{k}": data["logging"][:, k] for k in range(3)}
    # Some texts lie in one share alone; the rounds of one time are many, and no cut falls between two times.
    texts = np.where(np.arange(ROUNDS) % 5, "often", np.where(np.arange(ROUNDS) < ROUNDS // 2, "early", "late"))
    return pa.table({**columns, "text": texts, "time": np.arange(ROUNDS) // 37})


def logs_in(folder: Path, name: str, time: str | None = None) -> sl.Logs:
    return sl.Logs(
        folder / f"{name}.parquet", reward="reward", propensity="propensity", action="action", time=time,
        contexts=["x0", "x1", "x2", "text"], logging=["p0", "p1", "p2"],
    )  # fmt: skip


def logs_of(name: str, folder: Path) -> sl.Logs:
    return logs_in(folder, "log", time="time" if "time" in FITS[name][1] else None)


def unfit(column: str, row: int, value: Any) -> pa.Table:
    entries = table()[column].to_pylist()
    entries[row] = value
    return table().set_column(table().column_names.index(column), column, pa.array(entries))


UNFIT = {
    "a probability in the second share": ("propensity", 2_900, 1.5),
    "a context in the first share": ("x1", 3, float("inf")),
    "a time at the border": ("time", ROUNDS // 2, 0),
}


def fit_unfit(name: str, folder: Path, _rank: int = 0) -> None:
    PolicyLearner(**GAUSSIAN, **FEW).fit(logs_in(folder, name, time="time"))


def break_down(folder: Path, rank: int) -> None:
    """Only the second process cannot encode a context, which it finds as it reads its share to learn from."""
    encode = FeatureLayout.encode

    def broken(self: Any, *arguments: Any) -> Any:
        if self.size == 8 and rank == 1:
            raise sl.LogsError("the disk of this process is gone")
        return encode(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FeatureLayout, "encode", broken)
        PolicyLearner(**GAUSSIAN, **FEW).fit(logs_in(folder, "log"))


BROKEN: dict[str, Any] = {name: lambda *at, name=name: fit_unfit(name, *at) for name in UNFIT} | {"a disk": break_down}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shares")
    (folder / "script.py").write_text(SCRIPT)
    pq.write_table(table(), folder / "log.parquet", row_group_size=50)
    for name, change in UNFIT.items():
        pq.write_table(unfit(*change), folder / f"{name}.parquet", row_group_size=50)
    done = launched(str(folder / "script.py"), str(ROOT), str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_two_processes_learn_and_certify_what_one_does(name: str, folder: Path, results: list[dict[str, Any]]) -> None:
    alone = fitted(name, folder)
    assert [result[name]["lower"] for result in results] == pytest.approx([alone.answer_.lower] * 2, abs=1e-6)
    first, second = (LearnedPolicy.load(str(folder / f"{name} {rank}.safetensors")) for rank in (0, 1))
    assert first.describe() == second.describe()
    assert first.layout.texts == alone.policy_.layout.texts
    rows = table()
    np.testing.assert_allclose(first.predict_proba(rows), alone.policy_.predict_proba(rows), atol=1e-4)
    # A single process finds the same in the whole log, to 1e-9.
    assert first.certificate is not None
    assert sl.verify(first.certificate, logs_of(name, folder), first).same
    stated, wanted = (dict(one.content["question"]) for one in (first.certificate, alone.certificate_))
    assert stated.pop("policies").keys() == wanted.pop("policies").keys()
    assert stated == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_each_process_reads_and_keeps_its_share(name: str, folder: Path, results: list[dict[str, Any]]) -> None:
    if "short" in FITS[name][1]:
        assert [result[name]["kept"] for result in results] == [0, 0]
        return
    for result, last in zip(results, (False, True), strict=True):
        in_order = FITS[name][0].get("control") is not None and last
        # The row groups at borders are read by both, and a model that learns along the log needs what came before.
        assert 0.45 * 2 * ROUNDS <= result[name]["read"] <= (0.9 if in_order else 0.6) * 2 * ROUNDS
        assert result[name]["kept"] <= 0.51 * ROUNDS


@pytest.mark.slow
@pytest.mark.parametrize("name", UNFIT)
def test_a_fault_in_one_share_is_told_by_all(name: str, folder: Path, results: list[dict[str, Any]]) -> None:
    with pytest.raises(sl.LogsError) as alone:
        fit_unfit(name, folder)
    assert [result[name] for result in results] == [f"LogsError: {alone.value}"] * 2


@pytest.mark.slow
def test_an_error_in_one_process_is_raised_in_all(results: list[dict[str, Any]]) -> None:
    assert [result["a disk"] for result in results] == ["LogsError: the disk of this process is gone"] * 2


@given(st.lists(st.integers(1, 400), min_size=1, max_size=12), st.integers(1, 30))
def test_a_cut_moves_to_the_next_time_wherever_it_is_looked_for(lengths: list[int], cut: int) -> None:
    times = np.repeat(np.arange(len(lengths)), lengths)
    logs = sl.Logs(reward=np.zeros(len(times)), propensity=np.ones(len(times)), time=times)
    cut = min(cut * 37 % len(times) + 1, len(times))
    ends = np.cumsum(lengths)
    assert moved_cuts(logs, [cut]) == [ends[ends >= cut][0]]


def test_surveys_of_parts_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = pa.table({"n": rng.normal(5.0, 3.0, 90), "t": list("abc" * 30), "v": rng.normal(size=(90, 2)).tolist()})

    def surveyed(part: pa.Table) -> FeatureSurvey:
        survey = FeatureSurvey(("n", "t", "v"), intercept=True)
        if len(part):
            survey.update(part)
            survey.standardise(part)
        return survey

    whole = surveyed(rows).layout()
    for cut in (0, 1, 40, 90):
        found = (surveyed(rows.slice(0, cut)) + surveyed(rows.slice(cut))).layout()
        assert (found.texts, found.widths, found.names) == (whole.texts, whole.widths, whole.names)
        np.testing.assert_allclose(np.array(found.centre), np.array(whole.centre), rtol=1e-12)
        np.testing.assert_allclose(np.array(found.scale), np.array(whole.scale), rtol=1e-12)
    longer = rows.set_column(2, "v", pa.array([[1.0, 2.0, 3.0]] * 90))
    with pytest.raises(sl.LogsError, match="context 'v': every round needs 2 finite numbers"):
        surveyed(rows) + surveyed(longer)
    monkeypatch.setattr(features, "MOST_TEXTS", 3)
    first, second = (FeatureSurvey(("t",), intercept=True) for _ in range(2))
    first.update(rows)
    second.update(pa.table({"t": list("xy")}))
    with pytest.raises(sl.UsageError, match="more than 3 different texts"):
        first + second


def test_one_process_learns_from_rows_without_an_order() -> None:
    query = pl.from_arrow(table()).lazy()  # type: ignore[union-attr]
    names: Any = {"reward": "reward", "propensity": "propensity", "action": "action", "logging": ["p0", "p1", "p2"]}
    logs = sl.Logs(query, contexts=["x0", "x1", "x2", "text"], **names)
    assert PolicyLearner(**GAUSSIAN, prior="zero", **FEW).fit(logs).answer_.rounds == ROUNDS
