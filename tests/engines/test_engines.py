"""Every engine against the plain one, on good and on bad rows: the same sums, the same answers, the same refusals."""

import os
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.statistics import adding
from surelift.statistics.fused import Fused
from tests.conftest import missing
from tests.engines.databases import java, postgres_binaries, postgres_server, spark_session

# In one process: Spark and PostgreSQL take a while to start, and are started once.
ENGINES = {"stream": 1e-12, "spark": 1e-12, "duckdb": 1e-9, "postgres": 1e-9}
"""How far, relatively, bounds may be from those of the plain path."""
FLAGS: dict[str, Any] = {"reward": "r", "propensity": "q"}
ROUNDS = 60_000


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if java() is None:
        missing("java", "there is none to run Spark")
    with spark_session() as session:
        yield session


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    if postgres_binaries() is None:
        missing("postgres", "initdb is not installed")
    import ibis

    with postgres_server() as server:
        yield ibis.postgres.connect(**server)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Callable[[pa.Table], Any], float]:
    """From a table to a source of the engine, and how closely it agrees."""
    name, numbers = str(request.param), count()

    def place(table: pa.Table) -> Any:
        number = next(numbers)
        if name == "stream":
            return table
        if name == "spark":
            path = tmp_path / f"{number}.parquet"
            pq.write_table(table, path)
            return request.getfixturevalue("spark").read.parquet(str(path)).repartition(5)
        import ibis

        connection = ibis.duckdb.connect() if name == "duckdb" else request.getfixturevalue("postgres")
        return connection.create_table(f"logs{number}", table, overwrite=True)

    return place, ENGINES[name]


def table(seed: int = 0, rounds: int = ROUNDS) -> pa.Table:
    rng = np.random.default_rng(seed)
    q = rng.uniform(0.05, 1.0, rounds)
    a, b = (np.minimum(1.0, q * rng.uniform(0.1, 1.9, rounds)) for _ in range(2))
    return pa.table({"r": np.where(rng.random(rounds) < 0.1, rng.uniform(0.5, 1, rounds), 0.0), "q": q, "a": a, "b": b})


def plainly(ask: Callable[[sl.Logs], Any], logs: sl.Logs) -> Any:
    """In NumPy alone."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Fused, "of", lambda *_: None)
        patched.setattr(adding, "WORTH_COMPILING", 10**12)
        return ask(logs)


def close(value: float | None, agreement: float) -> Any:
    return None if value is None else pytest.approx(value, rel=agreement, abs=agreement)


def test_the_same_answers(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    place, agreement = engine
    rounds = table()
    source = place(rounds)
    questions: list[Callable[[sl.Logs], Any]] = [
        lambda logs: sl.compare(logs, "a"),
        lambda logs: sl.compare(logs, {"some": sl.blend("b", 0.1)}, delta=0.01),
        lambda logs: sl.evaluate(logs, ["a", "b"])["b"],
        lambda logs: sl.evaluate(logs, "a", method="logarithmic-smoothing", smoothing=0.2)["a"],
        lambda logs: sl.compare(logs, "a", over="b"),
        lambda logs: sl.select(logs, ["a", "b"]).improvements["b"],
    ]
    for ask in questions:
        expected, found = plainly(ask, sl.Logs(rounds, **FLAGS)), ask(sl.Logs(source, **FLAGS))
        assert found.rounds == expected.rounds
        assert found.lower == close(expected.lower, agreement)
        assert found.upper == close(expected.upper, agreement)
        assert found.estimate == pytest.approx(expected.estimate, rel=1e-9)
        assert found.mean_weight == pytest.approx(expected.mean_weight, rel=1e-9)
    costs: dict[str, Any] = {"cost": "r", "propensity": "q", "reward_range": (0, 2)}
    ask = questions[0]
    assert ask(sl.Logs(source, **costs)).lower == close(plainly(ask, sl.Logs(rounds, **costs)).lower, agreement)


def test_certificates_travel_between_engines(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    place, _ = engine
    rounds = table(1)
    logs = sl.Logs(place(rounds), **FLAGS)
    answer = sl.compare(logs, "a")
    certificate = sl.Certificate.of(answer)
    assert sl.verify(certificate, sl.Logs(rounds, **FLAGS)).same
    assert sl.verify(sl.Certificate.of(sl.compare(sl.Logs(rounds, **FLAGS), "a")), logs).same
    # SQL sees no bits, and says so.
    sql = type(logs.source).__name__ == "SqlTable"
    assert certificate.content["fingerprint"].endswith(":none") == sql


@pytest.mark.parametrize(
    "column, value, says",
    [
        ("q", 0.0, "propensity 'q': 3 of 60,000 values lie outside (0, 1]"),
        ("q", 1.5, "propensity 'q': 3 of 60,000 values lie outside (0, 1]"),
        ("a", -0.2, "policy 'a': 3 of 60,000 values lie outside [0, 1]"),
        ("r", 7.0, "reward 'r', declared in [0, 1]: 3 of 60,000 values lie outside the declared reward range"),
        ("r", None, "reward 'r': 3 of 60,000 values are missing (null)"),
        ("q", float("nan"), "propensity 'q': 3 of 60,000 values are NaN"),
        ("a", float("inf"), "policy 'a': 3 of 60,000 values are infinite"),
    ],
)
def test_the_same_refusals(
    engine: tuple[Callable[[pa.Table], Any], float], column: str, value: float | None, says: str
) -> None:
    place, _ = engine
    rounds = table(2)
    values = rounds[column].to_pylist()
    for row in (5, 30_000, 59_999):
        values[row] = value
    bad = rounds.set_column(rounds.column_names.index(column), column, pa.array(values, pa.float64()))
    with pytest.raises(sl.LogsError) as refused:
        sl.compare(sl.Logs(place(bad), **FLAGS), "a")
    assert says in str(refused.value)
    # And no fault that is not there.
    with pytest.raises(sl.LogsError) as expected:
        sl.compare(sl.Logs(bad, **FLAGS), "a")
    assert str(refused.value).count("of 60,000") == str(expected.value).count("of 60,000")


def test_logs_that_are_hard_on_a_database(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    """One propensity for all rounds, truth values for rewards, a probability whose square is no number any more."""
    place, agreement = engine
    rng = np.random.default_rng(5)
    p = np.where(rng.random(ROUNDS) < 0.5, 0.4, 0.6)
    p[7] = 1e-170
    rounds = pa.table({"r": rng.random(ROUNDS) < 0.3, "q": np.full(ROUNDS, 0.5), "p": p})
    expected = sl.compare(sl.Logs(rounds, **FLAGS), "p")
    found = sl.compare(sl.Logs(place(rounds), **FLAGS), "p")
    assert found.lower == close(expected.lower, agreement)
    assert found.upper == close(expected.upper, agreement)


def test_what_an_engine_cannot_add_up_is_read_from_it(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    """Functions, vectors, checks and segments: sums where possible, batches otherwise, and always the same answer."""
    place, agreement = engine
    rng, rounds = np.random.default_rng(3), 3_000
    logging, new = rng.dirichlet(np.ones(3), rounds), rng.dirichlet(np.ones(3), rounds)
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    names = {f"l{k}": logging[:, k] for k in range(3)} | {f"n{k}": new[:, k] for k in range(3)}
    rows = pa.table({
        "r": (rng.random(rounds) < 0.3).astype(float), "q": logging[np.arange(rounds), action], "action": action,
        "s": np.array(["x", "y"])[rng.integers(0, 2, rounds)], **names,
    })  # fmt: skip
    declared = {**FLAGS, "action": "action", "logging": ["l0", "l1", "l2"]}
    candidate = {"new": ["n0", "n1", "n2"]}
    here, there = sl.Logs(rows, **declared), sl.Logs(place(rows), **declared)
    first, second = sl.compare(here, candidate), sl.compare(there, candidate)
    assert second.control == "weights"
    assert second.lower == close(first.lower, agreement)
    assert sl.check(there, candidate).ok == sl.check(here, candidate).ok
    by = sl.evaluate(there, candidate, by="s")
    assert by["x"]["new"].lower == close(sl.evaluate(here, candidate, by="s")["x"]["new"].lower, agreement)


def test_a_table_that_is_empty(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    place, _ = engine
    with pytest.raises(sl.LogsError, match="empty"):
        sl.compare(sl.Logs(place(table().slice(0, 0)), **FLAGS), "a")


def test_a_spark_task_that_is_killed_is_counted_once(spark: Any, tmp_path: Path) -> None:
    """A worker kills itself in the midst of its partition; Spark tries again, and the sums are right."""
    rounds = table(4)
    pq.write_table(rounds, tmp_path / "log.parquet")
    frame = spark.read.parquet(str(tmp_path / "log.parquet")).repartition(4)
    marker = str(tmp_path / "killed")

    def doomed(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        for batch in batches:
            yield batch
            context = TaskContext.get()
            assert context is not None
            if context.partitionId() == 2 and not os.path.exists(marker):
                Path(marker).touch()
                os.kill(os.getpid(), signal.SIGKILL)

    killed = sl.Logs(frame.mapInArrow(doomed, frame.schema), **FLAGS)
    answer = sl.compare(killed, "a")
    assert Path(marker).exists()
    assert answer.rounds == ROUNDS
    assert answer.lower == pytest.approx(sl.compare(sl.Logs(rounds, **FLAGS), "a").lower, rel=1e-12)


def test_what_spark_refuses(spark: Any) -> None:
    logs = sl.Logs(spark.createDataFrame([(0.0, 0.5, 0.5)], ["r", "q", "a"]), **FLAGS)
    with pytest.raises(sl.UsageError, match="an array cannot be aligned with a query"):
        sl.compare(logs, {"new": [0.5]})
    with pytest.raises(sl.UsageError, match="and so not a bootstrap"):
        sl.compare(logs, "a", method="bootstrap")


def test_the_sql_of_the_large_warehouses() -> None:
    """It cannot be run here; it is compiled, and holds one aggregate with the logarithms and the counts of bad rows."""
    import ibis

    from surelift.engines.sql import Query
    from surelift.policies.resolve import name_policies

    rows = ibis.table({"r": "float64", "q": "float64", "a": "float64"}, name="logs")
    logs = sl.Logs(rows, **FLAGS)
    named = name_policies("a")
    from surelift.decisions.comparison import comparison_of
    from surelift.decisions.method import choose_method

    asked = comparison_of(
        logs, named, over="production", margin=0.0, method=choose_method("mixture", control="none", grid="anytime"),
        question="compare", options={},
    )  # fmt: skip
    plan = asked.plan(lambda: 1)
    fused = Fused.of(logs, plan)
    assert fused is not None
    expression = Query(logs, plan, fused.simple).expression()
    for dialect in ("bigquery", "snowflake", "databricks", "trino", "postgres", "duckdb"):
        text = ibis.to_sql(expression, dialect=dialect)
        assert text.upper().count("GROUP BY") == 1
        assert text.upper().count(" LN(") + text.upper().count("(LN(") + text.upper().count("LOG(") >= 2 * 27
        assert "IS NULL" in text.upper()


def test_partial_sums_with_dask(tmp_path: Path) -> None:
    from dask.delayed import delayed

    rounds = table(5)
    paths = []
    for part in range(4):
        paths.append(tmp_path / f"{part}.parquet")
        pq.write_table(rounds.slice(part * 15_000, 15_000), paths[-1])
    question = sl.Question({"a": "a", "b": "b"}, **FLAGS)
    parts = [delayed(sl.partial_sums)([str(path)], question) for path in paths]
    total = delayed(sum_up)(parts).compute(scheduler="processes", num_workers=2)
    answer = question.answer(total)
    whole = sl.select(sl.Logs(rounds, **FLAGS), {"a": "a", "b": "b"})
    assert isinstance(answer, sl.results.Selection)
    assert answer.improvements["a"].lower == pytest.approx(whole.improvements["a"].lower, rel=1e-12)
    assert answer.chosen == whole.chosen
    assert sl.verify(sl.Certificate.of(answer), sl.Logs(rounds, **FLAGS)).same


def test_parts_kept_with_different_chances_do_not_add_up() -> None:
    """Each part is kept alike within itself; together they are not, and nothing says how many rounds there were."""
    question = sl.Question("n", question="evaluate", keep_probability="k", **FLAGS)
    clicks = {"r": [1.0] * 50, "q": [0.5] * 50, "n": [0.5] * 50, "k": [1.0] * 50}
    rest = {**clicks, "r": [0.0] * 50, "k": [0.05] * 50}
    with pytest.raises(sl.LogsError, match="rounds_before_sampling is not known"):
        question.answer(sl.partial_sums([clicks], question) + sl.partial_sums([rest], question))


def sum_up(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@pytest.mark.parametrize("kind", ["truncated", "another layout", "empty"])
def test_one_bad_file_among_good_ones(kind: str, tmp_path: Path) -> None:
    rounds = table(6, 3_000)
    for part in range(3):
        pq.write_table(rounds.slice(part * 1_000, 1_000), tmp_path / f"part{part}.parquet")
    bad = tmp_path / "part1.parquet"
    if kind == "truncated":
        bad.write_bytes(bad.read_bytes()[:2_000])
    if kind == "another layout":
        pq.write_table(rounds.select(["r", "q"]), bad)
    if kind == "empty":
        bad.write_bytes(b"")
    with pytest.raises(sl.SureliftError, match=r"part1\.parquet"):
        sl.compare(sl.Logs(str(tmp_path / "*.parquet"), **FLAGS), "a")
