"""Files are replaced whole, what killed writers left is swept, and nothing else is overwritten."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import surelift as sl
from surelift import saving
from surelift.saving import write_beside

DATA = sl.datasets.shop(rounds=300)
WRITER = """
import os, sys, time
from surelift import saving
def stop(handle):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = stop
saving.write_beside(sys.argv[1], "half", what="a test")
"""


def writer(path: Path) -> subprocess.Popen[str]:
    """A process in the middle of writing."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot tell at once that a writer is dead")
def test_what_killed_writers_left_is_swept_and_nothing_of_living_ones(tmp_path: Path) -> None:
    path, beside = tmp_path / "state.json", tmp_path / ".state.json.swp"
    beside.write_text("an editor's")
    killed, living = writer(path), writer(path)
    try:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(list(tmp_path.iterdir())) == 3
        write_beside(path, "whole", what="a test")
        assert len(list(tmp_path.iterdir())) == 3  # the living one's is there
        living.kill()
        living.wait()
        write_beside(path, "whole", what="a test")
        assert sorted(file.name for file in tmp_path.iterdir()) == [".state.json.swp", "state.json"]
        assert path.read_text() == "whole"
    finally:
        for process in (killed, living):
            process.kill()
            process.wait()


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    write_beside(path, "whole", what="a test")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    with pytest.raises(sl.UsageError, match=f"a test cannot be written to .*: {os.strerror(errno.ENAMETOOLONG)}"):
        write_beside(tmp_path / ("x" * 256), "whole", what="a test")


def test_what_is_no_state_is_not_overwritten(tmp_path: Path) -> None:
    watch = sl.Monitor({"new": "p_better"}, **DATA.columns())
    watch.update(DATA.table)
    log, empty, state = tmp_path / "log.csv", tmp_path / "empty", tmp_path / "state.json"
    log.write_text("click,propensity\n1,0.5\n")
    empty.touch()
    for other in (log, tmp_path):
        with pytest.raises(sl.UsageError, match="is not the state of a monitor, so it was not overwritten"):
            watch.save(other)
    assert log.read_text() == "click,propensity\n1,0.5\n"
    sl.Certificate.of(watch.answer()).save(tmp_path / "certificate.json")
    with pytest.raises(sl.UsageError, match="is not the state of a monitor"):
        watch.save(tmp_path / "certificate.json")
    watch.save(empty)
    watch.save(state)
    state.write_text(state.read_text().replace('"version": 3', '"version": 2', 1))
    watch.save(state)
    assert sl.Monitor.load(state).rounds == sl.Monitor.load(empty).rounds == 300
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(sl.UsageError, match="cannot be used"):
            watch.save(tmp_path / name)
        with pytest.raises(sl.UsageError, match="cannot be read"):
            sl.Monitor.load(tmp_path / name)


def test_an_interrupt_right_after_the_renaming_finds_the_file_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(source: str, target: Path) -> None:
        plain(source, target)
        raise KeyboardInterrupt

    plain = os.replace
    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(saving, "last_written", None)
    with pytest.raises(KeyboardInterrupt):
        write_beside(tmp_path / "state.json", "whole", what="a test")
    assert saving.last_written == str(tmp_path / "state.json")


def test_an_interrupt_before_the_renaming_finds_nothing_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(saving, "last_written", None)
    with pytest.raises(KeyboardInterrupt):
        write_beside(tmp_path / "state.json", "whole", what="a test")
    assert saving.last_written is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in folders")
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(sl.UsageError, match=r"cannot be written to .*pipe: it is not a regular file"):
        write_beside(path, "whole", what="a test")
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_file_keeps_its_mode_and_a_new_one_has_that_of_the_user(tmp_path: Path) -> None:
    private, new = tmp_path / "private", tmp_path / "new"
    private.touch(mode=0o600)
    before = os.umask(0o077)
    try:
        for path in (private, new):
            write_beside(path, "whole", what="a test")
            assert path.stat().st_mode & 0o777 == 0o600
        os.umask(0o002)
        write_beside(tmp_path / "shared", "whole", what="a test")
        assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o664
    finally:
        os.umask(before)
