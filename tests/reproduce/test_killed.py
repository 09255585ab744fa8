"""Worker processes end with the process that started them, however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from surelift.reproduce.folder import Folder

MAIN = """
import sys
from tests.reproduce.test_killed import run
try:
    run(sys.argv[1])
except KeyboardInterrupt:
    sys.exit(130)
"""


def sleep(folder: str, number: int) -> None:
    Path(folder, f"{number}.pid").write_text(str(os.getpid()))
    time.sleep(120)


def run(folder: str) -> None:
    Folder(Path(folder, "out"), {}).pieces(sleep, [(folder, number) for number in range(2)], None)


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("killed_by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_is_left(killed_by: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, str(tmp_path)], env=environment, stderr=subprocess.PIPE, text=True
    )
    workers: list[int] = []
    try:
        until = time.monotonic() + 60
        while not any(path.read_text() for path in tmp_path.glob("*.pid")) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        workers = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
        assert workers
        process.send_signal(killed_by)
        process.wait(20)
        until = time.monotonic() + 20
        while any(map(lives, workers)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(map(lives, workers))
        assert killed_by != signal.SIGINT or process.returncode == 130
    finally:
        process.kill()
        for worker in workers:
            if lives(worker):
                os.kill(worker, signal.SIGKILL)
        assert process.stderr is not None
        process.stderr.close()
