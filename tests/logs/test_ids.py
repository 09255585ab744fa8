"""Ids of any type: the same id is the same word, whatever holds it, and others are told apart."""

import uuid
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.logs.ids import id_words

RANDOM = np.random.default_rng(5)
IDS = np.arange(40)
DAYS = [date(1969, 12, 20) + timedelta(days=int(i)) for i in IDS]
UUIDS = [uuid.UUID(bytes=RANDOM.bytes(16)).bytes for _ in IDS]
DISTINCT: dict[str, Any] = {
    "nanoseconds": pa.array(IDS.astype("datetime64[ns]")),
    "raw bytes": pa.array(UUIDS),
    "bytes of one length": pa.array(UUIDS, pa.binary(16)),
    "large bytes": pa.array(UUIDS, pa.large_binary()),
    "uuids": pa.array(UUIDS, pa.uuid()),
    "times of day": pa.array(IDS).cast(pa.time64("us")),
    "durations": pa.array(IDS).cast(pa.duration("ns")),
    "leading zeros": pa.array([f"{i:0{1 + i % 3}}" + ("0" if i else "") for i in IDS.tolist()]),
    "long digits": pa.array([str(10**25 + i) for i in IDS.tolist()]),
}
SAME: dict[str, tuple[Any, Any]] = {
    "whole numbers as text": (pa.array(IDS), pa.array([str(i) for i in IDS])),
    "among other text": (pa.array(IDS[:3]), pa.array(["0", "1", "2", "x", "07", "", "-"]).slice(0, 3)),
    "decimals": (pa.array(IDS), pa.array([Decimal(int(i)) for i in IDS])),
    "days": (pa.array(DAYS), pa.array(DAYS, pa.date64())),
    "days as times": (pa.array(DAYS), pa.array(DAYS).cast(pa.timestamp("ns"))),
    "times": (pa.array(IDS).cast(pa.timestamp("s")), pa.array(IDS * 10**9).cast(pa.timestamp("ns"))),
    "bytes of text": (pa.array([f"u{i}" for i in IDS]), pa.array([f"u{i}".encode() for i in IDS])),
}


@pytest.mark.parametrize("kind", DISTINCT)
def test_different_ids_are_told_apart(kind: str) -> None:
    words = id_words(DISTINCT[kind])
    assert len(np.unique(words)) == len(IDS)
    assert (id_words(DISTINCT[kind].slice(7)) == words[7:]).all()


@pytest.mark.parametrize("kind", SAME)
def test_the_same_ids_are_the_same_in_another_form(kind: str) -> None:
    first, second = SAME[kind]
    assert (id_words(first) == id_words(second)).all()


def test_an_id_without_a_text_is_refused() -> None:
    column = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    with pytest.raises(sl.UsageError, match="an id must be text or a number, but its column holds month_day_nano"):
        id_words(column)


def log(rounds: int, **columns: Any) -> dict[str, Any]:
    rng = np.random.default_rng(rounds)
    return {"r": rng.integers(0, 2, rounds), "p": np.full(rounds, 0.5), "new": rng.uniform(0.3, 0.7, rounds)} | columns


DECLARED: dict[str, Any] = {"reward": "r", "propensity": "p"}


def test_segments_may_be_uuids() -> None:
    logs = sl.Logs(log(40, who=pa.array(UUIDS[:2] * 20, pa.uuid())), **DECLARED)
    assert len(sl.compare(logs, "new", by="who")) == 2


def test_a_monitor_knows_ids_that_come_as_numbers_and_as_text(tmp_path: Path) -> None:
    watch = sl.Monitor("new", id="id", **DECLARED)
    watch.update(log(40, id=IDS))
    path = tmp_path / "again.csv"
    pd.DataFrame(log(41, id=np.arange(39, 80))).to_csv(path, index=False)
    with pytest.raises(sl.LogsError, match="id 'id': 1 of 80 come more than once"):
        watch.update(path)


@pytest.mark.parametrize("role", ["id", "cluster", "by", "a function"])
def test_a_column_has_one_type_in_all_files(role: str, tmp_path: Path) -> None:
    for name, column in {"0": pa.array(DAYS), "1": pa.array(list(map(str, DAYS)))}.items():
        pq.write_table(pa.table(log(40, k=column)), tmp_path / f"{name}.parquet")
    roles: dict[str, dict[str, Any]] = {"id": {"id": "k"}, "cluster": {"cluster": "k", "cluster_max": 1}}
    declared = roles.get(role, {})
    policy: Any = (lambda table: np.full(table.num_rows, 0.5)) if role == "a function" else "new"
    logs = sl.Logs(str(tmp_path), **DECLARED, **declared)
    with pytest.raises(sl.LogsError, match=r"(?s)column 'k' holds times? .*text .*1\.parquet"):
        sl.compare(logs, policy, by="k" if role == "by" else None)
    sl.compare(sl.Logs(str(tmp_path), **DECLARED), "new")  # where nobody looks at it


def test_a_column_of_objects_has_one_type_in_all_batches() -> None:
    rounds = (1 << 16) + 10
    frame = pd.DataFrame(log(rounds))
    frame["zip"] = pd.Series([7] * (1 << 16) + ["7"] * 10, dtype=object)
    with pytest.raises(sl.LogsError, match=r"column 'zip' holds numbers up to row 65,535, and text from row 65,536 on"):
        sl.evaluate(sl.Logs(frame, **DECLARED), lambda table: np.full(table.num_rows, 0.5))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2]).cast(pa.duration("s")), pa.array([1, 2]).cast(pa.time64("us")), pa.array([True, False]),
        pa.array([b"\xff", b"\xfe"]),
    ],
    ids=lambda column: str(column.type),
)  # fmt: skip
def test_what_has_no_order_in_time_is_no_time(column: Any) -> None:
    watch = sl.Monitor("new", reward="r", propensity="p", time="t")
    with pytest.raises(sl.UsageError, match=r"time 't' holds .*; it must hold timestamps, dates or numbers"):
        watch.update({"r": [0, 1], "p": [0.5, 0.5], "new": [0.4, 0.6], "t": column})
