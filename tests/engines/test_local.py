"""Memory does not grow with the log."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MILLIONS = 10
ASK = """
import sys
import surelift as sl
answer = sl.compare(sl.Logs(sys.argv[1], reward="r", propensity="q"), "p")
assert answer.rounds == 10_000_000, answer.rounds
# Not ru_maxrss, which a process inherits from the one that started it.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
def test_ten_million_rows_peak_under_one_gigabyte(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(0), 1_000_000
    path = tmp_path / "log.parquet"
    schema = pa.schema([("r", pa.float64()), ("q", pa.float64()), ("p", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(MILLIONS):
            q = rng.uniform(0.2, 0.6, rows)
            click = (rng.random(rows) < 0.02).astype(float)
            writer.write_table(pa.table({"r": click, "q": q, "p": q * rng.uniform(0.5, 1.5, rows)}))
    done = subprocess.run([sys.executable, "-c", ASK, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1_000_000  # kilobytes
