"""Learning from the rounds that meet ``where=``: as from a log that holds no others, with the rows of the whole log told."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.arrays import pc
from surelift.cli.app import main
from surelift.learning import fit_many, search
from surelift.learning.data.rounds import counted
from surelift.learning.learner import PolicyLearner
from surelift.learning.training import blocks
from tests.learning.test_learner import problem
from tests.learning.test_processes import launched

FEW: dict[str, Any] = {"epochs": 3, "learning_rate": 0.05}
WHERE = "segment = 'a'"
SHARES = ["l0", "l1", "l2"]
DECLARED: dict[str, Any] = {
    "reward": "r", "propensity": "p", "action": "a", "action_count": 3, "contexts": ["x0", "x1", "x2", "segment", "kind"],
    "where": WHERE,
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "linear": {}, "network": {"policy": "network"}, "a small holdout": {"holdout": 0.1}, "stages": {"progressive": 3},
    "ips": {"objective": "ips"}, "cross-fitted": {"objective": "doubly-robust", "control": "cross-fitted"},
    "gaussian": {"policy": "gaussian"}, "zero prior": {"policy": "gaussian", "prior": "zero"},
    "a large prior share": {"policy": "gaussian", "prior_share": 0.4, "control": "none"},
    "given model": {"policy": "gaussian", "control": "given"}, "refitted model": {"policy": "gaussian", "control": "model"},
}  # fmt: skip


def table(rounds: int = 2_400, seed: int = 0) -> pa.Table:
    """Two rounds in five lie in the segment, thinly at first and densely in the end; the others earn nothing."""
    data, rng = problem(rounds, seed), np.random.default_rng(seed)
    inside = rng.random(rounds) < np.linspace(0.1, 0.7, rounds)
    columns = {f"x{k}": data["contexts"][:, k] for k in range(3)} | {f"l{k}": data["logging"][:, k] for k in range(3)}
    return pa.table(
        {
            **columns, "a": data["action"], "r": np.where(inside, data["reward"], 0.0), "p": data["propensity"],
            "segment": np.where(inside, "a", np.where(rng.random(rounds) < 0.5, "b", "c")),
            "kind": np.where(inside, rng.choice(["u", "v"], rounds), "elsewhere"),
            "t": np.arange(rounds) // 7, "id": np.arange(rounds), "q": [[0.2, 0.5, 0.3]] * rounds,
        }
    )  # fmt: skip


def alone(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.equal(rows["segment"], "a"))


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return table()


def both(rows: Any, **more: Any) -> tuple[sl.Logs, sl.Logs]:
    """The whole log, of which the condition leaves some rounds; and those rounds alone."""
    declared = {**DECLARED, "action_count": None, "logging": SHARES, "time": "t", **more}
    declared = {name: value for name, value in declared.items() if value is not None}
    return sl.Logs(rows, **declared), sl.Logs(alone(rows), **{**declared, "where": None})


def numbers_of(answer: Any) -> dict[str, Any]:
    """All that is answered but for the sentences about the condition."""
    return {name: value for name, value in answer.to_dict().items() if name not in ("assumptions", "aloud", "provenance")}


def require_equal(first: PolicyLearner, second: PolicyLearner) -> None:
    assert first.policy_.describe() == second.policy_.describe()
    assert first.policy_.layout == second.policy_.layout
    assert first.policy_.learned_from.encode() == second.policy_.learned_from.encode()
    assert numbers_of(first.answer_) == numbers_of(second.answer_)
    assert first.answer_.provenance.fingerprint == second.answer_.provenance.fingerprint


def learner_of(kind: str) -> PolicyLearner:
    options = dict(KINDS[kind])
    models = {"given": sl.models.given("q"), "cross-fitted": sl.models.cross_fitted("linear"), "none": "none"}
    if options.get("control") in models:
        options["control"] = models[options["control"]]
    return PolicyLearner(**{**FEW, **options})


@pytest.mark.parametrize(
    "kind, times", [*((kind, True) for kind in KINDS), *((kind, False) for kind in KINDS if kind != "refitted model")]
)
def test_it_learns_what_it_learns_from_these_rounds_alone(kind: str, times: bool, rows: pa.Table) -> None:
    whole, only = both(rows, **({} if times else {"time": None}))
    first, second = learner_of(kind).fit(whole), learner_of(kind).fit(only)
    require_equal(first, second)
    met, judged = len(alone(rows)), first.answer_.rounds
    assert any(line.startswith(f"the rounds were chosen by `{WHERE}`") for line in first.answer_.assumptions)
    assert "do not meet `segment = 'a'`, and were left out." in first.answer_.notes[0]
    content = first.certificate_.content
    if "rows" in content:
        # Rows of the whole log: from the first round that judges to the last row.
        begin = np.flatnonzero(np.asarray(rows["segment"]) == "a")[met - judged]
        assert content["rows"] == [begin, len(rows)]
    if kind != "cross-fitted":
        given: dict[str, Any] = {"control": sl.models.given("q")} if kind == "given model" else {}
        assert sl.verify(first.certificate_, whole, first.policy_, **given).same


def test_the_rounds_that_judge_may_be_given_alone(rows: pa.Table) -> None:
    for progressive in (None, 3):
        whole, _ = both(rows)
        fitted = PolicyLearner(**FEW, progressive=progressive).fit(whole)
        first, last = fitted.certificate_.content["rows"]
        assert sl.verify(fitted.certificate_, whole.part(first, last), fitted.policy_).same


def test_search_and_many_learners(rows: pa.Table) -> None:
    learners = [[PolicyLearner(**FEW), PolicyLearner("network", **FEW), PolicyLearner("gaussian", **FEW)] for _ in range(2)]
    first, second = (search(logs, each) for logs, each in zip(both(rows), learners, strict=True))
    assert [(tried.name, tried.estimate, tried.expected_lower) for tried in first.tried] == [
        (tried.name, tried.estimate, tried.expected_lower) for tried in second.tried
    ]
    require_equal(first.learner, second.learner)
    many = [fit_many([PolicyLearner("gaussian", **FEW, seed=seed) for seed in (0, 1)], logs) for logs in both(rows)]
    for one, other in zip(*many, strict=True):
        require_equal(one, other)


@pytest.mark.parametrize("kind", ["linear", "stages", "gaussian"])
def test_rounds_that_memory_cannot_hold(kind: str, rows: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [learner_of(kind).fit(logs) for logs in both(rows)]
    monkeypatch.setattr(blocks, "MEMORY", 0)
    read = [learner_of(kind).fit(logs) for logs in both(rows)]
    require_equal(*read)
    assert read[0].policy_.describe() == kept[0].policy_.describe()


@pytest.mark.parametrize("form", ["parquet", "csv", "polars", "part"])
def test_wherever_the_rounds_are(form: str, rows: pa.Table, tmp_path: Path) -> None:
    """Of files with small row groups, and of a part of a longer log."""
    source: Any = str(tmp_path / f"log.{form}")
    rows = rows.drop_columns("q")
    whole, only = both(rows)
    if form == "parquet":
        pq.write_table(rows, source, row_group_size=301)
        whole = both(source_rows := rows)[0].of(source, whole.declaration)
        assert len(source_rows) == whole.count()
    elif form == "csv":
        pa.csv.write_csv(rows, source)
        whole = sl.Logs.of(source, whole.declaration)
    elif form == "polars":
        pl = pytest.importorskip("polars")
        whole = sl.Logs.of(pl.from_arrow(rows), whole.declaration)
    else:
        longer = pa.concat_tables([table(500, seed=9).drop_columns("q"), rows, table(300, seed=8).drop_columns("q")])
        whole = sl.Logs.of(longer, whole.declaration).part(500, 500 + len(rows))
    for kind in ("linear", "stages", "gaussian"):
        first, second = learner_of(kind).fit(whole), learner_of(kind).fit(only)
        assert first.policy_.layout.texts == second.policy_.layout.texts
        assert first.answer_.lower == pytest.approx(second.answer_.lower, rel=1e-4)
        assert first.answer_.rounds == second.answer_.rounds
        assert sl.verify(first.certificate_, whole, first.policy_).same


def test_arrays_cover_the_whole_log(rows: pa.Table) -> None:
    """A matrix of predictions has a row for each row of the log, whether it meets the condition or not."""
    predictions = np.random.default_rng(3).random((len(rows), 3))
    met = np.asarray(rows["segment"]) == "a"
    given = (sl.models.given(predictions), sl.models.given(predictions[met]))
    pairs = zip(both(rows), given, strict=True)
    fitted = [PolicyLearner("gaussian", **FEW, control=model).fit(logs) for logs, model in pairs]
    require_equal(*fitted)


def test_messages_speak_of_rows_of_the_log(rows: pa.Table) -> None:
    inside = np.flatnonzero(np.asarray(rows["segment"]) == "a")
    for place in (3, 500, len(inside) - 2):
        row = int(inside[place])
        wrong = np.asarray(rows["p"]).copy()
        wrong[row] = 0.0
        spoiled = rows.set_column(rows.schema.get_field_index("p"), "p", pa.array(wrong))
        for kind in ("linear", "stages", "gaussian", "zero prior"):
            with pytest.raises(sl.LogsError, match=f"in row {row:,}"):
                learner_of(kind).fit(both(spoiled)[0])
    # What does not meet the condition is not looked at.
    outside = np.flatnonzero(np.asarray(rows["segment"]) == "b")
    wrong = np.asarray(rows["p"]).copy()
    wrong[outside] = 0.0
    spoiled = rows.set_column(rows.schema.get_field_index("p"), "p", pa.array(wrong))
    require_equal(*(learner_of("linear").fit(logs) for logs in both(spoiled)))


def test_blocks_are_dealt_by_ids_or_by_rows_of_the_log(rows: pa.Table) -> None:
    require_equal(*(PolicyLearner(**FEW, method="blocks").fit(logs) for logs in both(rows, id="id")))
    whole, only = both(rows)
    first, second = (PolicyLearner(**FEW, method="blocks").fit(logs) for logs in (whole, only))
    assert first.policy_.describe() == second.policy_.describe()
    assert first.answer_.rounds == second.answer_.rounds
    assert sl.verify(first.certificate_, whole, first.policy_).same


def test_a_part_holds_its_own_rounds_and_their_rows(rows: pa.Table) -> None:
    whole = counted(both(rows)[0])
    inside = np.flatnonzero(np.asarray(rows["segment"]) == "a")
    for part, met in ((whole, inside), (whole.part(100, 300), inside[100:300]), (whole.part(100, 10**9), inside[100:])):
        batches = list(part.batches())
        numbers = [batch.rows for batch in batches if batch.rows is not None]
        np.testing.assert_array_equal(np.concatenate(numbers), met)
        assert [batch.table.num_rows for batch in batches] == [len(rows_of_batch) for rows_of_batch in numbers]
        assert part.count() == len(met)


def test_ids_and_times_are_those_of_the_rounds_that_count(rows: pa.Table) -> None:
    require_equal(*(learner_of("linear").fit(logs) for logs in both(rows, id="id")))
    inside = np.flatnonzero(np.asarray(rows["segment"]) == "a")
    twice = np.asarray(rows["id"]).copy()
    twice[inside[-3]] = twice[inside[2]]
    again = rows.set_column(rows.schema.get_field_index("id"), "id", pa.array(twice))
    with pytest.raises(sl.LogsError, match=f"id 'id': 1 of {len(inside) - 1:,} come more than once"):
        learner_of("linear").fit(both(again, id="id")[0])
    times = np.asarray(rows["t"]).copy()
    times[inside[-3]] = 0
    unordered = rows.set_column(rows.schema.get_field_index("t"), "t", pa.array(times))
    with pytest.raises(sl.LogsError, match=f"in row {inside[-3]:,}"):
        learner_of("linear").fit(both(unordered)[0])


def test_too_few_rounds_meet_the_condition(rows: pa.Table) -> None:
    whole = sl.Logs(rows, **{**DECLARED, "where": "segment = 'nowhere'"})
    for kind in ("linear", "stages", "gaussian"):
        with pytest.raises(sl.LogsError, match="these logs are empty"):
            learner_of(kind).fit(whole)
    few = sl.Logs(rows, **{**DECLARED, "where": "id = 7"})
    with pytest.raises(sl.UsageError, match="leaves no rounds, of 1, to certify"):
        learner_of("linear").fit(few)


@pytest.mark.parametrize("kind", ["linear", "stages", "gaussian"])
def test_a_condition_by_what_was_shown_is_refused(kind: str, rows: pa.Table) -> None:
    shown = rows.append_column("shown", pc.equal(rows["a"], 1))
    declared = {**DECLARED, "action_count": None, "logging": SHARES, "time": "t", "where": "shown = true"}
    with pytest.raises(sl.LogsError, match="where: `shown = true` tells of actions or rewards: one action"):
        learner_of(kind).fit(sl.Logs(shown, **declared))


SCRIPT = """
import json, os, sys
import torch.distributed as dist
sys.path.insert(0, sys.argv[1])
from tests.learning.test_where import both, learner_of, table
import surelift as sl

logs = sl.Logs.of(sys.argv[2], both(table())[0].declaration)
found = {}
for kind in ("linear", "gaussian", "refitted model"):
    learner = learner_of(kind).fit(logs)
    found[kind] = [learner.answer_.lower, learner.answer_.rounds, learner.certificate_.content.get("rows")]
with open(f"{sys.argv[3]}/{os.environ['RANK']}.json", "w") as file:
    json.dump(found, file)
dist.barrier()  # the other process may still be working
os._exit(0)  # without waiting for torch's threads, which abort the exit now and then
"""


def test_processes_share_the_rounds_that_count(rows: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(SCRIPT)
    pq.write_table(rows, log := str(tmp_path / "log.parquet"), row_group_size=301)
    done = launched(str(tmp_path / "learn.py"), str(Path(__file__).parent.parent.parent), log, str(tmp_path))
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        for kind, (lower, rounds, held_out) in json.loads((tmp_path / f"{rank}.json").read_text()).items():
            alone = learner_of(kind).fit(both(rows)[0])
            assert lower == pytest.approx(alone.answer_.lower, rel=1e-5)
            assert (rounds, held_out) == (alone.answer_.rounds, alone.certificate_.content.get("rows"))


def test_on_the_command_line(rows: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, policy = str(tmp_path / "log.parquet"), str(tmp_path / "p.safetensors")
    pq.write_table(rows, log)
    flags = ["--reward", "r", "--propensity", "p", "--action", "a", "--logging", ",".join(SHARES), "--contexts", "x0,x1,x2"]
    assert main(["learn", log, *flags, "--where", WHERE, "--epochs", "2", "-o", policy]) in (0, 3)
    assert "do not meet" in " ".join(capsys.readouterr().out.split())
    assert main(["verify", policy, log]) in (0, 3)
    assert "same" in capsys.readouterr().out
