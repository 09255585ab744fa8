"""Tables of figures: bounds rounded outwards, one row for each interval, line or bar."""

from dataclasses import replace

import pytest

from surelift.views.figures import Curve, Dot, Dots, Growing, Interval, Intervals, Line, WeightHistogram, WeightSize
from surelift.views.tables import Table, table


def test_intervals_round_bounds_outwards_and_leave_missing_sides_open() -> None:
    figure = Intervals("value", (Interval("a", 0.5, 0.41239, 0.5871), Interval("b", 0.2, None, 0.30001)))
    assert table(figure) == Table(
        ("policy", "estimate", "at least", "at most"), (("a", "0.500", "0.412", "0.588"), ("b", "0.200", "-", "0.301"))
    )


def test_rows_in_units_of_their_own_share_the_zero_and_no_scale() -> None:
    rows = (Interval("usd", 0.003, 0.00201, 0.0039, mark=-0.00804), Interval("ms", 150.0, -50.0, 200.0, mark=0.0))
    figure = Intervals("improvement", rows, own_units=True)
    assert [row[2:] for row in table(figure).rows] == [("0.00201", "0.00390"), ("-50.00", "200.00")]
    drawn = figure.on_one_axis()
    assert (drawn[0].lower, drawn[0].mark) == pytest.approx((0.25, -1.0))
    assert (drawn[1].estimate, drawn[1].lower, drawn[1].upper) == pytest.approx((0.75, -0.25, 1.0))
    assert Intervals("improvement", rows).on_one_axis() == rows


def test_verdicts_have_a_column_only_where_there_are_any() -> None:
    rows = (Interval("a", 0.5, 0.4, 0.6, "certified", certified=True), Interval("b", 0.5, 0.4, 0.6))
    assert table(Intervals("gain", rows, signed=True, column="claim")).head == (
        "claim", "estimate", "at least", "at most", "verdict",
    )  # fmt: skip


def test_a_certified_bound_that_would_be_rounded_to_the_margin_exceeds_it() -> None:
    certified = Interval("a", 0.05, 0.00001, 0.1, "certified", certified=True)
    rows = (certified, replace(certified, name="b", lower=-0.0625), replace(certified, name="c", certified=False))
    figure = Intervals("improvement", rows, signed=True, reference=0.0)
    assert [row[2] for row in table(figure).rows] == ["> 0", "-0.0625", "+0.0000"]
    assert table(replace(figure, rows=(replace(certified, lower=0.02),), reference=0.02)).rows[0][2] == "> 0.02"


def test_a_long_line_is_thinned_to_twelve_rows_with_both_ends() -> None:
    x = tuple(float(count) for count in range(1, 101))
    line = Line("a", x, (0.1,) * 100, (0.2,) * 100, (0.3,) * 100)
    rows = table(Growing("value", "rounds", (line,), None)).rows
    assert len(rows) == 12
    assert (rows[0][1], rows[-1][1]) == ("1", "100")


def test_the_other_figures() -> None:
    assert table(WeightHistogram({"a": (WeightSize(2.0, 0.25, 0.5),)})).rows == (("a", "1 to 2", "25%", "50%"),)
    assert table(Curve("n", "power", (10.0,), (0.5,), 0.8, "", percent=True)).rows == (("10", "50.0%"),)
    assert table(Dots((Dot("a", "mixture", 0.96, 0.1, True),), 0.95)).rows == (("a", "mixture", "96.0%", "0.1"),)


def test_an_unknown_figure_has_no_table() -> None:
    with pytest.raises(TypeError, match="a str has no table"):
        table("not a figure")
