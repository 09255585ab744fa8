"""A report agrees with the questions it is made of, and its page fits any number of candidates."""

from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.views.page import MOST_DRAWN
from tests.results.samples import every_result, logs


def test_a_report_agrees_with_its_parts() -> None:
    rounds, _ = logs()
    policies = {"new": "good", "old": "bad"}
    report: Any = every_result()["Report"]
    selection = sl.select(rounds, policies, many="simultaneous")
    for name, improvement in report.selection.improvements.items():
        assert improvement.lower == pytest.approx(selection.improvements[name].lower, abs=1e-12)
        assert improvement.upper == pytest.approx(selection.improvements[name].upper, abs=1e-12)
        normal = sl.compare(rounds, {name: policies[name]}, method="normal", delta=0.025)
        assert report.normal_intervals[name].lower == pytest.approx(normal.lower, abs=1e-12)
    assert sl.verify(sl.Certificate.of(report.selection), rounds).same
    last = {point.policy: point for point in report.history.points}
    assert {name: point.lower for name, point in last.items()} == {
        name: improvement.lower for name, improvement in report.selection.improvements.items()
    }
    assert list(report.values) == ["production", "new", "old"]
    assert report.health.to_dict() == sl.check(rounds, policies).to_dict()
    assert list(report.forecasts) == ["old"]


def test_each_point_of_the_history_uses_only_the_rounds_before_it() -> None:
    _, table = logs()
    report: Any = every_result()["Report"]
    points = [point for point in report.history.points if point.policy == "new"]
    assert len(points) == 40
    for point in points[::13]:
        first = sl.Logs({name: values[: point.rounds] for name, values in table.items()}, reward="click", propensity="p")
        improvement = sl.compare(first, {"new": "good"}, delta=0.025)
        assert (point.lower, point.upper) == pytest.approx((improvement.lower, improvement.upper), abs=1e-12)


def test_the_history_never_splits_a_cluster() -> None:
    _, table = logs(600)
    rounds = sl.Logs(
        {**table, "user": [k // 3 for k in range(600)]}, reward="click", propensity="p", cluster="user", cluster_size=3
    )
    report = sl.report(rounds, {"new": "good"})
    assert report.selection is not None
    assert report.history is not None
    assert report.history.points[-1].rounds == report.selection.rounds == 200
    assert report.normal_intervals == {}


def test_a_report_of_unfit_logs_says_why_and_nothing_else() -> None:
    report = sl.report(sl.Logs(reward=[0, 1], propensity=[0.5, 1.5]), {"new": [0.5, 0.5]})
    assert report.selection is None
    assert not report.certified
    page = report.to_html()
    assert page is not None
    assert "Not fit for a guarantee" in page
    assert "certificate.json" not in page


def test_a_single_round_has_a_report_without_a_forecast() -> None:
    report = sl.report(sl.Logs(reward=[1], propensity=[0.5]), {"a": [0.6]})
    assert report.selection is not None
    assert report.forecasts == {}
    assert "no forecast" in (report.to_html() or "")


def test_fifty_candidates_fit_on_a_page() -> None:
    rng = np.random.default_rng(0)
    good = rng.random(400) < 0.5
    rounds = sl.Logs(reward=(rng.random(400) < np.where(good, 0.8, 0.2)) * 1.0, propensity=np.full(400, 0.5))
    probability = np.where(good, 0.9, 0.1)
    policies = {f"candidate {k}": np.clip(probability + 0.002 * k, 0, 1) for k in range(50)}
    page = sl.report(rounds, policies).to_html() or ""
    assert len(page.encode()) < 1_500_000
    assert f"Of 50 candidates, the {MOST_DRAWN} with the highest lower bounds." in page


def test_the_best_of_many_candidates_come_first_in_every_table() -> None:
    shop = sl.datasets.shop().logs()
    report = sl.report(shop, {f"{share:.0%} better": sl.blend("p_better", share) for share in np.linspace(0.1, 1, 10)})
    assert report.selection is not None
    lower = {name: improvement.lower for name, improvement in report.selection.improvements.items()}
    best_first = sorted(lower, key=lambda name: -lower[name])
    assert best_first[0] == "100% better"
    tables = [
        [row[0] for row in paragraph.table.rows if row[0] != "production"]
        for section in report.page().sections
        for paragraph in section.paragraphs
        if paragraph.table is not None and paragraph.table.head[0] == "policy" and not paragraph.table.fold
    ]
    in_order = [list(dict.fromkeys(names)) for names in tables]
    assert len(in_order) >= 2
    assert in_order == [best_first] * len(in_order)
