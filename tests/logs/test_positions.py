"""Positions: the order of the rounds in a cluster, checked, stored and the same wherever a log is read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.cli.app import main
from tests.quantities.trees import DECLARED, Tree, logs_of

TABLE: dict[str, list[Any]] = {
    "session": [1, 1, 1, 2, 2, 3], "place": [0, 1, 2, 0, 1, 0], "reward": [1, 0, 1, 0, 1, 1],
    "p_logging": [0.5] * 6, "p_new": [0.4, 0.5, 0.6, 0.5, 0.4, 0.5],
}  # fmt: skip


@pytest.mark.parametrize(
    "places, count, row, shown",
    [
        ([0, 2, 1, 0, 1, 0], 2, 1, 2),
        ([0, 1, 3, 0, 1, 0], 1, 2, 3),
        ([0, 1, 1, 0, 1, 0], 1, 2, 1),
        ([0, 1, 2, 1, 2, 0], 2, 3, 1),
        ([0, 1, 2, 0, 1.5, 0], 1, 4, 1.5),
        ([2, 3, 4, 2, 3, 2], 6, 0, 2),
    ],
)
def test_positions_that_do_not_count_up_are_refused(places: list[Any], count: int, row: int, shown: Any) -> None:
    with pytest.raises(sl.LogsError) as error:
        sl.compare(logs_of({**TABLE, "place": places}, most=3), "p_new")
    said = str(error.value)
    assert f"position 'place': {count} of 6 values are not the next position of their cluster" in said
    assert f"row {row}" in said
    assert f"{shown:g}" in said
    assert "sort the log by cluster and position" in said
    assert not sl.check(logs_of({**TABLE, "place": places}, most=3)).ok


def test_positions_count_from_zero_or_from_one() -> None:
    one = {**TABLE, "place": [place + 1 for place in TABLE["place"]]}
    answers = [sl.compare(logs_of(table, most=3), "p_new") for table in (TABLE, one)]
    assert answers[0].lower == answers[1].lower
    question = sl.Question.of("compare", {**DECLARED, "cluster_max": 3}, "p_new")
    parts = [
        sl.partial_sums([pa.table({name: list(column)[first:last] for name, column in table.items()})], question)
        for table, first, last in ((TABLE, 0, 3), (one, 3, 6))
    ]
    with pytest.raises(sl.LogsError, match="1 clusters begin at 0, and 2 at 1"):
        question.answer(parts[0] + parts[1])


def test_what_was_refused_does_not_spoil_the_positions_after_it() -> None:
    wrong = {**TABLE, "p_logging": [0.5, 0.0, 0.5, 0.5, 0.5, 0.5]}
    with pytest.raises(sl.LogsError) as error:
        sl.compare(logs_of(wrong, most=3), "p_new")
    assert "1 of 6 values lie outside (0, 1]" in str(error.value)
    assert "1e150" not in str(error.value)


def test_products_that_overflow_are_refused() -> None:
    small = {**TABLE, "p_logging": [1e-100] * 6}
    with pytest.raises(sl.LogsError, match=r"policy 'p_new': 3 of 6 values give a weight above 1e150"):
        sl.compare(logs_of(small, most=3), "p_new")


def test_declarations() -> None:
    with pytest.raises(sl.UsageError, match="it needs cluster="):
        sl.Logs(TABLE, reward="reward", propensity="p_logging", position="place")
    with pytest.raises(sl.UsageError, match="no column 'step' for position"):
        logs_of(TABLE, most=3, position="step")
    with pytest.raises(sl.UsageError, match=r"embedding \(embedding=\) and sequences \(position=\) do not go together"):
        sl.Logs(TABLE, **DECLARED, cluster_max=3, action="place", logging="p_new", embedding=sl.embeddings.kinds([0, 1]))


def test_questions_and_certificates_keep_the_position(tmp_path: Path) -> None:
    table = Tree(4).draw(300, np.random.default_rng(0))
    logs = logs_of(table, most=3)
    answer = sl.compare(logs, sl.blend("p_new", 0.5))
    content = json.loads(json.dumps(answer.provenance.question))
    assert content["declaration"]["position"] == "place"
    assert content["policies"]["50% p_new"]["kind"] == "blend"
    question = sl.Question.from_dict(content)
    assert question.to_dict() == content
    assert question.ask(logs).lower == answer.lower
    path = tmp_path / "session.json"
    sl.Certificate.of(answer).save(path)
    assert sl.verify(path, logs).same
    with pytest.raises(sl.LogsError):
        sl.verify(path, logs.part(list(table["place"]).index(1), len(table["place"])))


def test_a_log_of_files_and_batches_gives_the_same_answer(tmp_path: Path) -> None:
    table = pa.table(Tree(4).draw(300, np.random.default_rng(0)))
    whole = sl.compare(logs_of(table, most=3), "p_new")
    for number, start in enumerate(range(0, table.num_rows, 100)):  # cut within sessions
        pq.write_table(table.slice(start, 100), tmp_path / f"{number}.parquet")
    files = sl.compare(logs_of(str(tmp_path / "*.parquet"), most=3), "p_new")
    assert (files.lower, files.upper) == pytest.approx((whole.lower, whole.upper), rel=1e-12)
    watch = sl.Monitor("p_new", **{**DECLARED, "cluster_max": 3})
    edge = int(np.flatnonzero(np.asarray(table["place"]) == 0)[150])
    for part in (table.slice(0, edge), table.slice(edge)):
        watch.update(part)
    answer: Any = watch.answer()
    assert answer.lower == pytest.approx(whole.lower, rel=1e-12)


def test_the_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sessions.parquet"
    table = Tree(4).draw(300, np.random.default_rng(0))
    pq.write_table(pa.table(table), path)
    flags = ["--reward", "reward", "--propensity", "p_logging", "--cluster", "session", "--cluster-max", "3"]
    code = main(["compare", str(path), *flags, "--position", "place", "--policy", "p_new", "--json"])
    assert code in (0, 3)
    assert json.loads(capsys.readouterr().out)["lower"] == sl.compare(logs_of(table, most=3), "p_new").lower
