"""How long does every engine take for the same answer, compared with the embedded one, and how does the cost scale?

Ten million rounds, rewards of 1%, one candidate; Spark and the databases already hold the rounds where possible. Then the
embedded engine alone, as rounds, candidates and components grow: python benchmarks/engines.py [million rounds]
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import surelift as sl

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.end_to_end import generate
from tests.engines.databases import java, postgres_binaries, postgres_server, spark_session

FLAGS: dict[str, Any] = {"reward": "r", "propensity": "q"}


def timed(work: Callable[[], Any]) -> float:
    """The faster of two runs: the first may compile or start something."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def show(name: str, spent: float, base: float) -> None:
    print(f"  {name:48} {spent:7.2f} s  {spent / base:6.1f}x", flush=True)


def _count_rows(batches: Iterator[Any]) -> Iterator[Any]:
    yield pa.record_batch({"rows": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})


def against_stream(path: Path, rounds: int) -> float:
    stream = sl.Logs(path, **FLAGS)
    base = timed(lambda: sl.compare(stream, "p0"))
    print(f"compare, {rounds:,} rounds, ratio to stream")
    show("stream, Parquet", base, base)
    table = pq.read_table(path)
    show("stream, pyarrow table", timed(lambda: sl.compare(sl.Logs(table, **FLAGS), "p0")), base)
    import duckdb

    relation = duckdb.connect().sql(f"select * from read_parquet('{path}')")
    show("stream, DuckDB relation", timed(lambda: sl.compare(sl.Logs(relation, **FLAGS), "p0")), base)
    import ibis

    lake = ibis.duckdb.connect().read_parquet(path)
    show("SQL, DuckDB through Ibis", timed(lambda: sl.compare(sl.Logs(lake, **FLAGS), "p0")), base)
    if java() is not None:
        with spark_session() as spark:
            frame = spark.read.parquet(str(path))
            columns = frame.select("r", "q", "p0")
            received = timed(lambda: columns.mapInArrow(_count_rows, "rows long").collect())
            show("Spark, two workers, batches received and dropped", received, base)
            show("Spark, two workers", timed(lambda: sl.compare(sl.Logs(frame, **FLAGS), "p0")), base)
    if postgres_binaries() is not None:
        with postgres_server() as server:
            sample = table.slice(0, rounds // 100)
            rows = ibis.postgres.connect(**server).create_table("logs", sample, overwrite=True)
            spent = timed(lambda: sl.compare(sl.Logs(rows, **FLAGS), "p0"))
            show("SQL, PostgreSQL, a hundredth of the rounds", spent, base)
    question = sl.Question.of("compare", FLAGS, "p0")
    show("partial_sums, one part", timed(lambda: question.answer(sl.partial_sums([path], question))), base)
    return base


def as_things_grow(path: Path, rounds: int) -> None:
    print("stream, as the problem grows, ratio to the first line of each block")
    logs = sl.Logs(path, **FLAGS)
    table = pq.read_table(path)
    base = 0.0
    for share in (0.1, 0.3, 1.0):
        part = sl.Logs(table.slice(0, int(share * rounds)), **FLAGS)
        spent = timed(lambda: sl.compare(part, "p0"))
        base = base or spent
        show(f"{int(share * rounds):,} rounds", spent, base)
    base = 0.0
    for names in (["p0"], ["p0", "p1"], ["p0", "p1", "p2"]):
        spent = timed(lambda: sl.evaluate(logs, names))
        base = base or spent
        show(f"{len(names)} candidates, both sides", spent, base)
    base = 0.0
    for size in (7, 27, 107):
        smoothings = tuple(float(x) for x in 2.0 ** np.linspace(-20, 6, size))
        grid = sl.grids.Grid("own", smoothings, (1.0 / size,) * size, any_looks=True)
        spent = timed(lambda: sl.compare(logs, "p0", grid=grid))
        base = base or spent
        show(f"{size} components", spent, base)
    many_candidates()


def many_candidates(rounds: int = 20_000) -> None:
    """Two actions, and candidates that lean to one of them more or less, in memory as float32: 800 MB at most."""
    rng = np.random.default_rng(0)
    chance, lean = rng.uniform(0.3, 0.7, rounds).astype(np.float32), rng.random(rounds).astype(np.float32)
    first = rng.random(rounds) < chance
    columns = {"r": (rng.random(rounds) < np.where(first, 0.4, 0.2)).astype(np.float32)}
    columns["q"] = np.where(first, chance, 1 - chance)
    for candidate in range(10_000):
        tilted = chance + np.float32(rng.uniform(-0.2, 0.2)) * lean
        columns[f"p{candidate}"] = np.where(first, tilted, 1 - tilted)
    logs, base = sl.Logs(pa.table(columns), **FLAGS), 0.0
    names = [name for name in columns if name not in FLAGS.values()]
    sl.select(logs, names[:10])
    print(f"select, {rounds:,} rounds, processor time per candidate, ratio to the first line")
    for count in (10, 100, 1_000, 10_000):
        start = time.process_time()
        sl.select(logs, names[:count])
        spent = (time.process_time() - start) / count
        base = base or spent
        print(f"  {f'{count:,} candidates':44} {1e3 * spent:7.2f} ms {spent / base:5.1f}x", flush=True)


def main(millions: str = "10") -> None:
    rounds = int(float(millions) * 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        generate(path, rounds)
        against_stream(path, rounds)
        as_things_grow(path, rounds)


if __name__ == "__main__":
    main(*sys.argv[1:])
