"""Columns of segments: what combinations and bins are called, and which rounds belong to each."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.logs.segments import Bins, segment_name, segment_texts

TEXTS = st.lists(st.text(alphabet='ab, "\n', min_size=1, max_size=4), min_size=2, max_size=3)
DECLARED: Any = {"reward": "r", "propensity": "p"}


@given(TEXTS)
def test_no_two_combinations_have_one_name(texts: list[str]) -> None:
    """The texts come back from the name, so different texts have different names."""
    assert segment_texts(segment_name(texts), len(texts)) == tuple(texts)


def test_names_by_hand() -> None:
    assert segment_name(["FR"]) == "FR"
    assert segment_name(["FR", "phone"]) == "FR, phone"
    assert segment_name(["a, b", "c"]) == '"a, b", c' != segment_name(["a", "b, c"]) == 'a, "b, c"'
    assert segment_texts("FR,phone", 2) == ("FR", "phone")
    for wrong in ("FR", "FR, phone, x", ", phone", 'a"b, c', '"a"b, c', "FR, "):
        assert segment_texts(wrong, 2) == ()


def test_bins_by_hand() -> None:
    cut = sl.bins("age", [18, 30.5])
    assert cut.names == ("age < 18", "18 <= age < 30.5", "age >= 30.5")
    assert cut.ranges == ((None, 18.0), (18.0, 30.5), (30.5, None))
    assert cut == sl.bins("age", np.array([18, 30.5]).tolist()) == Bins("age", (18.0, 30.5))
    assert sl.bins("x", [-1e300, 1e-9]).names[1] == "-1e+300 <= x < 1e-09"


@pytest.mark.parametrize(
    "edges, message",
    [
        ([], "needs its edges"), ("18,30", "needs its edges"), (18, "needs its edges"),
        ([30, 18], "must increase, but 30 is followed by 18"), ([18, 18], "must increase"),
        ([18, float("nan")], "must be a finite number, but one is nan"), ([float("inf")], "must be a finite number"),
        ([10**400], "must be a finite number"), (["18"], "must be a finite number, but one is '18'"), ([True], "finite"),
    ],
    ids=str,
)  # fmt: skip
def test_edges_are_finite_numbers_that_increase(edges: Any, message: str) -> None:
    with pytest.raises(sl.UsageError, match=message):
        sl.bins("age", edges)


def columns(values: Any) -> dict[str, Any]:
    return {"r": np.zeros(len(values)), "p": np.full(len(values), 0.5), "n": np.full(len(values), 0.5), "x": values}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([17, 18, 29, 30, None, 31]),
        pa.array([17.999, 18.0, 29.999, 30.0, float("nan"), 1e9]),
        pa.array([True, None]).cast(pa.uint8()).take([0, 0, 0, 0, 1, 0]),
    ],
    ids=["integers", "floats", "small"],
)
def test_a_number_belongs_to_the_last_edge_that_it_reaches(values: pa.Array) -> None:
    found = sl.evaluate(sl.Logs(columns(values), **DECLARED), "n", by=sl.bins("x", [18, 30]))
    small = values.type == pa.uint8()
    expected = {"x < 18": 5, "(missing)": 1} if small else {"x < 18": 1, "18 <= x < 30": 2, "x >= 30": 2, "(missing)": 1}
    assert {name: one.rounds for name, one in found.items()} == expected


def test_numbers_in_a_csv_and_what_is_none(tmp_path: Any) -> None:
    path = tmp_path / "log.csv"
    rows = [f"0,0.5,0.5,{age}" for age in ("17", "18", "", "NA", " 30.0 ", "true")]
    path.write_text("\n".join(["r,p,n,x", *rows]) + "\n")
    found = sl.evaluate(sl.Logs(str(path), **DECLARED), "n", by=sl.bins("x", [18]))
    assert {name: one.rounds for name, one in found.items()} == {"x < 18": 2, "x >= 18": 2, "(missing)": 2}
    path.write_text("\n".join(["r,p,n,x", *rows, "0,0.5,0.5,young"]) + "\n")
    with pytest.raises(sl.LogsError, match=r"by 'x': 1 of 7 values are not numbers; the first is 'young' in row 6"):
        sl.evaluate(sl.Logs(str(path), **DECLARED), "n", by=sl.bins("x", [18]))


@pytest.mark.parametrize(
    "values, message",
    [
        (["a", "b"], "by 'x': 2 of 2 values are not numbers; the first is 'a' in row 0"),
        (pa.array([1, 2], pa.timestamp("s")), "2 of 2 values are not numbers"),
        ([1.0, float("inf")], "by 'x': 1 of 2 values are infinite; the first is inf in row 1"),
    ],
    ids=["texts", "times", "infinity"],
)
def test_what_is_no_number_is_refused_with_its_row(values: Any, message: str) -> None:
    with pytest.raises(sl.LogsError, match=message):
        sl.evaluate(sl.Logs(columns(values), **DECLARED), "n", by=sl.bins("x", [18]))
