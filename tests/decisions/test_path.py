"""A question goes a short way: what nobody declared is not called."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa

import surelift as sl

ROOT = str(Path(sl.__file__).parent)
ROWS = 2_000
RNG = np.random.default_rng(20261119)
TABLE = pa.table(
    {
        "r": RNG.random(ROWS), "p": np.full(ROWS, 0.5), "new": RNG.random(ROWS), "user": (np.arange(ROWS) // 2).astype(str),
        "day": np.arange(ROWS) % 3,
    }
)  # fmt: skip
TRAITS = ("labels", "loggers", "logger_tests", "draws", "distribution", "settled", "which", "clusters")


def called(ask: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """The functions of the package that the second call goes through; comprehensions count as a part of theirs."""
    ask()
    found: Counter[tuple[str, str]] = Counter()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and "<" not in code.co_qualname.rsplit(".", 1)[-1]:
            found[Path(code.co_filename).relative_to(ROOT).as_posix(), code.co_qualname] += 1

    sys.setprofile(seen)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return found


def files(found: Counter[tuple[str, str]]) -> set[str]:
    return {path for path, _ in found}


def test_three_columns() -> None:
    found = called(lambda: sl.compare(sl.Logs(TABLE, reward="r", propensity="p"), "new"))
    assert found.total() <= 200
    assert len(found) <= 120
    assert len(files(found)) <= 38
    assert not {path for path in files(found) if Path(path).stem in TRAITS}


def test_clusters_and_a_condition() -> None:
    logs: dict[str, Any] = {"reward": "r", "propensity": "p", "cluster": "user", "cluster_size": 2}
    found = called(lambda: sl.compare(sl.Logs(TABLE, **logs, where="user != '0'"), "new"))
    assert len(found) <= 200
    assert not {path for path in files(found) if Path(path).stem in {*TRAITS} - {"clusters", "which"}}


def test_the_count_can_fail() -> None:
    assert ("decisions/compare.py", "compare") in called(
        lambda: sl.compare(sl.Logs(TABLE, reward="r", propensity="p"), "new")
    )
