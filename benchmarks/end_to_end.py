"""How much longer than reading the columns does an answer take, and how much memory?

Generates a Parquet file of rounds with rewards of 1%, of which a tenth are labelled, three candidates, twenty segments,
times and clusters of four, then times every question against merely reading the same columns, and against a plain compare,
in one process, and asks it once more in a fresh one, for its memory:
python benchmarks/end_to_end.py [million rounds] [folder] [question ...]
"""

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import surelift as sl

CANDIDATES = ("p0", "p1", "p2")
SEGMENTS = pa.array([f"segment {number}" for number in range(20)])
DAYS, CLUSTER_SIZE, LABELLED, TURNS = 14, 4, 0.1, 3
Question = tuple[list[str], Callable[[], object], int]
"""The columns it reads, how it is asked, and how often."""


def generate(path: Path, rounds: int) -> None:
    rng, writer = np.random.default_rng(0), None
    for start in range(0, rounds, 1 << 20):
        rows = min(1 << 20, rounds - start)
        q, numbers = rng.uniform(0.05, 1.0, rows), np.arange(start, start + rows)
        columns: dict[str, Any] = {"r": (rng.random(rows) < 0.01).astype(np.float32), "q": q.astype(np.float32)}
        columns |= {name: np.minimum(1.0, q * rng.uniform(0.2, 1.8, rows)).astype(np.float32) for name in CANDIDATES}
        seconds = numbers * (DAYS * 86_400 / rounds)
        columns["segment"] = SEGMENTS.take(pa.array(rng.integers(0, len(SEGMENTS), rows)))
        columns["time"] = np.datetime64("2026-01-01", "us") + (1e6 * seconds).astype("timedelta64[us]")
        columns["user"], columns["step"] = numbers // CLUSTER_SIZE, (numbers % CLUSTER_SIZE).astype(np.int8)
        columns["label"] = pa.array(columns["r"], mask=rng.random(rows) >= LABELLED)
        columns["score"] = np.clip(columns["r"] + rng.normal(0.0, 0.1, rows), 0.0, 1.0).astype(np.float32)
        columns["keep"] = np.full(rows, 0.5, np.float32)
        table = pa.table(columns)
        writer = pq.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)
    assert writer is not None
    writer.close()


def read(path: Path, columns: list[str]) -> None:
    options = ds.ParquetFragmentScanOptions(pre_buffer=False)
    scanner = ds.dataset(path).scanner(columns=columns, batch_size=1 << 18, batch_readahead=4, fragment_scan_options=options)
    for _ in scanner.to_batches():
        pass


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def questions_about(path: Path) -> dict[str, Question]:
    declared: dict[str, Any] = {"reward": "r", "propensity": "q"}
    logs, timed_logs = sl.Logs(path, **declared), sl.Logs(path, **declared, time="time")
    rounds = pq.read_metadata(path).num_rows
    users = sl.Logs(path, **declared, cluster="user", cluster_size=CLUSTER_SIZE)
    steps = sl.Logs(path, **declared, cluster="user", cluster_size=CLUSTER_SIZE, position="step")
    judged = sl.Logs(path, reward="label", propensity="q", score="score", label_probability=LABELLED)
    sampled = sl.Logs(path, **declared, keep_probability="keep", rounds_before_sampling=2 * rounds)
    three, one = list(CANDIDATES), ["r", "q", "p0"]
    return {
        "compare one": (one, lambda: sl.compare(logs, "p0"), TURNS),
        "evaluate three, lower": (["r", "q", *three], lambda: sl.evaluate(logs, three, sides="lower"), TURNS),
        "evaluate three, both": (["r", "q", *three], lambda: sl.evaluate(logs, three), TURNS),
        "compare by 20 segments": ([*one, "segment"], lambda: sl.compare(logs, "p0", by="segment"), TURNS),
        "check": ([*one, "segment", "time"], lambda: sl.check(timed_logs, "p0", by="segment"), TURNS),
        "gate": (one, lambda: sl.gate(logs, "p0"), TURNS),
        "power": (one, lambda: sl.power(logs, "p0"), TURNS),
        "compare, clusters": ([*one, "user"], lambda: sl.compare(users, "p0"), TURNS),
        "compare, sessions": ([*one, "user", "step"], lambda: sl.compare(steps, "p0"), TURNS),
        "compare, labels": ([*one, "label", "score"], lambda: sl.compare(judged, "p0"), TURNS),
        "compare, sampled": ([*one, "keep"], lambda: sl.compare(sampled, "p0"), TURNS),
        "report of two": ([*one, "p1", "time"], lambda: sl.report(timed_logs, ["p0", "p1"]), TURNS),
        "bootstrap": (one, lambda: sl.compare(logs, "p0", method="bootstrap"), 1),
    }


def peak_memory(path: Path, name: str) -> float:
    """In GB, of a process that asks this question only."""
    questions_about(path)[name][1]()
    # Not getrusage, which begins with what the parent process had.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1e6


def main(millions: str = "100", folder: str | None = None, *wanted: str) -> None:
    rounds = int(float(millions) * 1_000_000) // CLUSTER_SIZE * CLUSTER_SIZE
    with tempfile.TemporaryDirectory(dir=folder) as directory:
        path = Path(directory) / "log.parquet"
        generate(path, rounds)
        print(f"{rounds:,} rounds, {path.stat().st_size / 1e9:.2f} GB")
        plain = None
        for name, (columns, ask, turns) in questions_about(path).items():
            if wanted and name not in wanted:
                continue
            if turns > 1:
                ask()
            pairs = [(timed(lambda: read(path, columns)), timed(ask)) for _ in range(turns)]
            reading, asking = (float(np.median(times)) for times in zip(*pairs, strict=True))
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
                memory = fresh.submit(peak_memory, path, name).result() if turns > 1 else float("nan")
            plain = asking if plain is None else plain
            print(
                f"  {name:22} reading {reading:6.2f} s, answer {asking:7.2f} s: {asking / reading:6.2f}x, and "
                f"{asking / plain:6.2f}x the first; peak memory {memory:.2f} GB",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
