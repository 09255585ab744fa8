"""Every kind of result has a sentence, a text, a table, a plot, a form for notebooks, and a page."""

import csv
import io
import re
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import pytest

import surelift as sl
from surelift.results.result import Result
from surelift.views.figures import Intervals
from surelift.views.tables import table
from tests.results.samples import KINDS, every_result, kinds, logs

matplotlib.use("Agg")


def test_no_kind_is_forgotten() -> None:
    assert {type(result).__name__ for result in every_result().values()} == kinds()


@pytest.mark.parametrize("kind", KINDS)
def test_text_fits_a_narrow_terminal(kind: str) -> None:
    for line in str(every_result()[kind]).splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_ends(kind: str) -> None:
    assert every_result()[kind].sentence().endswith(".")


@pytest.mark.parametrize("kind", KINDS)
def test_a_plot_is_labelled_and_draws(kind: str, tmp_path: Path) -> None:
    from matplotlib import pyplot

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = every_result()[kind].plot()
        assert axes.get_xlabel()
        axes.figure.savefig(tmp_path / "plot.png")
        pyplot.close(axes.figure)


def test_a_plot_goes_where_it_is_told() -> None:
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2)
    assert every_result()["Selection"].plot(ax=right) is right
    assert not left.lines
    assert right.lines
    pyplot.close(figure)


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_it_without_script_or_network(kind: str) -> None:
    html = every_result()[kind]._repr_html_()
    assert "<script" not in html
    assert "http" not in html
    assert "<table>" in html


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_it(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert every_result()[kind].to_html(path) is None
    text = path.read_text()
    assert len(text) < 1_500_000
    assert f"<h1>{escaped(every_result()[kind].sentence())}</h1>" in text
    head = text[: text.index("<script type=")]
    assert not re.search(r"\b(src|href)\s*=\s*[\"'](?!data:)", head)


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;")


@pytest.mark.parametrize("kind", KINDS)
def test_csv_holds_the_records(kind: str) -> None:
    rows = list(csv.DictReader(io.StringIO(every_result()[kind].to_csv() or "")))
    assert len(rows) == len(every_result()[kind].records())


def test_the_numbers_of_a_picture_are_those_of_the_result() -> None:
    answer: Any = every_result()["Selection"]
    shown = answer.figure()
    assert isinstance(shown, Intervals)
    for row in shown.rows:
        one = answer.improvements[row.name]
        assert (row.lower, row.estimate, row.upper) == (one.lower, one.estimate, one.upper)
    for cells in table(shown).rows:
        one = answer.improvements[cells[0]]
        assert float(cells[2]) <= one.lower
        assert float(cells[3]) >= one.upper


def test_a_study_says_what_its_parts_say() -> None:
    rounds, _ = logs()
    policies = {"new": "good", "old": "bad"}
    found: Any = every_result()["Report"]
    alone = sl.select(rounds, policies)
    for name, one in found.selection.improvements.items():
        assert one.lower == pytest.approx(alone.improvements[name].lower, abs=1e-12)
        assert one.upper == pytest.approx(alone.improvements[name].upper, abs=1e-12)
        usual = sl.compare(rounds, {name: policies[name]}, method="normal", delta=0.025)
        assert found.normal_intervals[name].lower == pytest.approx(usual.lower, abs=1e-12)
    assert sl.verify(sl.Certificate.of(found.selection), rounds).same
    last = {point.policy: point for point in found.history.points}
    assert {name: point.lower for name, point in last.items()} == {
        name: one.lower for name, one in found.selection.improvements.items()
    }
    assert list(found.values) == ["production", "new", "old"]
    assert list(found.forecasts) == ["old"]


def test_the_course_is_what_each_part_of_the_log_says() -> None:
    """At every point, the answer of a log that ends there: nothing of what comes later is in it."""
    _, table = logs()
    found: Any = every_result()["Report"]
    points = [point for point in found.history.points if point.policy == "new"]
    assert len(points) == 40
    for point in points[::13]:
        first = sl.Logs(
            {name: values[: point.rounds] for name, values in table.items()}, reward="click", propensity="p"
        )
        alone = sl.compare(first, {"new": "good"}, delta=0.025)
        assert (point.lower, point.upper) == pytest.approx((alone.lower, alone.upper), abs=1e-12)


def test_a_course_never_cuts_a_cluster() -> None:
    _, table = logs(600)
    rounds = sl.Logs(
        {**table, "user": [k // 3 for k in range(600)]}, reward="click", propensity="p", cluster="user", cluster_size=3
    )
    found = sl.study(rounds, {"new": "good"})
    assert found.selection is not None
    assert found.history is not None
    assert found.history.points[-1].rounds == found.selection.rounds == 200
    assert found.normal_intervals == {}


def test_a_study_of_unfit_logs_says_why_and_nothing_else() -> None:
    found = sl.study(sl.Logs(reward=[0, 1], propensity=[0.5, 1.5]), {"new": [0.5, 0.5]})
    assert found.selection is None
    assert not found.certified
    page = found.to_html()
    assert page is not None
    assert "Not fit for a guarantee" in page
    assert "certificate.json" not in page


def test_a_profile_has_the_mixture_below_its_best() -> None:
    found: Any = every_result()["Profile"]
    alone = sl.compare(logs()[0], {"new": "good"}, method="logarithmic-smoothing", smoothing=found.smoothings[7])
    assert found.bounds[7] == pytest.approx(alone.lower, abs=1e-9)
    assert found.best[1] >= found.lower


def test_weights_by_size_add_up_and_the_heaviest_are_the_heaviest() -> None:
    rounds, table = logs()
    health = sl.check(rounds, {"new": "good"}).weights["new"]
    assert sum(one.rounds for one in health.sizes) == pytest.approx(1)
    assert sum(one.weight for one in health.sizes) == pytest.approx(1)
    weights = table["good"] / table["p"]
    assert [one.weight for one in health.heaviest_rounds] == sorted(weights, reverse=True)[:5]
    for one in health.heaviest_rounds:
        assert weights[one.row] == one.weight
        assert table["click"][one.row] == one.reward


def test_nothing_to_plot_is_told() -> None:
    health = sl.check(logs()[0])
    with pytest.raises(sl.UsageError, match="give check the policies"):
        health.plot()
    assert "Fit for a guarantee" in (health.to_html() or "")
    assert "Fit for a guarantee" in health._repr_html_()


def test_a_result_of_ones_own_has_to_say_what_it_is() -> None:
    class Unknown(Result):
        pass

    with pytest.raises(NotImplementedError, match="a Unknown has no sentence"):
        Unknown().sentence()
