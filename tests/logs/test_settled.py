"""Which rounds are old enough, in every form of time; and what cannot be declared."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import surelift as sl
from surelift.traits.declaration import Declaration

DAYS = [1, 2, 3, 4, 5, 6]
MOMENTS = [datetime(2026, 3, day, 12) for day in DAYS]
# Up to noon of March 4th: four rounds of six.
AS_OF = "2026-03-06T12:00:00"


def table(times: Any) -> dict[str, Any]:
    return {"t": times, "r": [0, 1, 1, 0, None, None], "p": [0.5] * 6, "new": [0.5, 0.25, 0.5, 0.25, 0.5, 0.5]}


def judged(times: Any, **declared: Any) -> Any:
    logs = sl.Logs(table(times), reward="r", propensity="p", time="t", **declared)
    return sl.evaluate(logs, "new")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Amsterdam"])
def test_timestamps(unit: str, zone: str | None) -> None:
    assert judged(pa.array(MOMENTS, pa.timestamp(unit, zone)), settled_after="2d").rounds == 4


@pytest.mark.parametrize(
    "times, old",
    [
        ([date(2026, 3, day) for day in DAYS], 3),
        ([moment.isoformat() for moment in MOMENTS], 4),
        ([f"{moment.isoformat()}Z" for moment in MOMENTS], 4),
        ([f"2026-03-0{day}" for day in DAYS], 3),
    ],
)
def test_dates_and_texts(times: list[Any], old: int) -> None:
    """A round of a day is as old as that day's end."""
    found = judged(times, settled_after="48h")
    assert found.rounds == old
    assert f"{6 - old} of 6 rounds were younger than 48h" in str(found)


@pytest.mark.parametrize(
    "after, as_of, rounds",
    [
        ("2d", AS_OF, 4),
        ("2880m", datetime(2026, 3, 6, 12), 4),
        (timedelta(days=2), np.datetime64("2026-03-06T12:00"), 4),
        ("2d", datetime(2026, 3, 6, 12, tzinfo=UTC), 4),
        ("2d", "2026-03-06T13:59:59+02:00", 3),
        ("172799.999999s", AS_OF, 4),
        ("172800.000001s", AS_OF, 3),
        ("1w", "2026-03-11T12:00:00", 4),
        ("2d", "2026-03-06T11:59:59.999999", 3),
    ],
)
def test_the_moment_that_is_old_enough_is_exact(after: Any, as_of: Any, rounds: int) -> None:
    zone = "UTC" if getattr(as_of, "tzinfo", None) or "+" in str(as_of) else None
    assert judged(pa.array(MOMENTS, pa.timestamp("us", zone)), settled_after=after, as_of=as_of).rounds == rounds


def test_a_nanosecond_too_young() -> None:
    times = pa.array([0, 0, 0, 0, 1, 1], pa.timestamp("ns"))
    assert judged(times, settled_after="1s", as_of="1970-01-01T00:00:01").rounds == 4


def test_numbers() -> None:
    assert judged(DAYS, settled_after=2, as_of=6).rounds == 4
    assert judged(np.array(DAYS) / 1.0, settled_after="2", as_of="6").rounds == 4
    with pytest.raises(sl.UsageError, match="as_of= is needed"):
        judged(DAYS, settled_after=2)


@pytest.mark.parametrize(
    "declared, says",
    [
        ({"settled_after": "7 days"}, "must be a positive duration such as '7d'"),
        ({"settled_after": "0d"}, "must be a positive duration"),
        ({"settled_after": -1.0}, "must be a positive duration"),
        ({"settled_after": float("nan")}, "must be a positive duration"),
        ({"settled_after": "7d", "as_of": "yesterday"}, "as_of must be a moment"),
        ({"settled_after": 7, "as_of": "2026-03-01"}, "as_of must be a number, as settled_after is"),
        ({"as_of": AS_OF}, "as_of= says how old rounds are"),
        ({"settled_after": "7d", "time": None}, "settled_after= needs time="),
        (
            {"settled_after": "7d", "cluster": "c", "cluster_size": 2},
            r"settled rewards \(settled_after=\) and clusters \(cluster=\) do not go together",
        ),
    ],
)
def test_a_bad_declaration_gets_a_sentence(declared: dict[str, Any], says: str) -> None:
    with pytest.raises(sl.UsageError, match=says):
        Declaration.of(**{"reward": "r", "propensity": "p", "time": "t", **declared})


def test_a_duration_of_numbers_and_a_number_of_moments_are_refused() -> None:
    with pytest.raises(sl.UsageError, match="settled_after is a duration, but time 't' holds int64"):
        judged(DAYS, settled_after="2d", as_of=AS_OF)
    with pytest.raises(sl.UsageError, match="settled_after is a number, but time 't' holds moments"):
        judged(MOMENTS, settled_after=2, as_of=6)
    with pytest.raises(sl.UsageError, match="text that is no moment"):
        judged(["monday"] * 6, settled_after="2d", as_of=AS_OF)


def test_a_missing_time_is_a_fault_and_rows_keep_their_numbers() -> None:
    # Row 0 is young here, and left out; row 1 has no time, row 3 a reward out of range.
    times = [MOMENTS[5], None, *MOMENTS[2:4], *MOMENTS[:2]]
    rows = {**table(times), "r": [None, 1, 1, 7, 0, 0]}
    with pytest.raises(sl.LogsError, match=r"first is 7\.0 in row 3") as refused:
        sl.evaluate(sl.Logs(rows, reward="r", propensity="p", time="t", settled_after="2d", as_of=AS_OF), "new")
    assert "time 't': 1 of 5 values are missing (null); the first is null in row 1" in str(refused.value)


def test_an_array_stays_beside_its_rows() -> None:
    times = [MOMENTS[5], *MOMENTS[:4], MOMENTS[4]]
    rows = {**table(times), "r": [None, 0, 1, 1, 0, None]}
    logs = sl.Logs(rows, reward="r", propensity="p", time="t", settled_after="2d")
    by_array = sl.evaluate(logs, {"new": np.array(rows["new"])})["new"]
    assert by_array.terms_mean == sl.evaluate(logs, "new")["new"].terms_mean == (0.25 + 0.5) / 0.5 / 4 * 1.0


def test_nothing_is_settled() -> None:
    with pytest.raises(sl.LogsError, match="6 of 6 rounds were younger than 7d"):
        judged(MOMENTS, settled_after="7d")
    with pytest.raises(sl.LogsError, match="no round with a time"):
        judged(pa.nulls(6, pa.timestamp("us")), settled_after="7d")
