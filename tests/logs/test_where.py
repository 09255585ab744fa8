"""The conditions of where=: what can be written, which rows meet them, and what is refused."""

import sqlite3
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.logs.batch import TableBatch
from surelift.logs.chosen import met
from surelift.logs.where import Comparison, Joined, Missing, parsed
from surelift.traits.declaration import Declaration

ROWS: dict[str, list[Any]] = {
    "n": [1, 2, 3, None, 5, 6],
    "x": [0.5, None, 2.5, 2.5, -1.0, 0.0],
    "c": ["FR", "DE", None, "FR", "it's", ""],
    "b": [True, False, None, True, True, False],
}
TABLE = pa.table(ROWS)


def rows_that_meet(where: str, table: pa.Table = TABLE, **batch: Any) -> list[int]:
    return np.flatnonzero(met(TableBatch(table, 0, **batch), parsed(where))).tolist()


def test_what_is_read() -> None:
    assert parsed("n=1") == parsed("  n  ==  +1 ") == Comparison("n", "=", 1)
    assert parsed('"odd ""name""" <> 1.5e-3') == Comparison('odd "name"', "!=", 1.5e-3)
    assert parsed("c = 'it''s'") == Comparison("c", "=", "it's")
    assert parsed("d < 2026-01-31") == Comparison("d", "<", date(2026, 1, 31))
    assert parsed("d < 2026-01-31 12:30:00.5") == Comparison("d", "<", datetime(2026, 1, 31, 12, 30, 0, 500_000))
    assert parsed("d < 2026-01-31T12:30+02:00").value.isoformat() == "2026-01-31T10:30:00+00:00"  # type: ignore[union-attr]
    assert parsed("a IS NOT NULL") == Missing("a", False)
    assert parsed("NOT b = TRUE") == Comparison("b", "!=", True)
    # and binds more tightly than or, not more tightly than both.
    a, b, c = (Comparison(name, "=", 1) for name in "abc")
    assert parsed("a = 1 or b = 1 and c = 1") == Joined((a, Joined((b, c), all_of=True)), all_of=False)
    assert parsed("not a != 1 and (b = 1 or c = 1)") == Joined((a, Joined((b, c), all_of=False)), all_of=True)
    assert parsed("a between 1 and 2 and b = 1") == Joined(
        (Joined((Comparison("a", ">=", 1), Comparison("a", "<=", 2)), all_of=True), b), all_of=True
    )


@pytest.mark.parametrize(
    "where, place, says",
    [
        ("country = FR", "FR", "text goes in single quotes, 'FR'"),
        ('country = "FR"', '"FR"', "text goes in single quotes, 'FR'"),
        ("country = null", "null", "nulls are found by is null"),
        ("country = 'FR", "'", "expected a number"),
        ("country", "", "expected =, !=, <"),
        ("country in ('FR'", "", "expected , or )"),
        ("country in ()", ")", "expected a number"),
        ("country not = 'FR'", "=", "expected in or between"),
        ("country = 'FR' and", "", "expected a column"),
        ("country = 'FR' nor x = 1", "nor", "expected and, or, or the end"),
        ("(x = 1", "", "expected )"),
        ("1 = x", "1", "expected a column"),
        ("x = 2026-02-30", "2026-02-30", "there is no such date"),
        ("x = 2026-1-1", "-1", "expected and, or, or the end"),
        ("x = 9223372036854775808", "9223372036854775808", "there is no such number of 64 bits"),
        ("x = 1e400", "1e400", "there is no such number"),
        ("x = 1; drop table logs", ";", "expected and, or, or the end"),
        ("(" * 200 + "x = 1" + ")" * 200, "(", "more than 100 conditions lie inside each other"),
    ],
)
def test_what_cannot_be_read_is_pointed_at(where: str, place: str, says: str) -> None:
    with pytest.raises(sl.UsageError) as refused:
        Declaration.of(reward="r", propensity="p", where=where)
    message, text, mark = str(refused.value).split("\n")
    assert says in message
    assert (text[mark.index("^") :].startswith(place), text.strip()) == (True, where.strip())
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("where", ["", "  ", 7])
def test_a_condition_is_text(where: Any) -> None:
    with pytest.raises(sl.UsageError, match="where must be a condition such as"):
        Declaration.of(reward="r", propensity="p", where=where)


def leaves() -> st.SearchStrategy[str]:
    numbers = st.sampled_from(["-1", "0", "0.5", "2", "2.5", "3", "6"])
    texts = st.sampled_from(["'FR'", "'DE'", "'it''s'", "''"])
    signs = st.sampled_from(["=", "==", "!=", "<>", "<", "<=", ">", ">="])
    comparison = st.builds("{} {} {}".format, st.sampled_from("nx"), signs, numbers)
    same = st.builds("{} {} {}".format, st.just("c"), st.sampled_from(["=", "!="]), texts)
    several = st.builds("{} {}in ({}, {})".format, st.just("c"), st.sampled_from(["", "not "]), texts, texts)
    between = st.builds(
        "{} {}between {} and {}".format, st.sampled_from("nx"), st.sampled_from(["", "not "]), numbers, numbers
    )
    null = st.builds("{} is {}null".format, st.sampled_from("nxcb"), st.sampled_from(["", "not "]))
    return st.one_of(comparison, same, several, between, null, st.sampled_from(["b = true", "b != false"]))


def conditions() -> st.SearchStrategy[str]:
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(
            st.builds("({} and {})".format, inner, inner), st.builds("({} or {})".format, inner, inner),
            st.builds("not {}".format, inner),
        ),
        max_leaves=6,
    )  # fmt: skip


@given(where=conditions())
def test_the_rows_are_those_of_a_database(where: str) -> None:
    with sqlite3.connect(":memory:") as database:
        database.execute("create table logs (n integer, x real, c text, b boolean)")
        database.executemany("insert into logs values (?, ?, ?, ?)", zip(*ROWS.values(), strict=True))
        chosen = database.execute(f"select rowid - 1 from logs where {where}").fetchall()
    assert rows_that_meet(where) == [row for (row,) in chosen]


def test_numbers_are_compared_exactly() -> None:
    large = pa.table({"id": pa.array([2**53, 2**53 + 1, 2**63 - 1]), "f": pa.array([0.1, np.nan, np.inf], pa.float32())})
    assert rows_that_meet(f"id = {2**53 + 1}", large) == [1]
    assert rows_that_meet(f"id > {2**53 + 0}", large) == [1, 2]
    assert rows_that_meet("id > 0.5", large) == [0, 1, 2]
    # In 64 bits; what is not a number is null.
    assert rows_that_meet("f = 0.1", large) == []
    assert rows_that_meet("f > 0.1", large) == [0, 2]
    assert rows_that_meet("f is null", large) == [1]
    with pytest.raises(sl.UsageError, match="does not hold whole numbers exactly, but is compared with 9007199254740993"):
        rows_that_meet(f"f = {2**53 + 1}", large)
    unsigned = pa.table({"u": pa.array([0, 2**64 - 1], pa.uint64())})
    assert rows_that_meet("u > -1", unsigned) == [0, 1]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Amsterdam"])
def test_moments_of_every_unit(unit: str, zone: str | None) -> None:
    times = [datetime(2026, 3, day, 12) for day in (1, 2, 3)]
    table = pa.table({"t": pa.array(times, pa.timestamp(unit, zone))})
    assert rows_that_meet("t >= 2026-03-02", table) == [1, 2]
    assert rows_that_meet("t = 2026-03-02T12:00", table) == [1]
    assert rows_that_meet("t > 2026-03-02T12:00", table) == [2]
    assert rows_that_meet("t < 9999-01-01", table) == [0, 1, 2]
    if zone is None:
        with pytest.raises(sl.UsageError, match="the times of column 't' name no zone"):
            rows_that_meet("t > 2026-03-02T12:00Z", table)
    else:
        assert rows_that_meet("t = 2026-03-02T14:00+02:00", table) == [1]


def test_a_nanosecond_counts() -> None:
    table = pa.table({"t": pa.array([0, 1], pa.timestamp("ns"))})
    for sign, rows in {"=": [0], "!=": [1], "<=": [0], ">": [1], "<": [], ">=": [0, 1]}.items():
        assert rows_that_meet(f"t {sign} 1970-01-01", table) == rows


def test_days_and_text_of_days() -> None:
    days = [date(2026, 1, 31), date(2026, 2, 1), None]
    for column in (pa.array(days), pa.array(days, pa.date64()), pa.array([str(day) if day else None for day in days])):
        assert rows_that_meet("d >= 2026-02-01", pa.table({"d": column})) == [1]
        assert rows_that_meet("d > 2026-01-31T12:00", pa.table({"d": column})) == [1]


def test_other_forms_of_text_and_columns_without_values() -> None:
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        assert rows_that_meet("c = 'FR'", pa.table({"c": pa.array(["FR", "DE", None]).cast(kind)})) == [0]
    empty = pa.table({"c": pa.nulls(2)})
    assert rows_that_meet("c = 'FR' or c > 1 or c > 2026-01-01", empty) == []
    assert rows_that_meet("c is null", empty) == [0, 1]


@pytest.mark.parametrize(
    "where, says",
    [
        ("c = 5", "column 'c' holds text, but is compared with a number; write it in quotes, '5'"),
        ("n = 'FR'", "column 'n' holds whole numbers, but is compared with text; write numbers without quotes"),
        ("b = 1", "column 'b' holds truth values, but is compared with a number; say true or false"),
        ("n = true", "column 'n' holds whole numbers, but is compared with a truth value"),
        ("n > 2026-01-01", "column 'n' holds whole numbers, but is compared with a date"),
        ("t = '2026-01-01'", "column 't' holds moments, but is compared with text; write a date without quotes"),
        ("c < 'FR'", "column 'c' is compared with text by <, whose order differs between databases; use ="),
        ("v = 1", "column 'v' holds list"),
    ],
)
def test_types_that_do_not_fit_get_a_sentence(where: str, says: str, tmp_path: Path) -> None:
    table = TABLE.append_column("t", pa.array([datetime(2026, 1, 1)] * 6)).append_column("v", pa.array([[1]] * 6))
    for empty in (table, table.slice(0, 0)):
        with pytest.raises(sl.UsageError) as refused:
            rows_that_meet(where, empty)
        assert says in str(refused.value)


def test_a_csv_is_read_as_what_it_is_compared_with(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("r,p,q,n,c,d,b\n1,.5,.6,10,007,2026-01-31,true\n0,.5,.4,9,7,2026-02-01T00:00:00,FALSE\n1,.5,.6,,,,\n")

    def rounds(where: str) -> int:
        return sl.evaluate(sl.Logs(str(path), reward="r", propensity="p", where=where), "q").rounds

    for where, found in {
        "n > 9": 1, "n >= 9": 2, "c = '007'": 1, "c = 7": 2, "c != '007'": 1, "d >= 2026-02-01": 1, "b = true": 1,
        "b != true": 1, "n is null and c is null and d is null": 1, "not n > 9": 1,
    }.items():  # fmt: skip
        assert rounds(where) == found, where
    with pytest.raises(sl.LogsError, match=r"2 of the 3 cells of column 'd' .* first is '2026-01-31' in row 0") as refused:
        rounds("d > 2")
    assert refused.value.exit_code == 4
    path.write_text(path.read_text() + "1,.5,.6,many,,2026-13-01,2\n")
    for where, cell in {"n > 9": "many", "d > 2026-01-01": "2026-13-01", "b = true": "2"}.items():
        with pytest.raises(sl.LogsError, match=f"the first is '{cell}' in row 3, counting from 0"):
            rounds(where)


@pytest.mark.parametrize(
    "where, declared, says",
    [
        ("r = 1", {}, "where= names 'r', declared as reward: a round may be chosen only by what was known before"),
        ("n = 1 or not (p > 0.1)", {}, "where= names 'p', declared as propensity"),
        ("a = 'buy'", {"action": "a"}, "where= names 'a', declared as action"),
        ("a = 'buy'", {"action": "a", "contexts": ["a", "n"]}, "where= names 'a', declared as action"),
        ("s > 0.5", {"score": "s", "label_probability": 0.1}, "where= names 's', declared as score"),
        ("k = 1", {"keep_probability": "k"}, "where= names 'k', declared as keep_probability"),
        ("i = 1", {"id": "i"}, "where= names 'i', declared as id"),
        ("step = 0", {"cluster": "c", "cluster_max": 3, "position": "step"}, "declared as position"),
        (
            "n = 1", {"keep_probability": "k", "rounds_before_sampling": 9},
            "(rounds_before_sampling=) and where (where=) do not go together",
        ),
        (
            "n = 1", {"propensity": None, "logger": "l", "loggers": {"a": "pa", "b": "pb"}},
            "balanced loggers (loggers= without logger_shares=) and where (where=) do not go together",
        ),
    ],
)  # fmt: skip
def test_what_follows_from_the_action_is_refused_by_its_role(where: str, declared: dict[str, Any], says: str) -> None:
    with pytest.raises(sl.UsageError) as refused:
        Declaration.of(**{"reward": "r", "propensity": "p", "where": where, **declared})
    assert says in str(refused.value)


def test_time_contexts_and_the_cluster_are_known_before() -> None:
    for name in ("t", "c", "x", "other"):
        Declaration.of(
            reward="r",
            propensity="p",
            time="t",
            cluster="c",
            cluster_max=2,
            contexts=("x",),
            where=f"{name} is not null",
        )


def test_a_column_that_is_not_there_gets_the_names_of_those_that_are() -> None:
    table = pa.table({"r": [1.0], "p": [0.5], "country": ["FR"]})
    with pytest.raises(sl.UsageError, match=r"no column 'contry' for where\. Did you mean 'country'\?"):
        sl.Logs(table, reward="r", propensity="p", where="contry = 'FR'")


def test_row_groups_that_cannot_match_are_not_read_and_rows_keep_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from surelift.logs.sources.parquet import ParquetFile

    rounds, path = 1000, str(tmp_path / "log.parquet")
    rewards = np.zeros(rounds)
    rewards[555] = 7.0
    table = pa.table({"r": rewards, "p": np.full(rounds, 0.5), "q": np.full(rounds, 0.5), "n": np.arange(rounds)})
    pq.write_table(table, path, row_group_size=100)
    read, plain = list[int](), ParquetFile.batches

    def watched(self: ParquetFile, columns: Any, size: int, groups: range | None = None) -> Any:
        read.extend(groups or [])
        return plain(self, columns, size, groups)

    monkeypatch.setattr(ParquetFile, "batches", watched)
    for where, groups in {
        "n >= 300 and n < 350": [3], "n < 100 or n = 950": [0, 9], "not n < 900": [9], "n is null": [], "n = 2.5": [0],
        "n in (5, 205) and n != 5": [0, 2],
    }.items():  # fmt: skip
        read.clear()
        found = sl.check(sl.Logs(path, reward="r", propensity="p", where=where))
        assert f"{rounds - found.rounds:,} of 1,000 rounds do not meet" in str(found)
        assert sorted(set(read)) == groups, where
    with pytest.raises(sl.LogsError, match=r"1 of 100 values lie outside .* first is 7\.0 in row 555"):
        sl.evaluate(sl.Logs(path, reward="r", propensity="p", where="n between 500 and 599"), "q")


@given(where=conditions())
def test_no_row_that_meets_a_condition_is_in_a_row_group_that_is_skipped(
    where: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "groups.parquet"
    if not path.exists():
        pq.write_table(TABLE, path, row_group_size=2)
    from surelift.logs.sources.parquet import ParquetFile

    wanted = [run for run, _, may in ParquetFile(str(path), frozenset()).runs(parsed(where), {}) if may]
    read = [2 * group + row for run in wanted for group in run for row in (0, 1)]
    assert set(rows_that_meet(where)) <= set(read)


def test_folders_that_cannot_match_are_not_read(tmp_path: Path) -> None:
    table = pa.table({"r": [0.0, 1.0], "p": [0.5, 0.5], "q": [0.4, 0.6]})
    for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(table, tmp_path / f"day={day}" / "part.parquet")
    answer = sl.evaluate(sl.Logs(str(tmp_path), reward="r", propensity="p", where="day >= 2026-01-02"), "q")
    assert answer.rounds == 4
    assert "2 of 6 rounds do not meet `day >= 2026-01-02`, and were left out." in str(answer)


def test_statistics_skip_what_every_sign_excludes(tmp_path: Path) -> None:
    from surelift.logs.sources.parquet import ParquetFile

    days = [date(2026, 1, day) for day in (1, 2, 3, 4)]
    table = pa.table({"n": [1, 2, 3, 4], "d": days, "t": pa.array(days).cast(pa.timestamp("us")), "c": ["a", "b", "c", "d"]})
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=2)
    file = ParquetFile(str(tmp_path / "log.parquet"), frozenset())
    signs = {"=": [0], "!=": [0, 1], "<": [0], "<=": [0], ">": [0, 1], ">=": [0, 1]}
    for sign, groups in signs.items():
        # The last of the first row group: a microsecond is left to moments, whose finer parts statistics do not tell.
        for where in (f"n {sign} 2", f"d {sign} 2026-01-02", f"t {sign} 2026-01-02"):
            read = [group for run, _, may in file.runs(parsed(where), {}) if may for group in run]
            wanted = [1] if sign == ">" and where[0] == "n" else groups
            assert read == wanted, where
    for where, groups in {
        "c = 'b'": [0],
        "c = 'c'": [1],
        "c = 'x'": [],
        "n >= 4": [1],
        "n > 4": [],
        "n < 1": [],
    }.items():
        assert [group for run, _, may in file.runs(parsed(where), {}) if may for group in run] == groups, where


def test_rows_that_were_left_out_count_once_where_a_batch_is_cut() -> None:
    batch = TableBatch(TABLE, 0, excluded=5, left_out=3)
    assert [(part.table.num_rows, part.excluded, part.left_out) for part in batch.cut(4)] == [(4, 5, 3), (2, 0, 0)]


@pytest.mark.parametrize("where", ["age is null", "age is not null", "age is null or age > 0"])
def test_a_word_for_missing_is_not_taken_for_text_nor_for_null(where: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("r,p,new,age\n1,0.5,0.4,30\n0,0.5,0.4,NA\n1,0.5,0.4,\n")
    with pytest.raises(sl.LogsError, match=r"'age' from row 0 on hold a word .*the first is 'NA' in row 1.*counting from 0"):
        sl.evaluate(sl.Logs(tmp_path / "log.csv", reward="r", propensity="p", where=where), "new")
    kept = sl.Logs(tmp_path / "log.csv", reward="r", propensity="p", where="age > 0")
    assert sl.evaluate(kept, "new").rounds == 1
