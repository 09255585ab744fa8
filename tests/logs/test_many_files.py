"""Many files: their set is fixed when the log is opened, each is opened once a pass, and progress tells which is read."""

from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv
from pyarrow import parquet as pq

import surelift as sl
from surelift.cli import progress
from surelift.errors import LogsError
from surelift.logs.sources import parquet
from tests.logs.test_stores import COLUMNS, answer, rounds

FILES = 40


@pytest.fixture(params=["parquet", "csv"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    size = rounds().num_rows // FILES
    for number in range(FILES):
        place = tmp_path / "logs" / f"hour={number % 4}" / f"nested-{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        write: Any = pq.write_table if request.param == "parquet" else csv.write_csv
        write(rounds().slice(number * size, size), place / f"{number:03d}.{request.param}")
    return tmp_path / "logs"


def test_many_files_give_the_answer_of_one_table(folder: Path) -> None:
    expected, found = answer(rounds()), answer(folder)
    assert found[0] == expected[0]
    assert found[1:] == pytest.approx(expected[1:], abs=1e-12)


def test_a_file_that_arrives_later_is_not_read(folder: Path) -> None:
    logs = sl.Logs(folder, **COLUMNS)
    before = sl.evaluate(logs, "new")
    first = min(folder.rglob("*.*"))
    (first.parent / f"later{first.suffix}").write_bytes(first.read_bytes())
    assert sl.evaluate(logs, "new").provenance == before.provenance
    assert sl.Logs(folder, **COLUMNS).count() > logs.count()


def test_a_file_that_changes_between_passes_is_refused(folder: Path) -> None:
    logs = sl.Logs(folder, **COLUMNS)
    sl.evaluate(logs, "new")
    target = min(folder.rglob("*.*"))
    target.write_bytes(target.read_bytes())
    with pytest.raises(LogsError, match=f"{target} changed after the log was opened"):
        sl.evaluate(logs, "new")


def test_a_file_that_changes_during_a_pass_is_refused(folder: Path) -> None:
    logs = sl.Logs(folder, **COLUMNS)
    target, told = min(folder.rglob("*.*")), list[int]()

    def write_once(rows: int) -> None:
        if not told:
            target.write_bytes(target.read_bytes())
        told.append(rows)

    with pytest.raises(LogsError, match="changed after the log was opened"):
        sl.evaluate(logs, "new", progress=write_once)
    assert told


def test_a_file_that_vanishes_is_refused(folder: Path) -> None:
    logs = sl.Logs(folder, **COLUMNS)
    target = max(folder.rglob("*.*"))
    target.unlink()
    with pytest.raises(LogsError, match=f"{target} cannot be read"):
        sl.evaluate(logs, "new")


def test_progress_tells_the_file(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", "120")
    logs = sl.Logs(folder, **COLUMNS)
    with progress._counting_bar(logs.source, "rounds", None) as update:
        sl.evaluate(logs, "new", progress=lambda rows: update(completed=rows))
    assert f"file {FILES} of {FILES}" in capsys.readouterr().err


def test_each_file_is_opened_once_a_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        pq.write_table(rounds().slice(number * 10, 10), tmp_path / f"{number}.parquet")
    opened, original = list[str](), parquet.ParquetFile._opened

    def noted(file: Any, **options: Any) -> Any:
        opened.append(file._path)
        return original(file, **options)

    logs = sl.Logs(tmp_path, **COLUMNS)
    monkeypatch.setattr(parquet.ParquetFile, "_opened", noted)
    sl.evaluate(logs, "new")
    assert len(opened) == 5


def test_a_folder_of_other_files_is_told_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "a.dsjson").write_text("{}")
    with pytest.raises(sl.UsageError, match=r"holds no log by the names of its files \(a.dsjson\)"):
        sl.Logs(tmp_path, **COLUMNS)
