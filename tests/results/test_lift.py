"""The lift in the words of the reward, what it assumes, and why upper bounds are wide: on real logs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.results.lift import Measured, upper_explained


def table(column: str = "click", rate: float = 0.1) -> dict[str, Any]:
    """The candidate takes the better of two actions more often than production."""
    rng = np.random.default_rng(5)
    good = rng.random(8_000) < 0.5
    reward = (rng.random(8_000) < np.where(good, 3 * rate, rate)) * 1.0
    return {column: reward, "p": np.full(8_000, 0.5), "q": np.where(good, 0.9, 0.1)}


@pytest.mark.parametrize(
    "column, lower, words",
    [
        ("click", 0.4897, "at least 48% more clicks"), ("converted", 0.0209, "at least 2.0% more conversions"),
        ("Revenue", 0.12, "at least 12% more revenue"), ("eur", 2.5, "at least 250% more 'eur'"),
        ("click", 0.0009, ""), ("click", None, ""),
    ],
)  # fmt: skip
def test_a_lift_is_rounded_down_and_speaks_of_the_reward(column: str, lower: float | None, words: str) -> None:
    assert Measured(column).lift(lower, "production") == (words and f"{words} than production")


def test_a_cost_falls() -> None:
    assert Measured("cost", "cost").lift(0.2, "production") == "at least 20% less cost than production"
    assert Measured("click", "cost").lift(0.2, "production") == "at least 20% fewer clicks than production"


def test_the_page_tells_the_lift_and_what_it_assumes() -> None:
    logs = sl.Logs(table(), reward="click", propensity="p")
    page = sl.compare(logs, "q").to_html() or ""
    assert "% more clicks than production, if that ratio does not drift (a separate bound, at the same level)." in page
    assert "0 is a true zero of the reward" in page
    report = sl.report(logs, {"new": "q"})
    assert "% more clicks than production, if that ratio does not drift." in report.sentence()
    assert "0 is a true zero of the reward" in (report.to_html() or "")


@pytest.mark.parametrize("limits", [(-1.0, 1.0), (10.0, 50.0)])
def test_a_range_without_a_zero_has_no_lift(limits: tuple[float, float]) -> None:
    columns = table("euros")
    columns["euros"] = limits[0] + (limits[1] - limits[0]) * columns["euros"]
    logs = sl.Logs(columns, reward="euros", propensity="p", reward_range=limits)
    report = sl.report(logs, {"new": "q"})
    assert report.certified
    assert "%" not in report.sentence()
    assert "true zero" not in (report.to_html() or "")


def test_clusters_of_unequal_sizes_have_no_lift_of_the_total() -> None:
    """Each counts once: the mean of their averages may rise while the total falls."""
    rng = np.random.default_rng(3)
    sizes = np.array([1] * 4_000 + [100] * 200)
    cluster = np.repeat(np.arange(sizes.size), sizes)
    large = np.repeat(sizes > 1, sizes)
    good = rng.random(cluster.size) < 0.5
    chance = np.where(good != large, 0.5, 0.1)  # in large clusters the other action is the better one
    columns = {
        "click": (rng.random(cluster.size) < chance) * 1.0, "p": np.full(cluster.size, 0.5),
        "q": np.where(good, 0.9, 0.1), "user": cluster, "size": np.repeat(sizes, sizes),
    }  # fmt: skip
    logs = sl.Logs(columns, reward="click", propensity="p", cluster="user", cluster_size="size")
    answer = sl.compare(logs, "q")
    assert answer.certified
    assert answer.certified_lift == ""
    report = sl.report(logs, {"new": "q"})
    assert "%" not in report.sentence()
    assert "Per round, it is" not in (report.to_html() or "")
    padded = sl.Logs(columns, reward="click", propensity="p", cluster="user", cluster_max=100)
    assert not sl.compare(padded, "q").certified


def test_an_outcome_speaks_of_its_own_column() -> None:
    columns = table()
    columns["usd"] = 1.0 - columns["click"]
    logs = sl.Logs(columns, reward="click", propensity="p")
    outcomes = sl.compare(logs, "q", outcomes={"usd": sl.Outcome("usd", cost=True), "click": sl.Outcome("click")})
    assert outcomes["usd"].certified_lift.endswith("% less 'usd' than production")
    assert outcomes["click"].certified_lift.endswith("% more clicks than production")
    assert any("of the cost of production" in line for line in outcomes["usd"].lead())


def test_what_is_not_certified_has_no_lift() -> None:
    logs = sl.Logs(table(), reward="click", propensity="p", propensity_is_estimated=True)
    answer = sl.compare(logs, "q")
    assert answer.relative_lower is not None
    assert answer.certified_lift == ""


def test_a_plot_states_the_doubt_with_the_level() -> None:
    logs = sl.Logs(table(), reward="click", propensity="p", propensity_is_estimated=True)
    ax = sl.evaluate(logs, {"new": "q"}).plot()
    assert "Doubt: " in " ".join(text.get_text() for text in ax.texts)


def test_a_plot_of_discoveries_certifies_none() -> None:
    logs = sl.Logs(table(), reward="click", propensity="p")
    ax = sl.select(logs, {"new": "q", "same": "p"}, many="e-bh").plot()
    assert "no single candidate is certified" in " ".join(" ".join(text.get_text() for text in ax.texts).split())


def test_a_name_with_a_colon_stays_whole() -> None:
    report = sl.report(sl.Logs(table(), reward="click", propensity="p"), {"v2: new": "q"})
    page = report.to_html() or ""
    assert "Choose &#39;v2: new&#39;: at least" in page
    assert "Per round, it is better than production by at least" in page


def answer(**changes: Any) -> sl.results.Improvement:
    return replace(sl.compare(sl.Logs(table(rate=0.02), reward="click", propensity="p"), "q"), **changes)


def test_upper_bounds_are_explained_where_they_are_further_away() -> None:
    near, far = ([answer(estimate=0.1, lower=0.0, upper=upper, mean_weight=1.0)] for upper in (0.2, 0.4))
    assert upper_explained(near, earned=0.05, listed=True) == ""
    assert "all actions" in upper_explained(far, earned=0.05, listed=True)
    assert "all actions" not in upper_explained(far, earned=0.05, listed=False)
    assert upper_explained(far, earned=0.6, listed=True) == ""
    uncovered = [answer(estimate=0.1, lower=0.0, upper=0.4, mean_weight=0.5)]
    told = upper_explained(uncovered, earned=0.9, listed=True)
    assert "mean weight is well below 1" in told
    assert "More rounds do not change that" in told


def test_more_rounds_do_not_narrow_what_is_far_for_want_of_support() -> None:
    """What the page says: with half of the candidate's decisions out of reach, the distance stays."""
    rng = np.random.default_rng(2)
    distances = []
    for rounds in (2_000, 50_000):
        reward = (rng.random(rounds) < 0.9) * 1.0
        answer = sl.compare(sl.Logs(reward=reward, propensity=np.full(rounds, 0.5)), np.full(rounds, 0.25))
        distances.append(answer.upper - answer.estimate)
    assert distances[1] > 0.9 * distances[0]


def test_the_whole_distribution_narrows_upper_bounds_of_rare_rewards_most() -> None:
    """What the page advises: weights control takes away the noise of the weights in rounds that were missed."""
    rng = np.random.default_rng(1)
    production = rng.dirichlet(np.ones(5), 4_000) * 0.5 + 0.1
    chance = 0.03 * (0.5 + rng.random((4_000, 5)))
    candidate = np.exp(100 * chance)
    candidate /= candidate.sum(axis=1, keepdims=True)
    action = np.array([rng.choice(5, p=row) for row in production])
    rows = np.arange(4_000)
    reward = (rng.random(4_000) < chance[rows, action]) * 1.0
    plain = sl.compare(sl.Logs(reward=reward, propensity=production[rows, action]), candidate[rows, action])
    controlled = sl.compare(sl.Logs(reward=reward, logging=production, action=action), candidate)
    assert controlled.control == "weights"
    assert controlled.upper - controlled.estimate < 0.5 * (plain.upper - plain.estimate)
