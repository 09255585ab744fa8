"""Several loggers and delayed rewards where the rows are elsewhere: in Spark, the same; in a database, refused."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import surelift as sl

LOGGERS: dict[str, Any] = {"reward": "r", "logger": "who", "loggers": {"a": "p_a", "b": "p_b"}}
SETTLED: dict[str, Any] = {"reward": "r", "propensity": "p_a", "time": "t", "settled_after": "1d"}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(8)
    return pa.table(
        {
            "who": np.repeat(["a", "b"], [300, 700]), "x": rng.normal(size=1000), "r": rng.integers(0, 2, 1000) / 1.0,
            "p_a": rng.choice([0.45, 0.55], 1000), "p_b": rng.choice([0.48, 0.52], 1000),
            "new": rng.choice([0.4, 0.6], 1000),
            "t": pa.array([datetime(2026, 3, 1) + timedelta(minutes=5 * k) for k in range(1000)], pa.timestamp("us", "UTC")),
        }
    )  # fmt: skip


def test_spark_gives_the_answer_of_memory(spark: Any, table: pa.Table) -> None:
    declared = {**LOGGERS, "contexts": ["x"], "time": "t", "settled_after": "1d"}
    frame = spark.createDataFrame(table.to_pandas()).repartition(3)
    here, there = (sl.compare(sl.Logs(source, **declared), "new") for source in (table, frame))
    assert there.lower == pytest.approx(here.lower, rel=1e-9)
    assert there.to_dict()["aloud"] == here.to_dict()["aloud"]
    assert there.provenance.question["declaration"] == here.provenance.question["declaration"]
    assert str(there.provenance.fingerprint) == str(here.provenance.fingerprint)


@pytest.mark.parametrize(
    "declared, says",
    [
        (LOGGERS, r"database and loggers \(loggers=\) do not go together"),
        (SETTLED, "give as_of="),
        ({**SETTLED, "as_of": "2026-03-04"}, "settled"),
    ],
)
def test_a_database_refuses_with_a_way_out(table: pa.Table, declared: dict[str, Any], says: str) -> None:
    import ibis

    source = ibis.duckdb.connect().create_table("log", table)
    with pytest.raises(sl.UsageError, match=says) as refused:
        sl.compare(sl.Logs(source, **declared), "new")
    assert "logs.here()" in str(refused.value)
