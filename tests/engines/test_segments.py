"""Segments in a database: what the local engine refuses, it refuses too."""

from typing import Any

import ibis
import pyarrow as pa
import pytest

import surelift as sl

COUNT = 30
ONE: Any = {"method": "logarithmic-smoothing", "smoothing": 0.2}  # a small query


def logs_of(**columns: Any) -> sl.Logs:
    table = pa.table({"r": [0.0, 1.0] * 15, "q": [0.5] * COUNT, "new": [0.5] * COUNT, **columns})
    return sl.Logs(ibis.duckdb.connect().create_table("log", table), reward="r", propensity="q")


@pytest.mark.parametrize(
    "by, segments, message",
    [
        (sl.bins("place", [1]), None, "by 'place': the column holds string, not numbers"),
        (["place", sl.bins("load", [1])], None, "by 'load': 1 of 30 values are infinite; one of them is inf"),
        (["odd", "place"], None, r"by 'odd': 15 of 30 values are the text '\(missing\)'"),
        (
            ["place", "size"],
            [("FR", "1")],
            "by 'place', 'size': 15 of 30 values belong to a segment that was not declared",
        ),
    ],
)
def test_what_a_database_refuses(by: Any, segments: Any, message: str) -> None:
    place, odd = ["FR", "DE"] * 15, ["(missing)", "x"] * 15
    logs = logs_of(place=place, odd=odd, size=[1] * COUNT, load=[float("inf"), *[0.5] * (COUNT - 1)])
    with pytest.raises(sl.LogsError, match=message):
        sl.evaluate(logs, "new", by=by, segments=segments, **ONE)


def test_too_many_combinations_in_a_database() -> None:
    count = 1_100
    table = pa.table({"r": [0.0] * count, "q": [0.5] * count, "x": range(count), "y": [1, 2] * (count // 2)})
    logs = sl.Logs(ibis.duckdb.connect().create_table("log", table), reward="r", propensity="q")
    with pytest.raises(sl.LogsError, match="by 'x', 'y' has more than 1,000 segments"):
        sl.evaluate(logs, "q", by=["x", "y"], **ONE)
    answer = sl.evaluate(logs, "q", **ONE, by=[sl.bins("x", [500, 1_000]), "y"])
    assert list(answer)[:3] == ["x < 500, 1", "x < 500, 2", "500 <= x < 1000, 1"]
