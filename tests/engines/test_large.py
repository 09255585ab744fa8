"""Sums are kilobytes whatever the number of rounds: three million go through a driver that takes 4 MB."""

from typing import Any

import pytest

import surelift as sl

pytestmark = pytest.mark.slow

MILLIONS = 3
ROUNDS = MILLIONS * 1_000_000


@pytest.fixture(scope="module")
def rounds(spark: Any) -> Any:
    """Made by Spark itself: no row of it was ever in this process."""
    assert spark.sparkContext.getConf().get("spark.driver.maxResultSize") == "4m"
    columns = [
        "q", "least(1.0, q * w) as p", "cast(u < 0.03 + 0.02 * w as double) as click", "cast(v < 0.9 as double) as kept",
        "timestamp_seconds(1709251200 + id) as t", "concat('country ', id % 20) as country", "id div 3 as session",
    ]  # fmt: skip
    drawn = "0.2 + 0.4 * rand(1) as q", "0.5 + rand(2) as w", "rand(3) as u", "rand(4) as v", "id"
    return spark.range(0, ROUNDS, 1, 6).selectExpr(*drawn).selectExpr(*columns).persist()


def test_three_million_rounds_go_through_a_driver_of_four_megabytes(rounds: Any) -> None:
    declared: dict[str, Any] = {"reward": "click", "propensity": "q"}
    logs, timed = sl.Logs(rounds, **declared), sl.Logs(rounds, time="t", **declared)
    whole = sl.compare(logs, "p")
    assert whole.rounds == ROUNDS
    assert whole.certified
    by = sl.compare(logs, "p", by="country")
    assert len(by) == 20
    assert sum(result.rounds for result in by.values()) == ROUNDS
    health = sl.check(timed, "p", by="country")
    assert health.ok
    assert health.rounds == ROUNDS
    gate = sl.gate(logs, "p", guardrails=[sl.Outcome("kept", at_most_worse=0.05)])
    assert gate.certified
    assert sl.power(logs, "p", margin=0.004).rounds == ROUNDS
    clustered = sl.compare(sl.Logs(rounds, cluster="session", cluster_size=3, **declared), "p")
    assert clustered.rounds == ROUNDS // 3
    assert clustered.estimate == pytest.approx(whole.estimate, rel=1e-9)
    report = sl.report(timed, "p")
    assert report.certified
    assert report.history is not None
    assert len(report.history.points) > 30
