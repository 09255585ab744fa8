"""The health of logs and of importance weights."""

import pytest

import surelift as sl
from tests.results.samples import logs


def test_shares_of_weight_add_up_and_the_heaviest_rounds_are_found() -> None:
    rounds, table = logs()
    health = sl.check(rounds, {"new": "good"}).weights["new"]
    assert sum(size.rounds for size in health.sizes) == pytest.approx(1)
    assert sum(size.weight for size in health.sizes) == pytest.approx(1)
    weights = table["good"] / table["p"]
    assert [heavy.weight for heavy in health.heaviest_rounds] == sorted(weights, reverse=True)[:5]
    for heavy in health.heaviest_rounds:
        assert weights[heavy.row] == heavy.weight
        assert table["click"][heavy.row] == heavy.reward


def test_without_policies_there_is_nothing_to_plot() -> None:
    health = sl.check(logs()[0])
    with pytest.raises(sl.UsageError, match="give check the policies"):
        health.plot()
    assert "Fit for a guarantee" in (health.to_html() or "")
    assert "Fit for a guarantee" in health._repr_html_()
