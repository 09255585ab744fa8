import subprocess
import sys
from pathlib import Path

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
