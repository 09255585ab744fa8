"""Logs in object stores and behind web servers: the same rounds, and a sentence for whatever goes wrong."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, fs
from pyarrow import parquet as pq

import surelift as sl
from surelift.cli.app import main
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import Needs
from surelift.logs.sources.files import Files
from surelift.logs.sources.stores import StoredFile, open_store, without_secrets
from tests.logs.stores import WithoutRanges, WithRanges, free_port, process, s3_server, web_server

COLUMNS: dict[str, Any] = {"reward": "reward", "propensity": "propensity"}
ROUNDS = 4_000


def rounds() -> pa.Table:
    random = np.random.default_rng(0)
    reward, new = random.integers(0, 2, ROUNDS).astype(float), random.uniform(0.1, 0.9, ROUNDS)
    return pa.table({"reward": reward, "propensity": np.full(ROUNDS, 0.5), "new": new})


def answer(source: Any) -> tuple[str, float | None, float | None]:
    result = sl.evaluate(sl.Logs(source, **COLUMNS), "new")
    (value,) = result.values()
    assert result.provenance is not None
    return str(result.provenance.fingerprint), value.lower, value.upper


def name_of(logs: sl.Logs) -> str:
    assert isinstance(logs.source, Files)
    return logs.source.called


def write_parts(folder: Path, *, parts: int = 4) -> None:
    """In folders by day, with what Spark leaves beside."""
    table, size = rounds(), ROUNDS // parts
    for number in range(parts):
        day = folder / f"day={number % 2}"
        day.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.slice(number * size, size), day / f"part-{number}.parquet", row_group_size=300)
    (folder / "_temporary").mkdir()
    pq.write_table(table, folder / "_temporary" / "part-9.parquet")
    pq.write_table(table, folder / ".hidden.parquet")
    (folder / "_SUCCESS").write_text("")


@pytest.fixture(scope="module")
def buckets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("buckets")
    write_parts(folder / "shop" / "logs")
    csv.write_csv(rounds(), folder / "shop" / "rounds.csv")
    feather.write_feather(rounds(), folder / "shop" / "rounds.arrow", compression="uncompressed")
    return folder


@pytest.fixture(scope="module")
def server(buckets: Path) -> Iterator[dict[str, str]]:
    with s3_server(buckets) as environment:
        yield environment


@pytest.fixture
def s3(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize(
    "path",
    [
        "logs", "logs/", "logs/day=*", "logs/day=*/**/*.parquet", "lo*s/[!_]*", "logs/day=?/part-[0-9].parquet",
        "rounds.csv", "rounds.arrow",
    ],
)  # fmt: skip
def test_s3_gives_the_answer_of_the_plain_table(path: str) -> None:
    expected, found = answer(rounds()), answer(f"s3://shop/{path}")
    assert found[0] == expected[0]
    assert found[1:] == pytest.approx(expected[1:], abs=1e-12)


@pytest.mark.usefixtures("s3")
def test_folders_in_a_store_are_columns() -> None:
    logs = sl.Logs("s3://shop/logs", **COLUMNS)
    assert logs.column_names() == ["reward", "propensity", "new", "day"]
    assert sorted(sl.evaluate(logs, "new", by="day").results) == ["0", "1"]


@pytest.mark.usefixtures("s3")
def test_the_command_line_certifies_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    certificate = str(tmp_path / "c.json")
    flags = ["--reward", "reward", "--propensity", "propensity", "--policy", "new", "--certificate", certificate]
    assert main(["evaluate", "s3://shop/logs", *flags]) == 0
    assert main(["verify", certificate, "s3://shop/logs/day=*/*.parquet"]) == 0
    assert "word" not in Path(certificate).read_text()
    capsys.readouterr()


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize(
    "path, environment, said",
    [
        ("none/logs", {}, "s3://none/logs cannot be read: the bucket does not exist"),
        ("shop/none.parquet", {}, "no file matches s3://shop/none.parquet"),
        ("shop/none/*.parquet", {}, "no file matches"),
        (
            "shop/logs",
            {"AWS_ACCESS_KEY_ID": "other"},
            "access is denied; check the credentials in the environment .AWS_",
        ),
        ("shop/rounds.csv", {"AWS_SECRET_ACCESS_KEY": "wrong"}, "access is denied"),
        (
            "shop/logs",
            {"AWS_ENDPOINT_URL": "http://me:hush@127.0.0.1:1"},
            "the store cannot be reached.*http://127.0.0.1:1",
        ),
    ],
)
def test_what_a_store_refuses_is_a_sentence(
    path: str, environment: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    begun = time.monotonic()
    with pytest.raises(LogsError, match=said) as caught:
        sl.Logs(f"s3://{path}", **COLUMNS)
    assert time.monotonic() - begun < 10
    assert "hush" not in str(caught.value)


@pytest.mark.usefixtures("s3")
def test_the_exit_code_of_a_store_that_refuses_is_4(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "s3://none/x.csv", "--reward", "r", "--propensity", "p", "--policy", "new"]) == 4
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.usefixtures("s3")
def test_without_credentials_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(LogsError, match="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        sl.Logs("s3://shop/logs", **COLUMNS)


@pytest.mark.usefixtures("s3")
def test_an_object_that_changes_between_passes_is_refused(buckets: Path) -> None:
    folder = buckets / "growing"
    write_parts(folder)
    logs = sl.Logs("s3://growing/", **COLUMNS)
    before = sl.evaluate(logs, "new")
    pq.write_table(rounds(), folder / "day=0" / "late.parquet")  # is not read
    assert sl.evaluate(logs, "new").provenance == before.provenance
    target = folder / "day=0" / "part-0.parquet"
    content = target.read_bytes()
    pq.write_table(rounds().slice(0, 1001), target)
    with pytest.raises(LogsError, match=r"s3://growing/day=0/part-0.parquet changed after the log was opened"):
        sl.evaluate(logs, "new")
    target.write_bytes(content[:-1] + b"\0")  # of the same size
    with pytest.raises(LogsError, match=r"changed|cannot be read"):
        sl.evaluate(logs, "new")
    target.unlink()
    with pytest.raises(LogsError, match=r"part-0.parquet cannot be read: the file does not exist"):
        sl.evaluate(logs, "new")


@pytest.mark.usefixtures("s3")
def test_copies_and_the_same_object_twice(buckets: Path) -> None:
    shutil.copytree(buckets / "shop" / "logs" / "day=0", buckets / "copies")
    once = answer(["s3://shop/logs", "s3://shop/logs/day=0", "s3://shop/logs/day=*/*"])
    assert once == answer("s3://shop/logs")
    with pytest.raises(LogsError, match="is a copy of"):
        sl.Logs(["s3://shop/logs", "s3://copies/"], **COLUMNS)


@pytest.fixture(params=[WithRanges, WithoutRanges])
def web(request: pytest.FixtureRequest, buckets: Path) -> Iterator[str]:
    with web_server(buckets / "shop", request.param) as address:
        yield address


@pytest.mark.parametrize("path", ["rounds.csv", "rounds.arrow", "logs/_temporary/part-9.parquet?signature=hush"])
def test_a_web_server_gives_the_answer_of_the_plain_table(web: str, path: str) -> None:
    expected, found = answer(rounds()), answer(f"{web}/{path}")
    assert found[0] == expected[0]
    assert found[1:] == pytest.approx(expected[1:], abs=1e-12)


def test_what_a_web_server_refuses_is_a_sentence(web: str) -> None:
    with pytest.raises(LogsError, match=r"none.csv cannot be read: the file does not exist"):
        sl.Logs(f"{web}/none.csv?token=hush", **COLUMNS)
    with pytest.raises(UsageError, match="a web server does not list its files"):
        sl.Logs(f"{web}/*.csv", **COLUMNS)
    with pytest.raises(LogsError, match="the store cannot be reached"):
        sl.Logs("http://me:hush@127.0.0.1:1/a.csv", **COLUMNS)


def test_secrets_reach_the_server_and_no_message(buckets: Path) -> None:
    csv.write_csv(rounds(), buckets / "shop" / "private.csv")
    with web_server(buckets / "shop", WithRanges) as address:
        with pytest.raises(LogsError, match="access is denied"):
            sl.Logs(f"{address}/private.csv", **COLUMNS)
        logs = sl.Logs(f"{address.replace('//', '//me:hush@')}/private.csv?signature=hush", **COLUMNS)
        assert "hush" not in name_of(logs) + str(next(iter(logs.source.batches(Needs(("reward",))))).place)
        with pytest.raises(LogsError, match="access is denied") as caught:
            sl.Logs(f"{address}/rounds.csv?signature=bad", **COLUMNS)
    assert "signature" not in str(caught.value)


def test_a_web_file_that_changes_is_refused(tmp_path: Path) -> None:
    csv.write_csv(rounds(), tmp_path / "a.csv")
    with web_server(tmp_path, WithRanges) as address:
        logs = sl.Logs(f"{address}/a.csv", **COLUMNS)
        csv.write_csv(rounds(), tmp_path / "a.csv")
        with pytest.raises(LogsError, match=r"a.csv changed after the log was opened"):
            sl.evaluate(logs, "new")


def test_google_cloud_storage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = ["-m", "gcp_storage_emulator", "start", "--host", "127.0.0.1", "--port", str(port), "--in-memory"]
    import sys
    import urllib.request

    with process(port, sys.executable, *command, "--default-bucket", "shop"):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        pq.write_table(rounds(), tmp_path / "a.parquet")
        content = (tmp_path / "a.parquet").read_bytes()
        where = f"{address}/upload/storage/v1/b/shop/o?uploadType=media&name=logs/day%3D1/a.parquet"
        urllib.request.urlopen(urllib.request.Request(where, content, {"Content-Type": "application/octet-stream"})).close()
        assert answer("gs://shop/logs/*/*.parquet") == answer(rounds())
        with pytest.raises(LogsError, match=r"gs://none/x.parquet"):
            sl.Logs("gs://none/x.parquet", **COLUMNS)


def test_azure_is_asked_with_the_usual_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[dict[str, str]]()
    monkeypatch.setattr(fs, "AzureFileSystem", lambda **options: asked.append(options))
    monkeypatch.setenv("AZURE_STORAGE_KEY", "aGk=")
    assert open_store("abfs://box@mine.dfs.core.windows.net/logs/a.csv")[1:] == (
        "box/logs/a.csv",
        "abfs://box@mine.dfs.core.windows.net/",
    )
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "ours")
    assert open_store("az://box/logs")[1:] == ("box/logs", "az://box/")
    assert [options["account_name"] for options in asked] == ["mine", "ours"]
    assert {options["account_key"] for options in asked} == {"aGk="}


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(UsageError, match="stores are known by s3://"):
        sl.Logs("ftp://me:hush@host/a.csv", **COLUMNS)


def test_a_name_has_no_secrets() -> None:
    assert without_secrets("s3://key:word@bucket/a?b.csv") == "s3://bucket/a?b.csv"
    assert without_secrets("abfs://box@mine/a.csv?sig=1") == "abfs://box@mine/a.csv"
    assert json.dumps(StoredFile("https://host/a.csv", None, "https://host/a.csv?sig=1")) == '"https://host/a.csv"'


def test_a_server_that_ends_while_it_is_read_is_said(tmp_path: Path) -> None:
    csv.write_csv(rounds(), tmp_path / "a.csv")
    with web_server(tmp_path, WithRanges) as address:
        logs = sl.Logs(f"{address}/a.csv?signature=hush", **COLUMNS)
    with pytest.raises(LogsError, match=r"a.csv cannot be read: the store cannot be reached") as caught:
        sl.evaluate(logs, "new")
    assert "hush" not in str(caught.value)


@pytest.mark.usefixtures("s3")
def test_formats_of_other_tools_are_read_from_a_store(buckets: Path) -> None:
    lines = [f"1:{cost}:0.5 | x" for cost in (-1, 0, -1, 0)]
    (buckets / "shop" / "events.cb").write_text("\n".join(lines) + "\n")
    assert sl.importers.cb("s3://shop/events.cb").logs.count() == 4


@pytest.mark.usefixtures("s3")
def test_a_monitor_counts_files_on_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch = sl.Monitor({"new": "new"}, **COLUMNS)
    with pytest.raises(UsageError, match="a monitor counts files here"):
        watch.update_from("s3://shop/rounds.csv")
    assert watch.update("s3://shop/rounds.csv")
    flags = ["--reward", "reward", "--propensity", "propensity", "--policy", "new", "--state", str(tmp_path / "s.json")]
    assert main(["monitor", "s3://shop/rounds.csv", *flags]) == 2
    capsys.readouterr()
