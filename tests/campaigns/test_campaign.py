import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

NAME = "tests.campaigns.sometimes_wrong"


def campaign(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "campaigns", NAME, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)


def test_a_wrong_case_ends_in_exit_1_and_says_how_to_make_it_again() -> None:
    done = campaign("--size", "full", "--seed", "7")
    assert done.returncode == 1
    assert done.stdout.endswith(f"{NAME}: 8 tried, 4 wrong\n")
    assert f"again: python -m campaigns {NAME} --seed 7 --case 3\n" in done.stdout
    assert "ValueError: a raw error" in done.stdout
    assert "exit code 9" in done.stdout
    assert "1 outside" in done.stdout
    (drew,) = [line for line in done.stdout.splitlines() if "drew" in line]
    again = campaign("--seed", "7", "--case", "2")
    assert again.returncode == 1
    assert again.stdout.strip() == drew.partition(": ")[2]


def test_right_cases_end_in_exit_0() -> None:
    done = campaign("--size", "2")
    assert (done.returncode, done.stdout) == (0, f"{NAME}: 2 tried, 0 wrong\n")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_killed_campaign_leaves_no_workers() -> None:
    command = [sys.executable, "-m", "campaigns", "tests.campaigns.never_ends", "--size", "2"]
    parent = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    while len(workers := children(parent.pid)) < 2:
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def children(parent: int) -> list[int]:
    """The processes started by one, that have begun their work."""
    found = []
    for entry in os.scandir("/proc"):
        try:
            stat = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            arguments = Path(entry.path, "cmdline").read_text()
        except (OSError, IndexError):
            continue
        if stat[1] == str(parent) and "spawn_main" in arguments:
            found.append(int(entry.name))
    return found
