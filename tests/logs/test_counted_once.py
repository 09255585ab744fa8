"""No round counts twice, and none is read as what it is not, whichever way a log comes in."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import surelift as sl
from surelift.logs.sources import stores

COLUMNS: dict[str, Any] = {"reward": "reward", "propensity": "propensity"}


def rounds(count: int = 1_000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    action = rng.integers(0, 2, count)
    return pd.DataFrame(
        {
            "reward": (rng.random(count) < np.where(action == 1, 0.6, 0.4)) * 1.0, "propensity": 0.5, "action": action,
            "pi": np.where(action == 1, 0.9, 0.1), "country": np.where(rng.random(count) < 0.5, "FR", "DE"),
        }
    )  # fmt: skip


@pytest.fixture
def events(tmp_path: Path) -> Path:
    rng = np.random.default_rng(106)
    lines = [
        {"_label_cost": -int(earned), "_label_probability": 0.5, "_label_Action": int(action) + 1,
         "a": [int(action) + 1, 2 - int(action)], "p": [0.5, 0.5], "EventId": str(row), "c": {}}
        for row, (action, earned) in enumerate(zip(rng.integers(0, 2, 200), rng.random(200) < 0.5, strict=True))
    ]  # fmt: skip
    path = tmp_path / "x.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_events_given_twice_are_read_once(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = events.parent / "link.json"
    link.symlink_to(events)
    imported = sl.importers.dsjson([str(events), os.path.relpath(events), str(link)])
    assert sl.evaluate(imported.logs, imported.policies["first"]).rounds == 200
    assert "given twice" in capsys.readouterr().err


def test_copies_of_events_are_refused(events: Path) -> None:
    copy, zipped = events.parent / "copy.json", events.parent / "x.json.gz"
    copy.write_bytes(events.read_bytes())
    with pytest.raises(sl.LogsError, match="is a copy of"):
        sl.importers.dsjson([str(events), str(copy)])
    zipped.write_bytes(gzip.compress(events.read_bytes()))
    with pytest.raises(sl.LogsError, match="differ in their compression alone"):
        sl.importers.dsjson([str(events), str(zipped)])


def test_events_that_come_twice_are_refused(events: Path) -> None:
    """As in two exports that overlap."""
    lines = events.read_text().splitlines(keepends=True)
    more = events.parent / "more.json"
    more.write_text("".join([*lines[-20:], *(line.replace('"EventId": "', '"EventId": "other ') for line in lines)]))
    imported = sl.importers.dsjson([str(events), str(more)])
    with pytest.raises(sl.LogsError, match="id 'event': 20 of 400 come more than once"):
        sl.evaluate(imported.logs, imported.policies["first"])


def test_events_that_changed_are_refused(events: Path) -> None:
    imported = sl.importers.dsjson(str(events))
    events.write_text(events.read_text() * 2)
    with pytest.raises(sl.LogsError, match="changed after the log was opened"):
        sl.evaluate(imported.logs, imported.policies["first"])


def test_a_log_beside_itself_compressed_is_refused(tmp_path: Path) -> None:
    rounds(100).to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    with pytest.raises(sl.LogsError, match="differ in their compression alone"):
        sl.Logs(tmp_path, **COLUMNS)


def test_a_function_sees_one_kind_of_a_column_that_is_also_read(tmp_path: Path) -> None:
    """As numbers in the first file and as text in the second, its leading zeros would be lost in the first."""
    table = rounds(2_000).assign(store=[f"{row % 100:03d}" for row in range(2_000)])
    table.loc[1_900:, "store"] = "A01"
    table[:1_900].to_csv(tmp_path / "1.csv", index=False)
    table[1_900:].to_csv(tmp_path / "2.csv", index=False)

    def policy(batch: pa.Table) -> Any:
        chance = np.array([0.1 if str(store).startswith("0") else 0.9 for store in batch["store"].to_pylist()])
        return np.column_stack([1 - chance, chance])

    known: dict[str, Any] = {"action": "action", "action_count": 2, "contexts": ["store"]}
    for where in (None, "store != 'x'"):
        with pytest.raises(sl.LogsError, match=r"'store' holds numbers up to row 1,899, and text from row 1,900 on"):
            sl.compare(sl.Logs(tmp_path, **COLUMNS, **known, where=where), policy)


def test_the_folder_of_rows_without_a_value(tmp_path: Path) -> None:
    table = rounds()
    table.loc[table.index % 5 == 0, "country"] = None
    pq.write_to_dataset(pa.Table.from_pandas(table, preserve_index=False), tmp_path / "parts", partition_cols=["country"])
    for where in ("country != 'FR'", "country is null", "country is not null"):
        found, expected = (sl.Logs(source, **COLUMNS, where=where) for source in (tmp_path / "parts", table))
        assert sl.evaluate(found, "pi").rounds == sl.evaluate(expected, "pi").rounds
    segments = sl.evaluate(sl.Logs(tmp_path / "parts", **COLUMNS), "pi", by="country")
    assert list(segments) == ["(missing)", "DE", "FR"]


def test_files_of_one_name_in_two_accounts_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, account in enumerate(("eu", "us")):
        (tmp_path / account / "logs").mkdir(parents=True)
        rounds(seed=seed).to_parquet(tmp_path / account / "logs" / "day.parquet")

    def azure(account: str | None) -> Any:
        return fs.SubTreeFileSystem(str(tmp_path / str(account)), fs.LocalFileSystem())

    monkeypatch.setattr(stores, "_azure", azure)
    paths = [f"abfss://logs@{account}.dfs.core.windows.net/day.parquet" for account in ("eu", "us")]
    assert sl.evaluate(sl.Logs(paths, **COLUMNS), "pi").rounds == 2_000


@pytest.mark.parametrize("what", ["monitor", "parts"])
def test_clusters_of_which_a_condition_leaves_parts_out(what: str) -> None:
    declared = {**COLUMNS, "cluster": "session", "cluster_max": 4, "where": "country = 'FR'"}
    question = sl.Question.of("compare", declared, {"pi": "pi"})
    ask: Any = {
        "monitor": lambda: sl.Monitor("pi", **declared),
        "parts": lambda: sl.partial_sums([], question),
    }
    with pytest.raises(sl.UsageError, match=f"{what} and torn clusters do not go together: .*left out by where="):
        ask[what]()


def test_predictions_with_rounds_left_out(tmp_path: Path) -> None:
    table = rounds()
    logs = sl.Logs(table, **COLUMNS, action="action", action_count=2, where="country = 'FR'")
    first = np.linspace(0.1, 0.9, len(table)).round(4)
    (tmp_path / "new.txt").write_text("".join(f"0:{chance:.4f},1:{1 - chance:.4f}\n" for chance in first))
    given = (sl.importers.predictions(tmp_path / "new.txt"), np.column_stack([first, 1 - first]))
    found, expected = (sl.evaluate(logs, {"new": policy})["new"] for policy in given)
    assert found.rounds < len(table)
    assert found.lower == pytest.approx(expected.lower, rel=1e-9)


def test_a_table_is_known_through_a_link(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "table"), pa.Table.from_pandas(rounds(), preserve_index=False), partition_by=["country"])
    (tmp_path / "link").symlink_to(tmp_path / "table" / "country=FR")
    with pytest.raises(sl.UsageError, match="belongs to a Delta or Iceberg table"):
        sl.Logs(tmp_path / "link", **COLUMNS)


def test_users_of_growthbook_are_text(tmp_path: Path) -> None:
    users = [("0" if row % 2 else "") + str(row // 2) for row in range(100)]
    table = pd.DataFrame(
        {
            "experiment_id": "e", "variation_id": 0, "user_id": users, "earned": 1,
            "timestamp": pd.date_range("2026-01-01", periods=100, freq="min").astype(str),
        }
    )  # fmt: skip
    table.to_csv(tmp_path / "exposures.csv", index=False)
    imported = sl.importers.growthbook(str(tmp_path / "exposures.csv"), weights=[0.5, 0.5], reward="earned")
    assert imported.logs.count() == 100


def test_files_with_times_of_different_kinds_are_refused(tmp_path: Path) -> None:
    """Local times in one and UTC in the other would be compared as if they were one clock's."""
    days = pd.date_range("2026-01-01", periods=1_000, freq="min")
    rounds().assign(day=days).to_parquet(tmp_path / "a.parquet")
    rounds(seed=1).assign(day=days.tz_localize("UTC")).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(sl.LogsError, match="'day' holds times up to row 999, and times with a zone from row 1,000 on"):
        sl.evaluate(sl.Logs(tmp_path, **COLUMNS, where="day >= 2026-01-01"), "pi")
