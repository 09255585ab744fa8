"""How long does a command take in a fresh process, compared with one that does nothing?

Every figure is the median of several processes. They run as installed here, and with the bytecode that pip writes when it
installs and other installers may not:
python benchmarks/start.py [processes] [million rounds]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

import surelift as sl

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.end_to_end import generate

COMPARE = ("-m", "surelift", "compare")


def seconds(arguments: tuple[str, ...], bytecode: Path | None) -> tuple[float, float]:
    """CPU and wall seconds of one process; bytecode is kept in a folder, or as it is here."""
    environment = dict(os.environ)
    if bytecode is not None:
        environment |= {"PYTHONPYCACHEPREFIX": str(bytecode), "PYTHONDONTWRITEBYTECODE": ""}
    started = time.perf_counter()
    command, nowhere = [sys.executable, *arguments], subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, stdout=nowhere, stderr=nowhere)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 3), f"{' '.join(arguments)} failed"
    return used.ru_utime + used.ru_stime, wall


def main(processes: str = "7", millions: str = "5") -> None:
    with tempfile.TemporaryDirectory() as directory:
        shop, large, bytecode = (Path(directory) / name for name in ("shop.parquet", "large.parquet", "bytecode"))
        table, rounds = sl.datasets.shop().table, int(float(millions) * 1_000_000)
        pq.write_table(table, shop)
        generate(large, rounds)
        small = (str(shop), "--reward", "click", "--propensity", "propensity", "--policy", "p_better")
        commands: dict[str, tuple[str, ...]] = {
            "python -c pass": ("-c", "pass"),
            "import surelift": ("-c", "import surelift"),
            "surelift --help": ("-m", "surelift", "--help"),
            "surelift compare --help": (*COMPARE, "--help"),
            f"compare, {table.num_rows:,} rounds": (*COMPARE, *small),
            f"compare, {rounds:,} rounds": (
                *COMPARE, str(large), "--reward", "r", "--propensity", "q", "--policy", "p0",
            ),
        }  # fmt: skip
        baseline: dict[Path | None, float] = {}
        print(f"{'':29}{'as installed here':29}with bytecode")
        for name, arguments in commands.items():
            seconds(arguments, bytecode)
            line = f"{name:26}"
            for kept in (None, bytecode):
                turns = [seconds(arguments, kept) for _ in range(int(processes))]
                cpu, wall = (statistics.median(times) for times in zip(*turns, strict=True))
                line += f"   cpu {cpu:.2f} s {cpu / baseline.setdefault(kept, cpu):3.0f}x, wall {wall:.2f} s"
            print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
