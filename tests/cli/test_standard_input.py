"""``-`` is standard input, in whichever format, and nothing of it is left behind."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from surelift.cli.app import main

ROWS = [{"r": i % 3 == 0, "p": 0.5, "new": 0.25 + 0.5 * (i % 3 == 0)} for i in range(300)]
FLAGS = ["--reward", "r", "--propensity", "p", "--policy", "new"]


def csv_text(separator: str = ",") -> bytes:
    lines = [separator.join(map(str, row.values())) for row in ROWS]
    return "\n".join([separator.join(ROWS[0]), *lines, ""]).encode()


def packed(kind: str) -> bytes:
    table, sink = pa.Table.from_pylist(ROWS), io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, sink)
    elif kind == "arrow":
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    elif kind == "stream":
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CONTENTS = {
    "csv": csv_text(), "semicolons": csv_text(";"), "csv.gz": gzip.compress(csv_text()), "json": LINES,
    "json.gz": gzip.compress(LINES), "json.zst": pa.compress(LINES, "zstd", asbytes=True), "parquet": packed("parquet"),
    "arrow": packed("arrow"), "utf-16": csv_text().decode().encode("utf-16"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(kept))
    return kept


def pipe(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("kind", CONTENTS)
def test_every_format_is_read_from_a_pipe(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder.parent / "log.csv").write_bytes(csv_text())
    assert main(["evaluate", str(folder.parent / "log.csv"), *FLAGS, "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    pipe(CONTENTS[kind], monkeypatch)
    certificate = str(folder.parent / "certificate.json")
    assert main(["evaluate", "-", *FLAGS, "--json", "--certificate", certificate]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    pipe(CONTENTS[kind], monkeypatch)
    assert main(["verify", certificate, "-"]) == 0
    assert main(["verify", certificate, str(folder.parent / "log.csv")]) == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "content", "code", "says"),
    [
        (["evaluate", "-", *FLAGS], b"", 4, "standard input is empty"),
        (["evaluate", "-", *FLAGS], b"r,p,new\n1,0.5,x\n", 4, "policy 'new': 1 of 1 values are not numbers"),
        (
            ["evaluate", "-", *FLAGS],
            b'r,p,new\n1,0.5,"0.5\n1,0.5,0.5\n',
            4,
            "standard input has 2 lines below its header, but 1 rows",
        ),
        (
            ["evaluate", "-", *FLAGS],
            gzip.compress(csv_text(), mtime=0)[:50],
            4,
            "standard input cannot be read: Truncated",
        ),
        (["evaluate", "-", *FLAGS], packed("stream"), 2, "standard input is an Arrow stream"),
        (["evaluate", "-", *FLAGS, "--dleta", "1"], csv_text(), 2, "--dleta"),
        (["check", "-", "--reward", "r", "--propensity", "q"], csv_text(), 2, "no column 'q'"),
        (["monitor", "-", "--state", "s.json", *FLAGS], csv_text(), 2, "say --stdin csv"),
    ],
)
def test_what_goes_wrong_is_told_and_nothing_is_left(
    arguments: list[str], content: bytes, code: int, says: str, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    pipe(content, monkeypatch)
    assert main(arguments) == code
    assert says in " ".join(capsys.readouterr().err.split())
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("command", ["check", "compare", "select", "gate", "power", "simulate"])
def test_every_command_reads_a_pipe(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    pipe(csv_text(), monkeypatch)
    few = ["--runs", "5"] if command == "simulate" else []
    assert main([command, "-", *FLAGS, *few]) in (0, 3)
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
def test_a_signal_leaves_nothing_behind(folder: Path) -> None:
    command: list[Any] = [sys.executable, "-m", "surelift", "evaluate", "-", *FLAGS]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)})
    assert process.stdin is not None
    process.stdin.write(csv_text() * 100)
    process.stdin.flush()
    until = time.monotonic() + 20
    while not list(folder.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    assert list(folder.iterdir())
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 128 + signal.SIGTERM
    assert list(folder.iterdir()) == []
