"""The monitor: the same answer as the whole log, however it was cut, killed, sharded or streamed."""

import copy
import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.saving import sealed
from tests.controls.test_models import DECLARED, columns

SHOP = sl.datasets.shop(6_000, seed=1)
FLAGS: dict[str, Any] = {"reward": "click", "propensity": "propensity"}


def watching(**options: Any) -> sl.Monitor:
    return sl.Monitor({"better": "p_better"}, **FLAGS, **options)


@given(st.lists(st.integers(1, 2_999), min_size=1, max_size=6, unique=True))
def test_it_says_what_the_whole_log_says(cuts: list[int]) -> None:
    watch = watching()
    edges = [0, *sorted(cuts), 3_000]
    for number, (start, stop) in enumerate(pairwise(edges), start=1):
        assert watch.update(SHOP.table.slice(start, stop - start), sequence=number)
    whole = sl.compare(sl.Logs(SHOP.table.slice(0, 3_000), **FLAGS), {"better": "p_better"})
    answer = watch.answer()
    assert isinstance(answer, sl.results.Improvement)
    assert answer.lower == pytest.approx(whole.lower, rel=1e-12)
    assert answer.upper == pytest.approx(whole.upper, rel=1e-12)
    assert answer.rounds == 3_000
    certificate = sl.Certificate.of(answer)
    assert sl.verify(certificate, sl.Logs(SHOP.table.slice(0, 3_000), **FLAGS)).same
    assert [point["rounds"] for point in watch.history_points] == edges[1:]


@pytest.mark.parametrize(
    "options",
    [
        {"question": "evaluate"}, {"over": {"worse": "p_worse"}}, {"margin": 0.02, "delta": 0.2},
        {"method": "logarithmic-smoothing", "smoothing": 0.1}, {"grid": sl.grids.anytime()},
    ],
    ids=str,
)  # fmt: skip
def test_every_question_survives_a_save(options: dict[str, Any], tmp_path: Path) -> None:
    watch = watching(**options)
    watch.update(SHOP.table.slice(0, 2_000), sequence=1)
    watch.save(tmp_path / "state.json")
    again = sl.Monitor.load(tmp_path / "state.json")
    for one in (watch, again):
        one.update(SHOP.table.slice(2_000), sequence=2)
    assert again.answer() == watch.answer()
    assert again.state() == watch.state()
    question = options.pop("question", "compare")
    logs = sl.Logs(SHOP.table, **FLAGS)
    if question == "evaluate":
        values = again.answer()
        assert isinstance(values, sl.results.Evaluation)
        whole = sl.evaluate(logs, {"better": "p_better"}, **options)
        assert values["better"].lower == pytest.approx(whole["better"].lower, rel=1e-12)
    else:
        found = again.answer()
        assert isinstance(found, sl.results.Improvement)
        assert found.lower == pytest.approx(sl.compare(logs, {"better": "p_better"}, **options).lower, rel=1e-12)


def test_vectors_and_a_fitted_model(tmp_path: Path) -> None:
    table = columns(1, 900)
    frame = {name: list(column) if getattr(column, "ndim", 1) == 2 else column for name, column in table.items()}
    model = sl.models.given("q")
    watch = sl.Monitor("new", control=model, **DECLARED)
    for number, part in enumerate((slice(0, 300), slice(300, 900)), start=1):
        watch.update({name: column[part] for name, column in frame.items()}, sequence=number)
        watch.save(tmp_path / "state.json")
        watch = sl.Monitor.load(tmp_path / "state.json")
    answer = watch.answer()
    assert isinstance(answer, sl.results.Improvement)
    assert answer.control == "model"
    assert answer.lower == pytest.approx(sl.compare(sl.Logs(frame, **DECLARED), "new", control=model).lower)
    with pytest.raises(sl.UsageError, match="so it cannot refit a model"):
        sl.Monitor("new", control="model", **DECLARED)


def test_batches_are_counted_once_and_in_order() -> None:
    watch = watching()
    assert watch.update(SHOP.table.slice(0, 10), sequence=1)
    assert not watch.update(SHOP.table.slice(0, 10), sequence=1)
    with pytest.raises(sl.UsageError, match="batch 3 came, but 2 is next"):
        watch.update(SHOP.table.slice(20, 10), sequence=3)
    before = json.dumps(watch.state())
    bad = SHOP.table.slice(0, 5).set_column(SHOP.table.column_names.index("propensity"), "propensity", [[0.0] * 5])
    with pytest.raises(sl.LogsError, match="5 of 5 values lie outside"):
        watch.update(bad, sequence=2)
    assert json.dumps(watch.state()) == before
    assert watch.update(SHOP.table.slice(10, 10), sequence=2)
    assert watch.rounds == 20


def test_shards_add_up_by_name() -> None:
    north, south, again = (watching(name=name) for name in ("north", "south", "north"))
    north.update(SHOP.table.slice(0, 2_500))
    south.update(SHOP.table.slice(2_500))
    both = north + south
    whole = sl.compare(sl.Logs(SHOP.table, **FLAGS), {"better": "p_better"})
    answer = both.answer()
    assert isinstance(answer, sl.results.Improvement)
    assert answer.lower == pytest.approx(whole.lower, rel=1e-12)
    with pytest.raises(sl.UsageError, match="shard 'north' is in both"):
        both + again
    with pytest.raises(sl.UsageError, match="do not ask the same question"):
        north + watching(name="west", delta=0.1)


def test_clusters_and_sampled_batches() -> None:
    better = np.random.default_rng(0).random(200) < 0.5
    table = {
        "u": np.repeat(np.arange(40), 5),
        "r": better.astype(float),
        "p": np.full(200, 0.5),
        "n": np.where(better, 0.8, 0.2),
    }
    declared: dict[str, Any] = {"reward": "r", "propensity": "p"}
    watch = sl.Monitor("n", cluster="u", cluster_size=5, **declared)
    for start in (0, 100):
        watch.update({name: column[start : start + 100] for name, column in table.items()})
    whole = sl.compare(sl.Logs(table, cluster="u", cluster_size=5, **declared), "n")
    found = watch.answer()
    assert isinstance(found, sl.results.Improvement)
    assert found.lower == pytest.approx(whole.lower)
    assert found.rounds == 40
    kept = {**table, "k": np.where(table["r"] == 1.0, 1.0, 0.5)}
    sampled = sl.Monitor("n", keep_probability="k", **declared)
    for start in (0, 100):
        sampled.update({name: column[start : start + 100] for name, column in kept.items()}, rounds_before_sampling=150)
    logs = sl.Logs(kept, keep_probability="k", rounds_before_sampling=300, **declared)
    answer = sampled.answer()
    assert isinstance(answer, sl.results.Improvement)
    assert answer.lower == pytest.approx(sl.compare(logs, "n").lower)


def test_the_history_stays_short() -> None:
    watch = watching()
    for start in range(600):
        watch.update(SHOP.table.slice(start, 1))
    assert len(watch.history_points) <= 256
    assert watch.history_points[-1]["rounds"] == 600
    rounds = [point["rounds"] for point in watch.history_points]
    assert rounds == sorted(rounds)


@pytest.mark.slow
def test_millions_of_rounds_leave_a_small_state(tmp_path: Path) -> None:
    watch = sl.Monitor(["p_better", "p_slight", "p_worse"], **FLAGS)
    for number in range(5):
        watch.update(sl.datasets.shop(1_000_000, seed=number).table, sequence=number + 1)
        watch.save(tmp_path / "state.json")
    assert watch.rounds == 5_000_000
    assert (tmp_path / "state.json").stat().st_size < 100_000


def test_late_files_are_refused(tmp_path: Path) -> None:
    watch = watching()
    paths = [tmp_path / f"day{number}.parquet" for number in (1, 2, 4)]
    for number, path in enumerate(paths):
        pq.write_table(SHOP.table.slice(100 * number, 100), path)
    for new in watch.new_files(paths):
        watch.update_from(new)
    assert watch.new_files(paths) == []
    assert watch.new_files(paths[1:]) == []  # an old file may have been put away
    with pytest.raises(sl.LogsError, match=r"day3\.parquet was not counted, but .*day4\.parquet"):
        watch.new_files([*paths, tmp_path / "day3.parquet"])
    with pytest.raises(sl.LogsError, match=r"day0\.parquet was not counted"):
        watch.new_files([*paths, tmp_path / "day0.parquet"])
    assert watch.new_files([*paths, tmp_path / "day5.parquet"]) == [str(tmp_path / "day5.parquet")]
    pq.write_table(SHOP.table.slice(0, 100), tmp_path / "day9.parquet")
    with pytest.raises(sl.LogsError, match=r"holds the same rounds as .*day1\.parquet"):
        watch.update_from(tmp_path / "day9.parquet")
    pq.write_table(SHOP.table.slice(0, 150), paths[0])
    with pytest.raises(sl.LogsError, match=r"day1\.parquet has changed since it was counted"):
        watch.new_files(paths)


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "surelift", "monitor", *map(str, arguments)]


ASKED = ["--reward", "click", "--propensity", "propensity", "--policy", "better=p_better"]


@pytest.mark.slow
def test_killed_anywhere_it_ends_where_the_uninterrupted_one_does(tmp_path: Path) -> None:
    """SIGKILL at random moments, over and over, until it gets through."""
    folder = tmp_path / "days"
    folder.mkdir()
    table = sl.datasets.shop(60_000, seed=5).table
    for number in range(60):
        pq.write_table(table.slice(1_000 * number, 1_000), folder / f"day{number:02}.parquet")
    whole = tmp_path / "whole.json"
    assert subprocess.run(command(folder, "--state", whole, *ASKED), capture_output=True, check=False).returncode == 0
    state, kills, rng = tmp_path / "killed.json", 0, random.Random(0)
    for _ in range(60):
        running = subprocess.Popen(
            command(folder, "--state", state, *ASKED), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # Wait for it to begin writing, then strike within a few files of work.
        seen = state.stat().st_mtime_ns if state.exists() else 0
        while running.poll() is None and (not state.exists() or state.stat().st_mtime_ns == seen):
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.05))
        if running.poll() is not None:
            break
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        kills += 1
        json.loads(state.read_text())
    else:
        subprocess.run(command(folder, "--state", state, *ASKED), capture_output=True, check=False)
    assert kills >= 5
    left, right = (json.loads(path.read_text()) for path in (state, whole))
    assert left["sums"] == right["sums"]
    assert left["ledgers"] == right["ledgers"]
    assert left["history"] == right["history"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arrow"])
def test_a_stream_is_resumed_where_it_was_left(kind: str, tmp_path: Path) -> None:
    table = SHOP.table.select(["click", "propensity", "p_better"])

    def stream(rows: Any) -> bytes:
        if kind == "jsonl":
            return "".join(json.dumps(row) + "\n" for row in rows.to_pylist()).encode()
        sink = pa.BufferOutputStream()
        if kind == "csv":
            pa.csv.write_csv(rows, sink)
        else:
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_table(rows)
        return bytes(sink.getvalue())

    state = tmp_path / "state.json"
    first = subprocess.run(
        command("--stdin", kind, "--state", state, *ASKED), input=stream(table.slice(0, 2_000)), capture_output=True,
        check=False,
    )  # fmt: skip
    assert first.returncode == 0, first.stderr
    second = subprocess.run(
        command("--stdin", kind, "--skip", "--state", state), input=stream(table), capture_output=True, check=False
    )
    assert second.returncode == 0, second.stderr
    answer = sl.Monitor.load(state).answer()
    whole = sl.compare(sl.Logs(SHOP.table, **FLAGS), {"better": "p_better"})
    assert isinstance(answer, sl.results.Improvement)
    assert answer.lower == pytest.approx(whole.lower, rel=1e-12)
    other = subprocess.run(
        command("--stdin", kind, "--skip", "--state", state), input=stream(table.slice(0, 10)), capture_output=True,
        text=False, check=False,
    )  # fmt: skip
    assert other.returncode == 4
    assert b"not the same stream" in other.stderr
    strange = sl.datasets.shop(7_000, seed=9).table.select(table.column_names)
    for rows in (strange, strange.slice(0, 6_000), pa.concat_tables([table.slice(1), strange.slice(0, 2)])):
        other = subprocess.run(
            command("--stdin", kind, "--skip", "--state", state), input=stream(rows), capture_output=True, check=False
        )
        assert other.returncode == 4
        assert b"are not those that were counted" in other.stderr
    assert sl.Monitor.load(state).rounds == 6_000


def test_the_command_line(tmp_path: Path) -> None:
    pq.write_table(SHOP.table, tmp_path / "a.parquet")

    def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command(*arguments), capture_output=True, text=True, cwd=tmp_path, check=False)

    assert "must be asked" in run("a.parquet", "--state", "s.json").stderr
    assert "say --state FILE" in run("a.parquet", *ASKED).stderr
    assert "name the sources" in run("--state", "s.json", *ASKED).stderr
    assert not (tmp_path / "s.json").exists()
    done = run("a.parquet", "--state", "s.json", *ASKED, "--json", "--name", "north")
    assert done.returncode == 0
    assert json.loads(done.stdout)["certified"]
    assert "another question" in run("a.parquet", "--state", "s.json", *ASKED, "--delta", "0.1").stderr
    assert "is of shard 'north'" in run("a.parquet", "--state", "s.json", "--name", "south").stderr
    (tmp_path / "b").mkdir()
    pq.write_table(SHOP.table, tmp_path / "b" / "a.parquet")
    twice = run("b/a.parquet", "--state", "s.json")
    assert twice.returncode == 4
    assert "holds the same rounds as" in twice.stderr
    assert run("b/a.parquet", "--state", "u.json", *ASKED, "--name", "south").returncode == 0
    assert "hold some of the same rounds" in run("--merge", "s.json", "--merge", "u.json").stderr
    pq.write_table(sl.datasets.shop(6_000, seed=2).table, tmp_path / "b" / "other.parquet")
    assert run("b/other.parquet", "--state", "t.json", *ASKED, "--name", "south").returncode == 0
    assert "says how" not in run("a.parquet", "--state", "s.json").stderr
    assert "leave the flags about it out" in run("a.parquet", "--state", "s.json", "--margin", "0.1").stderr
    assert run("--merge", "s.json", "t.json").returncode == 2  # the second is no --merge
    assert run("--merge", "s.json", "--merge", "t.json", "--state", "s.json").returncode == 2
    merged = run("--merge", "s.json", "--merge", "t.json", "--json")
    assert json.loads(merged.stdout)["rounds"] == 12_000
    assert run("--merge", "s.json", "--merge", "s.json").returncode == 2
    (tmp_path / "broken.json").write_text("{")
    assert run("a.parquet", "--state", "broken.json").returncode == 4
    state = json.loads((tmp_path / "s.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps({**state, "delta": 0.5}))
    assert "its checksum does not fit" in run("a.parquet", "--state", "other.json").stderr


def test_a_file_that_is_empty_or_broken_does_not_stop_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    lines = ["click,propensity,p_better", *(["1,0.5,0.6", "0,0.5,0.4"] * 50)]
    (folder / "a.csv").write_text("\n".join(lines))
    (folder / "b.csv").write_text(lines[0] + "\n")
    (folder / "c.csv").write_text("\n".join([*lines[:-1], "0,0.0,0.4"]))
    state = tmp_path / "s.json"
    done = subprocess.run(command(folder, "--state", state, *ASKED), capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "c.csv: " in done.stderr
    assert "It was not counted; the 2 new files before it were." in done.stderr
    assert sl.Monitor.load(state).rounds == 100
    (folder / "c.csv").write_text("\n".join([*lines, "1,0.5,0.6"]))
    done = subprocess.run(command(folder, "--state", state), capture_output=True, text=True, check=False)
    assert "1 new file, 2 counted before" in done.stderr
    assert sl.Monitor.load(state).rounds == 201


def test_a_stream_that_breaks_is_not_counted_twice(tmp_path: Path) -> None:
    lines = ["click,propensity,p_better", *(["1,0.5,0.6", "0,0.5,0.4"] * 40_000)]
    state = tmp_path / "s.json"
    broken = "\n".join([*lines[:70_000], "1,2,3"]).encode()
    asked = command("--stdin", "csv", "--state", state, *ASKED)
    done = subprocess.run(asked, input=broken, capture_output=True, check=False)
    assert done.returncode == 4
    assert b"65,536 rows are counted; mend the stream and go on with --skip" in done.stderr
    whole = "\n".join(lines).encode()
    assert subprocess.run(asked, input=whole, capture_output=True, check=False).returncode == 2
    done = subprocess.run([*asked, "--skip"], input=whole, capture_output=True, check=False)
    assert done.returncode == 0
    assert sl.Monitor.load(state).rounds == 80_000
    more = "\n".join([lines[0], "1,0.5,0.6"]).encode()
    assert subprocess.run([*asked, "--append"], input=more, capture_output=True, check=False).returncode == 0
    assert sl.Monitor.load(state).rounds == 80_001


def test_clusters_are_never_torn(tmp_path: Path) -> None:
    """Clusters of three across the borders of chunks, and one that goes on in the next batch."""
    rows = 3 * 30_000
    table = pa.table({
        "user": np.repeat(np.arange(rows // 3), 3), "click": np.tile([1.0, 0.0, 0.0], rows // 3),
        "propensity": np.full(rows, 0.5), "p_better": np.tile([0.6, 0.5, 0.4], rows // 3),
    })  # fmt: skip
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(table, sink)
    state = tmp_path / "s.json"
    flags = ["--cluster", "user", "--cluster-size", "3"]
    done = subprocess.run(
        command("--stdin", "csv", "--state", state, *ASKED, *flags), input=bytes(sink.getvalue()), capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sl.Monitor.load(state).rounds == 30_000
    assert b"30,000 clusters so far" in done.stderr
    watch = watching(cluster="user", cluster_max=3)
    watch.update(table.slice(0, 7))
    with pytest.raises(sl.LogsError, match="cluster '2' continues from the batch before"):
        watch.update(table.slice(7, 5))


def test_sampled_batches_are_of_one_kind() -> None:
    declared: dict[str, Any] = {"reward": "r", "propensity": "p", "keep_probability": "k"}
    clicks = {"r": [1.0] * 50, "p": [0.5] * 50, "n": [0.5] * 50, "k": [1.0] * 50}
    rest = {"r": [0.0] * 50, "p": [0.5] * 50, "n": [0.5] * 50, "k": [0.05] * 50}
    watch = sl.Monitor("n", question="evaluate", **declared)
    watch.update(clicks)
    with pytest.raises(sl.LogsError, match="rounds_before_sampling is not known"):
        watch.update(rest)
    assert watch.rounds == 50
    with pytest.raises(sl.UsageError, match="with every batch, or with none"):
        watch.update(clicks, rounds_before_sampling=50)
    with pytest.raises(sl.UsageError, match="give each batch its own"):
        sl.Monitor("n", **declared, rounds_before_sampling=100)
    known = sl.Monitor("n", question="evaluate", **declared)
    known.update(clicks, rounds_before_sampling=50)
    known.update(rest, rounds_before_sampling=1_000)
    answer = known.answer()
    assert isinstance(answer, sl.results.Evaluation)
    assert any("out of rounds_before_sampling" in text for text in answer["n"].assumptions)
    both = {name: clicks[name] + rest[name] for name in clicks}
    logs = sl.Logs(both, **declared, rounds_before_sampling=1_050)
    assert sl.verify(sl.Certificate.of(answer), logs).same


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    pq.write_table(SHOP.table, tmp_path / "a.parquet")
    with open(tmp_path / ".s.json.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = subprocess.run(
            command("a.parquet", "--state", "s.json", *ASKED), capture_output=True, text=True, cwd=tmp_path, check=False
        )
    assert done.returncode == 2
    assert "another process is at work" in done.stderr


def test_what_is_refused() -> None:
    with pytest.raises(sl.UsageError, match="answers 'compare' or 'evaluate'"):
        watching(question="select")
    with pytest.raises(sl.UsageError, match="monitor and one look do not go together"):
        watching(grid="planned")
    with pytest.raises(sl.UsageError, match="this bound holds at one look"):
        watching(method="logarithmic-smoothing")
    with pytest.raises(sl.UsageError, match="monitor and one look do not go together"):
        watching(method="blocks")
    with pytest.raises(sl.UsageError, match="monitor and one look do not go together"):
        watching(method="normal")
    with pytest.raises(sl.LogsError, match="no round has been counted yet"):
        watching().answer()
    with pytest.raises(sl.UsageError, match="no propensity"):
        sl.Monitor("p_better", reward="click")
    with pytest.raises(sl.UsageError, match="an array lies beside one batch only"):
        sl.Monitor({"new": sl.blend([0.5, 0.5], 0.1)}, **FLAGS)
    with pytest.raises(sl.UsageError, match="sequence must be a whole number"):
        watching().update(SHOP.table, sequence="a")  # type: ignore[arg-type]


def test_a_function_is_given_again(tmp_path: Path) -> None:
    def new(batch: Any) -> Any:
        return batch["p_better"].to_numpy()

    watch = sl.Monitor({"new": new}, **FLAGS)
    watch.update(SHOP.table)
    watch.save(tmp_path / "s.json")
    with pytest.raises(sl.UsageError, match="pass it in policies="):
        sl.Monitor.load(tmp_path / "s.json")
    assert sl.Monitor.load(tmp_path / "s.json", policies={"new": new}).answer() == watch.answer()


def test_a_file_that_grew_is_refused(tmp_path: Path) -> None:
    watch, path = watching(), tmp_path / "log.parquet"
    pq.write_table(SHOP.table.slice(0, 500), path)
    assert watch.update(path)
    with pytest.raises(sl.LogsError, match="was counted before"):
        watch.update(path)
    pq.write_table(SHOP.table.slice(0, 800), path)
    with pytest.raises(sl.LogsError, match="has changed since it was counted"):
        watch.update(path)
    assert watch.rounds == 500


@pytest.mark.parametrize("again", ["list", "glob", "frame", "folder", "numbered"])
def test_rounds_that_were_counted_are_not_counted_again(again: str, tmp_path: Path) -> None:
    watch = watching()
    for day in range(2):
        pq.write_table(SHOP.table.slice(500 * day, 500), tmp_path / f"day{day}.parquet")
    first, both = SHOP.table.slice(0, 500), [str(tmp_path / f"day{day}.parquet") for day in range(2)]
    batch: Any = {
        "list": both, "glob": str(tmp_path / "*.parquet"), "folder": str(tmp_path), "frame": first.to_pandas(),
        "numbered": first,
    }[again]  # fmt: skip
    assert watch.update(first, sequence=1)
    before = json.dumps(watch.state())
    with pytest.raises(sl.LogsError, match="counted"):
        watch.update(batch, sequence=2 if again == "numbered" else None)
    assert json.dumps(watch.state()) == before
    assert watch.update(SHOP.table.slice(500, 500))


def test_a_useless_candidate_is_not_certified_by_counting_its_luck_again() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        action = rng.integers(0, 2, 400)
        log = {"r": (rng.random(400) < 0.5) * 1.0, "p": np.full(400, 0.5), "n": np.where(action == 1, 0.9, 0.1)}
        watch = sl.Monitor("n", reward="r", propensity="p")
        watch.update({name: column[:100] for name, column in log.items()})
        for stop in (200, 300, 400):
            with pytest.raises(sl.LogsError, match="counted"):
                watch.update({name: column[:stop] for name, column in log.items()})
        assert watch.rounds == 100


def test_an_old_day_is_known_after_a_year(tmp_path: Path) -> None:
    watch, year = watching(), sl.datasets.shop(36_500, seed=3).table
    for day in range(365):
        watch.update(year.slice(100 * day, 100))
    watch.save(tmp_path / "state.json")
    assert (tmp_path / "state.json").stat().st_size < 150_000
    watch = sl.Monitor.load(tmp_path / "state.json")
    with pytest.raises(sl.LogsError, match="holds the same rounds as a batch before"):
        watch.update(year.slice(1_000, 100))
    with pytest.raises(sl.LogsError, match="some rounds of this batch were counted before"):
        watch.update(pa.concat_tables([year.slice(36_400), sl.datasets.shop(100, seed=4).table]))


@pytest.mark.parametrize("kind", ["timestamps", "numbers", "texts"])
def test_a_batch_begins_after_the_last_one_ended(kind: str, tmp_path: Path) -> None:
    times: dict[str, Any] = {
        "timestamps": np.datetime64("2026-03-01T00:00:00", "s") + np.arange(400), "numbers": np.arange(400),
        "texts": np.array([f"2026-03-01 {second:05}" for second in range(400)]),
    }  # fmt: skip
    log = SHOP.table.slice(0, 400).append_column("when", pa.array(times[kind]))
    watch = watching(time="when")
    watch.update(log.slice(0, 200))
    watch.save(tmp_path / "state.json")
    watch = sl.Monitor.load(tmp_path / "state.json")
    with pytest.raises(sl.LogsError, match=r"this batch begins at .*, but rounds up to .* were counted before"):
        watch.update(log.slice(198, 2))
    assert watch.update(log.slice(199, 1).append_column("other", pa.array([0])).slice(0, 0))
    assert watch.update(log.slice(200))


def test_no_id_comes_twice() -> None:
    log = SHOP.table.slice(0, 400).append_column("round", pa.array(np.arange(400) + 2**60))
    watch = watching(id="round")
    watch.update(log.slice(0, 200))
    with pytest.raises(sl.LogsError, match="id 'round': 1 of 201 come more than once"):
        watch.update(log.slice(199, 2))
    assert watch.update(log.slice(200))
    twice = pa.concat_tables([log.slice(0, 10), log.slice(9, 1)])
    with pytest.raises(sl.LogsError, match="id 'round': 1 of 10 come more than once"):
        sl.compare(sl.Logs(twice, **FLAGS, id="round"), "p_better")
    assert sl.compare(sl.Logs(log, **FLAGS, id="round"), "p_better").rounds == 400


@pytest.mark.parametrize(
    "written", ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S+0000", "%Y.%m.%d %H:%M:%S"]
)
def test_a_time_is_the_same_in_every_format(written: str) -> None:
    watch, log = watching(time="time"), SHOP.table.slice(0, 400).to_pandas()
    text = log.assign(time=log["time"].dt.strftime(written))
    watch.update(text)
    with pytest.raises(sl.LogsError, match="written in two ways" if "%Y." in written else "rounds up to"):
        watch.update(log)
    later = log.assign(time=log["time"] + np.timedelta64(900, "D"))
    if "%Y." not in written:
        assert watch.update(later)


@pytest.mark.parametrize("evidence_of_segments", [{}, {"id": "visit"}, {"time": "visit"}])
def test_users_who_return_every_day_are_told_apart_by_time_or_id(evidence_of_segments: dict[str, Any]) -> None:
    rng, watch = np.random.default_rng(0), sl.Monitor("n", reward="r", propensity="p", **evidence_of_segments)
    chance = rng.uniform(0.1, 0.9, 1_000)  # production knows a user, and so does the candidate
    for day in range(2):
        taken, visit = rng.random(1_000) < chance, 1_000 * day + np.arange(1_000)
        p, n = (np.where(taken, share, 1 - share) for share in (chance, chance / 2))
        batch = {"r": (rng.random(1_000) < 0.05) * 1.0, "p": p, "n": n, "visit": visit}
        if day and not evidence_of_segments:
            with pytest.raises(sl.LogsError, match="only look the same, declare time= or id="):
                watch.update(batch)
        else:
            assert watch.update(batch)


def test_a_cluster_does_not_come_again_as_another() -> None:
    users = SHOP.table.slice(0, 400).append_column("user", pa.array([f"u{number // 4}" for number in range(400)]))
    flags: dict[str, Any] = {**FLAGS, "cluster": "user", "cluster_max": 8}
    returned = SHOP.table.slice(500, 4).append_column("user", pa.array(["u0"] * 4))
    parts = [users.slice(0, 200), users.slice(200), pa.concat_tables([users.slice(300), users.slice(0, 4)])]
    watch = sl.Monitor("p_better", **flags)
    watch.update(parts[0])
    with pytest.raises(sl.LogsError, match="cluster 'user': 1 of 75 come in several parts of the log"):
        watch.update(pa.concat_tables([users.slice(300), returned]))
    assert watch.update(parts[1])
    question = sl.Question.of("compare", flags, "p_better")
    first, second, again = (sl.partial_sums([part], question) for part in parts)
    assert question.answer(first + second).rounds == 100
    with pytest.raises(sl.LogsError, match="come in several parts of the log"):
        question.answer(first + again)
    north, south = (sl.Monitor("p_better", **flags, name=name) for name in ("north", "south"))
    north.update(parts[0])
    south.update(SHOP.table.slice(1_000, 8).append_column("user", pa.array(["u1"] * 8)))
    with pytest.raises(sl.LogsError, match="come in several parts"):
        north + south


def test_shards_hold_no_round_of_each_other() -> None:
    north, south = (watching(name=name) for name in ("north", "south"))
    north.update(SHOP.table.slice(0, 1_000))
    south.update(SHOP.table.slice(500, 1_000))
    with pytest.raises(sl.LogsError, match="shards 'north' and 'south' hold some of the same rounds"):
        north + south


def test_a_copy_counts_for_itself() -> None:
    watch = watching()
    watch.update(SHOP.table.slice(0, 1_000))
    before, twin = watch.state(), copy.copy(watch)
    twin.update(SHOP.table.slice(1_000, 1_000))
    assert (watch.rounds, twin.rounds) == (1_000, 2_000)
    assert watch.state() == before


def test_a_state_goes_on_with_its_own_policies(tmp_path: Path) -> None:
    def halves(table: Any) -> Any:
        return np.full(table.num_rows, 0.5)

    watch = sl.Monitor({"better": "p_better", "half": halves}, **FLAGS)
    watch.update(SHOP.table.slice(0, 1_000))
    watch.save(tmp_path / "state.json")
    assert sl.Monitor.load(tmp_path / "state.json", policies={"half": halves}).rounds == 1_000
    for other in ({"better": "p_worse", "half": halves}, {"half": "p_worse"}):
        with pytest.raises(sl.UsageError, match=r"policy .(better|half). is another one than .*state\.json counted"):
            sl.Monitor.load(tmp_path / "state.json", policies=other)
    with pytest.raises(sl.UsageError, match="no policy is called 'wrong' here; they are 'better', 'half', 'production'"):
        sl.Monitor.load(tmp_path / "state.json", policies={"half": halves, "wrong": "p_worse"})


def test_a_damaged_memory_is_told(tmp_path: Path) -> None:
    watch = watching()
    watch.update(SHOP.table.slice(0, 1_000))
    watch.save(tmp_path / "state.json")
    content = json.loads((tmp_path / "state.json").read_text())
    content["ledgers"][""]["stretches"][0][1][0][2] = "AAAA"
    (tmp_path / "state.json").write_text(json.dumps(sealed(content)))
    with pytest.raises(sl.LogsError, match="is damaged and cannot be read as the state of a monitor"):
        sl.Monitor.load(tmp_path / "state.json")


def test_texts_that_do_not_begin_with_the_year_have_no_order() -> None:
    log = SHOP.table.slice(0, 40).append_column("when", pa.array([f"{day % 28 + 1:02}/01/2026" for day in range(40)]))
    with pytest.raises(sl.UsageError, match="time 'when' holds text such as '01/01/2026', first in row 0"):
        watching(time="when").update(log)
