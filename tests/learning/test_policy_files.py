"""A policy file of which any byte changed is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

import surelift as sl
from tests.stored.make import learned

DATA = sl.datasets.shop(rounds=300)


@pytest.fixture(scope="module", params=["gaussian", "linear", "network", "stages"])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policy") / "policy.safetensors"
    learned(DATA.logs(), request.param).save(str(path))
    return path


@pytest.mark.slow
def test_every_byte_counts(stored: Path) -> None:
    whole = stored.read_bytes()
    damaged = stored.with_name("damaged.safetensors")
    for place in range(0, len(whole), max(1, len(whole) // 4_001)):  # of a large file, some
        for bit in (0, 5):
            damaged.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])
            with pytest.raises(sl.LogsError):
                sl.LearnedPolicy.load(damaged)
    stored.with_name("damaged.safetensors").write_bytes(whole)
    assert sl.LearnedPolicy.load(damaged).certificate is not None


def test_files_that_were_cut_or_continued(stored: Path) -> None:
    whole = stored.read_bytes()
    damaged = stored.with_name("damaged.safetensors")
    for length in range(0, len(whole), 7):
        damaged.write_bytes(whole[:length])
        with pytest.raises(sl.LogsError):
            sl.LearnedPolicy.load(damaged)
    for more in (b"\0", b"}", whole):
        damaged.write_bytes(whole + more)
        with pytest.raises(sl.LogsError):
            sl.LearnedPolicy.load(damaged)


@pytest.mark.parametrize("entry", [{"surelift": []}, {"surelift": 7}, {"sha256": "\ud800"}, {"sha256": None}])
def test_headers_of_another_kind(stored: Path, entry: dict[str, Any]) -> None:
    """The library that reads such files lets some of them pass."""
    whole = stored.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    header["__metadata__"] |= entry
    changed = json.dumps(header).encode()
    damaged = stored.with_name("damaged.safetensors")
    damaged.write_bytes(len(changed).to_bytes(8, "little") + changed + whole[8 + size :])
    with pytest.raises(sl.LogsError):
        sl.LearnedPolicy.load(damaged)


def test_an_older_format_says_who_wrote_it(stored: Path) -> None:
    older = stored.with_name("older.safetensors")
    older.write_bytes(stored.read_bytes().replace(b'\\"version\\": 3', b'\\"version\\": 2', 1))
    with pytest.raises(sl.LogsError, match=f"format 2, written by surelift {sl.__version__}"):
        sl.LearnedPolicy.load(older)
