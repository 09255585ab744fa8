"""How much longer than reading the columns does an answer take, and how much memory?

Generates a Parquet file of rounds with rewards of 1% and three candidates, then times every question against merely reading
the same columns, in one process: python benchmarks/end_to_end.py [million rounds] [folder]
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import surelift as sl

CANDIDATES = ("p0", "p1", "p2")
TURNS = 3


def generate(path: Path, rounds: int) -> None:
    rng, writer = np.random.default_rng(0), None
    for start in range(0, rounds, 1 << 20):
        rows = min(1 << 20, rounds - start)
        q = rng.uniform(0.05, 1.0, rows)
        columns: dict[str, Any] = {"r": (rng.random(rows) < 0.01).astype(np.float32), "q": q.astype(np.float32)}
        columns |= {name: np.minimum(1.0, q * rng.uniform(0.2, 1.8, rows)).astype(np.float32) for name in CANDIDATES}
        table = pa.table(columns)
        writer = pq.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)
    assert writer is not None
    writer.close()


def read(path: Path, columns: list[str]) -> None:
    options = ds.ParquetFragmentScanOptions(pre_buffer=False)
    scanner = ds.dataset(path).scanner(
        columns=columns, batch_size=1 << 18, batch_readahead=4, fragment_scan_options=options
    )
    for _ in scanner.to_batches():
        pass


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(millions: str = "100", folder: str | None = None) -> None:
    rounds = int(float(millions) * 1_000_000)
    with tempfile.TemporaryDirectory(dir=folder) as directory:
        path = Path(directory) / "log.parquet"
        generate(path, rounds)
        print(f"{rounds:,} rounds, {path.stat().st_size / 1e9:.2f} GB")
        logs = sl.Logs(path, reward="r", propensity="q")
        questions: dict[str, tuple[list[str], Callable[[], object]]] = {
            "compare one": (["r", "q", "p0"], lambda: sl.compare(logs, "p0")),
            "evaluate three, lower": (
                ["r", "q", *CANDIDATES], lambda: sl.evaluate(logs, list(CANDIDATES), sides="lower"),
            ),
            "evaluate three, both": (["r", "q", *CANDIDATES], lambda: sl.evaluate(logs, list(CANDIDATES))),
        }  # fmt: skip
        for name, (columns, ask) in questions.items():
            ask()
            turns = [(timed(lambda: read(path, columns)), timed(ask)) for _ in range(TURNS)]
            reading, asking = (float(np.median(times)) for times in zip(*turns, strict=True))
            print(f"  {name:22} reading {reading:6.2f} s, answer {asking:6.2f} s: {asking / reading:.2f}x", flush=True)
        print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main(*sys.argv[1:])
