"""where= in every source and engine: the fingerprint and the bounds of the table that was filtered before."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.arrays import pc
from surelift.logs.sources.pushdown import filtered
from surelift.logs.where import parsed
from tests.engines.cases import KINDS

ROUNDS = 4_000
PLAIN: dict[str, Any] = {"reward": "r", "propensity": "q"}


def table(seed: int = 0, rounds: int = ROUNDS) -> pa.Table:
    rng = np.random.default_rng(seed)
    q = rng.uniform(0.05, 1.0, rounds)
    a = np.minimum(1.0, q * rng.uniform(0.1, 1.9, rounds))
    start = datetime(2026, 1, 1)
    times = [start + timedelta(minutes=20 * row) for row in range(rounds)]
    x = pa.array(rng.choice([0.1, 0.5, -2.0], rounds), mask=rng.random(rounds) < 0.1)
    return pa.table(
        {
            "r": (rng.random(rounds) < 0.3).astype(float), "q": q, "a": a,
            "c": pa.array(np.array(["FR", "DE", "it's", None], dtype=object)[rng.integers(0, 4, rounds)]),
            "n": rng.integers(0, 100, rounds), "x": x, "flag": rng.random(rounds) < 0.5,
            "day": pa.array([time.date() for time in times]), "t": pa.array(times, pa.timestamp("us")),
            "z": pa.array(times, pa.timestamp("us", "Europe/Amsterdam")), "odd name": rng.integers(0, 3, rounds),
        }
    )  # fmt: skip


def _both(*masks: Any) -> Any:
    kept = masks[0]
    for mask in masks[1:]:
        kept = pc.and_kleene(kept, mask)
    return kept


# What is asked, and the same in Arrow's own functions, of which nulls are dropped.
CONDITIONS: dict[str, Callable[[pa.Table], Any]] = {
    "c = 'FR' and day >= 2026-01-15": lambda t: _both(pc.equal(t["c"], "FR"), pc.greater_equal(t["day"], date(2026, 1, 15))),
    "not (c in ('FR', 'it''s') or n < 10)": lambda t: pc.invert(
        pc.or_kleene(
            pc.or_kleene(pc.equal(t["c"], "FR"), pc.equal(t["c"], "it's")), pc.less(t["n"], 10)
        )
    ),
    "x > 0.1 or flag = true": lambda t: pc.or_kleene(pc.greater(t["x"], 0.1), t["flag"]),
    "not x <= -2": lambda t: pc.greater(t["x"], -2.0),
    "z >= 2026-01-05T01:00+01:00 and z < 2026-02-02": lambda t: _both(
        pc.greater_equal(t["z"], datetime(2026, 1, 5, tzinfo=UTC)), pc.less(t["z"], datetime(2026, 2, 2, tzinfo=UTC))
    ),
    "x is null and c is not null": lambda t: _both(pc.is_null(t["x"]), pc.is_valid(t["c"])),
    't between 2026-01-03 and 2026-02-01 12:30 and "odd name" != 1.5': lambda t: _both(
        pc.greater_equal(t["t"], datetime(2026, 1, 3)), pc.less_equal(t["t"], datetime(2026, 2, 1, 12, 30))
    ),
}  # fmt: skip

SEVERAL: dict[str, Callable[[pa.Table], Any]] = {
    " and ".join(f"({where})" for where in list(CONDITIONS)[1:4]) + " and t >= 2026-01-03 and z < 2026-02-20": (
        lambda t: _both(
            *(mask(t) for mask in list(CONDITIONS.values())[1:4]), pc.greater_equal(t["t"], datetime(2026, 1, 3)),
            pc.less(t["z"], datetime(2026, 2, 20, tzinfo=UTC)),
        )
    )
}  # fmt: skip


def _written(table: pa.Table, folder: Path, kind: str) -> str:
    path = str(folder / f"log.{kind}")
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=300)
    elif kind == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


def _duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.connect().from_arrow(table)


def _polars(table: pa.Table) -> Any:
    import polars

    return polars.from_arrow(table)


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, _: table,
    "arrays": lambda table, _: {name: table[name].to_pylist() for name in table.column_names},
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: _polars(table),
    "polars query": lambda table, _: _polars(table).lazy(),
    "duckdb": lambda table, _: _duckdb(table),
    "parquet": lambda table, folder: _written(table, folder, "parquet"),
    "csv": lambda table, folder: _written(table, folder, "csv"),
    "ipc": lambda table, folder: _written(table, folder, "arrow"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_what_the_filtered_table_gives(source: str, tmp_path: Path) -> None:
    rounds = table()
    place = SOURCES[source](rounds, tmp_path)
    for where, mask in CONDITIONS.items():
        alone = rounds.filter(mask(rounds))
        assert 50 < alone.num_rows < ROUNDS
        for declared in (PLAIN, {**PLAIN, "time": "t"}):  # in compiled loops, and without
            expected = sl.compare(sl.Logs(alone, **declared), "a")
            found = sl.compare(sl.Logs(place, where=where, **declared), "a")
            assert found.provenance.fingerprint == expected.provenance.fingerprint, where
            assert found.rounds == expected.rounds
            assert [found.lower, found.upper] == pytest.approx([expected.lower, expected.upper], rel=1e-12)
            assert f"{ROUNDS - alone.num_rows:,} of 4,000 rounds do not meet" in found.notes[0]


@pytest.mark.parametrize("engine", ["spark", "duckdb", "postgres"])
def test_every_engine_gives_what_the_filtered_table_gives(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    rounds = table()
    if engine == "spark":
        path = tmp_path / "log.parquet"
        pq.write_table(rounds, path)
        session = request.getfixturevalue("spark")
        # A moment without a zone is none of the session's, nor of this machine's.
        session.conf.set("spark.sql.session.timeZone", "America/New_York")
        request.addfinalizer(lambda: session.conf.unset("spark.sql.session.timeZone"))
        place = session.read.parquet(str(path)).repartition(3)
    else:
        import ibis

        connection = ibis.duckdb.connect() if engine == "duckdb" else request.getfixturevalue("postgres")
        place = connection.create_table("chosen", rounds, overwrite=True)
    # Spark takes a while: one condition with a part of every kind.
    for where, mask in SEVERAL.items() if engine == "spark" else CONDITIONS.items():
        alone = rounds.filter(mask(rounds))
        expected = sl.compare(sl.Logs(alone, **PLAIN), "a")
        found = sl.compare(sl.Logs(place, where=where, **PLAIN), "a")
        assert found.rounds == expected.rounds, where
        assert found.lower == pytest.approx(expected.lower, rel=1e-9, abs=1e-9)
        assert found.notes == (f"{ROUNDS - alone.num_rows:,} of 4,000 rounds do not meet `{where}`, and were left out.",)
        if engine == "spark":
            assert found.provenance.fingerprint == expected.provenance.fingerprint
        assert filtered(place, parsed(where)) is not None  # by the engine itself
    assert sl.verify(sl.Certificate.of(found), rounds).same
    for where, says in {"c = 5": "column 'c' holds text", "n = 'FR'": "column 'n' holds whole numbers"}.items():
        with pytest.raises(sl.UsageError, match=says):
            sl.compare(sl.Logs(place, where=where, **PLAIN), "a")
    if engine != "spark":
        with pytest.raises(sl.LogsError, match="4,000 of 4,000 rounds do not meet"):
            sl.compare(sl.Logs(place, where="n > 1000", **PLAIN), "a")


def test_a_database_does_not_compare_text_with_dates() -> None:
    import ibis

    rounds = table().append_column("iso", pa.array([str(day) for day in table()["day"].to_pylist()]))
    place, where = ibis.duckdb.connect().create_table("logs", rounds), "iso >= 2026-02-01"
    with pytest.raises(sl.UsageError, match="make the column a date or a timestamp in the query"):
        sl.compare(sl.Logs(place, where=where, **PLAIN), "a")
    # In this process text is read, also where a query could not be filtered.
    found = sl.compare(sl.Logs(_duckdb(rounds), where=where, **PLAIN), "a")
    assert found.rounds == rounds.filter(pc.greater_equal(rounds["day"], date(2026, 2, 1))).num_rows


def test_nan_is_null_in_every_engine() -> None:
    import ibis

    x = np.array([0.1, np.nan, 5.0] * 100, dtype=np.float32)
    rounds = pa.table({"r": [1.0, 0.0, 1.0] * 100, "q": np.full(300, 0.5), "a": np.full(300, 0.5), "x": x})
    places = [rounds, _duckdb(rounds), _polars(rounds).lazy(), ibis.duckdb.connect().create_table("logs", rounds)]
    for where, count in {"x > 1": 100, "not x < 1": 100, "x = 0.1": 0, "x is null": 100, "x is not null": 200}.items():
        for place in places:
            logs = sl.Logs(place, where=where, **PLAIN)
            if count:
                assert sl.evaluate(logs, "a").rounds == count, (where, type(place))
            else:
                with pytest.raises(sl.LogsError, match="300 of 300 rounds do not meet"):
                    sl.evaluate(logs, "a")


@pytest.mark.parametrize("kind", ["timed", "vectors", "clustered", "sequences", "drawn", "labelled", "costs"])
def test_every_question_of_every_kind_of_log(kind: str) -> None:
    """Half of the rounds, or of the clusters, by a column that is the same in all rounds of a cluster."""
    case = KINDS[kind]
    rounds = case.table()
    groups = np.asarray(rounds["c"]) if "c" in rounds.column_names else np.arange(rounds.num_rows)
    known = np.random.default_rng(8).integers(0, 2, int(groups.max()) + 1)[groups]
    rounds = rounds.append_column("known", pa.array(known))
    alone = sl.Logs(rounds.filter(pa.array(known == 1)), **case.declared)
    chosen = sl.Logs(rounds, where="known = 1", **case.declared)
    for name, asked in case.questions.items():
        if asked.kind in ("evaluate", "compare", "check", "select", "gate", "compare outcomes") and not {
            "blocks",
            "bootstrap",
        } & set(name.split(", ")):
            found, expected = (_facts(asked.of(logs).ask(logs)) for logs in (chosen, alone))
            assert found == expected, name


def _facts(answer: Any) -> Any:
    """An answer but for what it says of the rounds that were left out."""
    content = answer.to_dict()

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: plain(part) for name, part in value.items()
                if name not in ("aloud", "assumptions", "row", "heaviest_rounds", "findings")
            }  # fmt: skip
        if isinstance(value, float):
            return pytest.approx(value, rel=1e-9, abs=1e-12)
        return [plain(part) for part in value] if isinstance(value, list | tuple) else value

    return plain(content)
