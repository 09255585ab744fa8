"""Every engine against the plain one, on good and on bad rows: the same sums, the same answers, the same refusals."""

import os
import signal
from collections.abc import Callable, Iterator
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.engines.sql_query import AggregateQuery
from surelift.questions.question import Question
from tests.numpy_loops import in_numpy

ENGINES = {"local": 1e-12, "spark": 1e-12, "duckdb": 1e-9, "postgres": 1e-9}
"""How far, relatively, bounds may be from those of the plain path."""
FLAGS: dict[str, Any] = {"reward": "r", "propensity": "q"}
ROUNDS = 60_000


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Callable[[pa.Table], Any], float]:
    """From a table to a source of the engine, and how closely it agrees."""
    name, numbers = str(request.param), count()

    def place(table: pa.Table) -> Any:
        number = next(numbers)
        if name == "local":
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
    with in_numpy():
        return ask(logs)


def close(value: float | None, agreement: float) -> Any:
    return None if value is None else pytest.approx(value, rel=agreement, abs=agreement)


def test_the_same_answers(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    place, agreement = engine
    rounds = table()
    source = place(rounds)
    questions: list[Callable[[sl.Logs], Any]] = [
        lambda logs: sl.compare(logs, {"some": sl.blend("b", 0.1)}, delta=0.01),
        lambda logs: sl.evaluate(logs, ["a", "b"])["b"],
        lambda logs: sl.evaluate(logs, "a", method="logarithmic-smoothing", smoothing=0.2)["a"],
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
    # And no fault that is not there: as NaN, an infinity or a null it is told once.
    with pytest.raises(sl.LogsError) as expected:
        sl.compare(sl.Logs(bad, **FLAGS), "a")
    assert str(refused.value).count("of 60,000") == str(expected.value).count("of 60,000")
    assert refused.value.exit_code == 4


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


def test_weights_that_overflow_are_told_not_computed(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    """PostgreSQL ends a query that divides 0.5 by the smallest number there is: the query must not get there."""
    place, _ = engine
    rounds = table(7, 2_000)
    q = rounds["q"].to_pylist()
    q[11] = 5e-324
    bad = rounds.set_column(1, "q", pa.array(q))
    with pytest.raises(sl.LogsError, match="policy 'a': 1 of 2,000 values"):
        sl.compare(sl.Logs(place(bad), **FLAGS), "a")


def test_float32_may_be_off_by_its_own_rounding(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    """A probability of 1.000005 is rounding in float32, and a fault in float64."""
    place, agreement = engine
    rounds = table(8, 2_000)
    a = rounds["a"].to_pylist()
    a[3] = 1.000005
    for kind, fit in ((pa.float32(), True), (pa.float64(), False)):
        rows = rounds.set_column(2, "a", pa.array(a, kind))
        if fit:
            expected = plainly(lambda logs: sl.compare(logs, "a"), sl.Logs(rows, **FLAGS))
            assert sl.compare(sl.Logs(place(rows), **FLAGS), "a").lower == close(expected.lower, agreement)
        else:
            with pytest.raises(sl.LogsError, match="policy 'a': 1 of 2,000 values lie outside"):
                sl.compare(sl.Logs(place(rows), **FLAGS), "a")


SEGMENTS: dict[str, tuple[list[Any], pa.DataType]] = {
    "text": (["x", "y"], pa.string()), "numbers": ([1.0, 2.5], pa.float64()), "whole": ([1, 20], pa.int64()),
    "truth": ([True, False], pa.bool_()), "days": ([date(2024, 3, 1), date(2024, 3, 2)], pa.date32()),
}  # fmt: skip


@pytest.mark.parametrize("kind", SEGMENTS)
def test_segments_have_one_name_everywhere(engine: tuple[Callable[[pa.Table], Any], float], kind: str) -> None:
    """Also those that were declared, and each with a plan of its own."""
    place, agreement = engine
    values, typed = SEGMENTS[kind]
    rounds = table(9, 2_000)
    codes = np.random.default_rng(9).integers(0, 2, 2_000)
    rounds = rounds.append_column("s", pa.array([values[code] for code in codes], typed))
    source, names = place(rounds), [str(value) for value in values]
    for options in ({"segments": names}, {"grid": "planned"})[: 2 if kind == "text" else 1]:
        expected = sl.compare(sl.Logs(rounds, **FLAGS), "a", by="s", **options)
        found = sl.compare(sl.Logs(source, **FLAGS), "a", by="s", **options)
        assert list(found) == list(expected) == sorted(names)
        for name in names:
            assert found[name].lower == close(expected[name].lower, agreement)
    with pytest.raises(sl.LogsError, match=f"{int(codes.sum()):,} of 2,000 values belong to a segment that was not"):
        sl.compare(sl.Logs(source, **FLAGS), "a", by="s", segments=names[:1])


@pytest.mark.parametrize("absent", [None, "", float("nan")])
def test_rounds_without_a_segment_are_one_of_their_own(
    engine: tuple[Callable[[pa.Table], Any], float], absent: str | float | None
) -> None:
    """Never left out in silence: what they earned would be missing from every segment."""
    place, agreement = engine
    rounds = table(10, 2_000)
    number = isinstance(absent, float)
    values: list[Any] = [1.0, 2.0] * 1_000 if number else ["x", "y"] * 1_000
    values[7], values[1_999] = absent, absent
    bad = rounds.append_column("s", pa.array(values, pa.float64() if number else pa.string()))
    logs = sl.Logs(place(bad), **FLAGS)
    found = sl.compare(logs, "a", by="s")
    assert {name: one.rounds for name, one in found.items()} == {
        "1.0" if number else "x": 1_000, "2.0" if number else "y": 998, "(missing)": 2,
    }  # fmt: skip
    alone = rounds.take([7, 1_999]).append_column("t", pa.array(["z", "z"]))
    expected = sl.compare(sl.Logs(alone, **FLAGS), "a", delta=0.05 / 3)
    assert found["(missing)"].lower == close(expected.lower, agreement)
    with pytest.raises(sl.LogsError, match=r"2 of 2,000 values belong to a segment.*'\(missing\)'"):
        sl.compare(logs, "a", by="s", segments=[name for name in found if name != "(missing)"])
    assert sl.compare(logs, "a", by="s", segments=list(found))["(missing)"].rounds == 2


def test_a_segment_called_missing_is_refused(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    """It could not be told from the rounds without a segment, which may come in another batch or partition."""
    place, _ = engine
    named = table(10, 2_000).append_column("s", pa.array(["x"] * 1_999 + ["(missing)"]))
    with pytest.raises(sl.LogsError, match=r"by 's': 1 of 2,000 values are the text '\(missing\)'"):
        sl.compare(sl.Logs(place(named), **FLAGS), "a", by="s")


def test_a_table_that_is_written_to_while_it_is_read() -> None:
    """Two keys are two queries: they must be of the same rows."""
    import ibis

    from surelift.engines import sql

    connection = ibis.duckdb.connect()
    rows = connection.create_table("growing", table(11, 2_000).append_column("s", pa.array(["x", "y"] * 1_000)))
    run, more = sql._run, table(12, 10).append_column("s", pa.array(["x"] * 10))

    def then_grows(query: AggregateQuery) -> Any:
        found = run(query)
        connection.insert("growing", more)
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sql, "_run", then_grows)
        with pytest.raises(sl.LogsError, match="had 2,000 rows and then 2,010"):
            sl.compare(sl.Logs(rows, **FLAGS), "a", by="s")


def test_a_database_that_fails_says_why(postgres: Any) -> None:
    """It is told, with its cause; the rows are not fetched instead."""
    rows = postgres.create_table("gone", table(13, 100), overwrite=True)
    logs = sl.Logs(rows, **FLAGS)
    postgres.drop_table("gone")
    with pytest.raises(sl.LogsError, match=r"(?s)could not add up these logs: .*gone.*logs.here"):
        sl.compare(logs, "a")


def identified(ids: Any, seed: int = 3) -> pa.Table:
    return table(seed, len(ids)).append_column("id", ids)


def test_ids_that_come_again_and_missing_ones_are_refused(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    place, _ = engine
    again = identified(pa.array([*range(2_998), 7, 7]))
    missing = identified(pa.array([None if row % 1_000 == 5 else f"visit {row}" for row in range(3_000)]))
    for method in ("blocks", "mixture"):
        with pytest.raises(sl.LogsError, match=r"id 'id': 1 of 2,998 come more than once"):
            sl.compare(sl.Logs(place(again), **FLAGS, id="id"), "a", method=method)
        with pytest.raises(sl.LogsError, match=r"id 'id': 3 of 3,000 values are missing"):
            sl.compare(sl.Logs(place(missing), **FLAGS, id="id"), "a", method=method)


def test_rounds_without_ids_are_dealt_where_rows_have_numbers(engine: tuple[Callable[[pa.Table], Any], float]) -> None:
    """The blocks of Spark are others than those here, and the bound is as wide."""
    place, _ = engine
    rounds = table(4, 6_000)
    logs = sl.Logs(place(rounds), **FLAGS)
    if type(logs.source).__name__ == "SqlTable":
        with pytest.raises(sl.UsageError, match="blocks need id= there"):
            sl.compare(logs, "a", method="blocks")
        assert "method='blocks'" not in str(sl.compare(logs, "a"))
        return
    found, expected = (sl.compare(each, "a", method="blocks") for each in (logs, sl.Logs(rounds, **FLAGS)))
    assert found.upper - found.lower == pytest.approx(expected.upper - expected.lower, rel=0.1)
    assert found.estimate == pytest.approx(expected.estimate, rel=0.1)


def test_a_database_deals_by_whole_numbers_and_texts_alone() -> None:
    import ibis

    rounds = ibis.duckdb.connect().create_table("logs", identified(pa.array(np.arange(1_000) / 2)))
    with pytest.raises(sl.UsageError, match="id 'id' holds float64; a database deals by whole numbers or texts"):
        sl.compare(sl.Logs(rounds, **FLAGS, id="id"), "a", method="blocks")


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


def test_a_column_that_spark_has_twice_matters_only_where_it_is_used(spark: Any) -> None:
    frame = spark.createDataFrame([(1.0, 0.5, 0.5, 1.0, 2.0)], ["r", "q", "a", "z", "z"])
    assert sl.evaluate(sl.Logs(frame, **FLAGS), "a")["a"].estimate == 1.0
    with pytest.raises(sl.UsageError, match="several columns 'z'"):
        sl.evaluate(sl.Logs(frame, **FLAGS), "z")


def test_what_spark_refuses(spark: Any) -> None:
    logs = sl.Logs(spark.createDataFrame([(0.0, 0.5, 0.5)], ["r", "q", "a"]), **FLAGS)
    with pytest.raises(sl.UsageError, match="an array cannot be aligned with a query"):
        sl.compare(logs, {"new": [0.5]})


def test_the_sql_of_the_large_warehouses() -> None:
    """It cannot be run here; it is compiled, and holds one aggregate with the logarithms and the counts of bad rows."""
    import ibis

    rows = ibis.table({"r": "float64", "q": "float64", "a": "float64"}, name="logs")
    logs = sl.Logs(rows, **FLAGS)
    plan = Question.of("compare", FLAGS, "a").plan()
    requests = [request for request in plan.requests if not request.statistic.optional]
    # On a connection to no server: what PostgreSQL alone needs is left out.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(rows), "get_backend", lambda _: ibis.duckdb.connect())
        expression = AggregateQuery(logs, plan, requests, ()).expression()
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
    question = Question.of("select", FLAGS, ["a", "b"])
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
    question = Question.of("evaluate", {**FLAGS, "keep_probability": "k"}, "n")
    clicks = {"r": [1.0] * 50, "q": [0.5] * 50, "n": [0.5] * 50, "k": [1.0] * 50}
    rest = {**clicks, "r": [0.0] * 50, "k": [0.05] * 50}
    with pytest.raises(sl.LogsError, match="rounds_before_sampling is not known"):
        question.answer(sl.partial_sums([clicks], question) + sl.partial_sums([rest], question))


def test_parts_have_no_order() -> None:
    """A history of parts would show the first rounds of each, as if they were the first of the log."""
    parts = [table(5).slice(0, 100), table(5).slice(100, 100)]
    ordered = Question.of("report", sl.Logs(parts[0], **FLAGS), "a")
    with pytest.raises(sl.UsageError, match=r"parts and the order of the rounds do not go together.*ask\(logs\) answers"):
        sl.partial_sums(parts, ordered)
    unordered = Question.of("report", sl.Logs(parts[0], **FLAGS), "a", ordered=False)
    assert unordered.answer(sl.partial_sums(parts, unordered)).health.ok


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
