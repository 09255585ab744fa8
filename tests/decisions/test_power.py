"""The forecast of rounds, held against what simulation needs; and simulate, held against what it knows."""

from dataclasses import replace
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
from scipy import stats

import surelift as sl
from surelift.arrays import FloatArray
from tests.laws import Law, draw_index
from tests.prose import flat

# Improvements small enough to take hundreds to thousands of rounds, in five kinds of weights and rewards.
LAWS = {
    "even": (Law((0.5, 0.5), (0.7, 0.3), (0.5, 0.5), (0.0, 1.0), (0.55, 0.35)), 1.0),
    "rare rewards": (Law((0.3, 0.7), (0.8, 0.2), (0.5, 0.5), (0.0, 1.0), (0.03, 0.01)), 1.0),
    "heavy weights": (Law((0.05, 0.95), (0.5, 0.5), (0.5, 0.5), (0.0, 1.0), (0.6, 0.3)), 1.0),
    "graded": (Law((0.2, 0.3, 0.5), (0.5, 0.3, 0.2), (0.3, 0.3, 0.4), (0.25, 0.75), (0.7, 0.4, 0.5)), 1.0),
    "cautious": (Law((0.4, 0.6), (0.9, 0.1), (0.5, 0.5), (0.0, 1.0), (0.5, 0.3)), 0.1),
}


def draw(law: Law, rounds: int, rng: np.random.Generator) -> tuple[dict[str, Any], FloatArray]:
    action = draw_index(rng, list(law.logging), (rounds,))
    high = rng.random(rounds) < np.array(law.high_chance)[action]
    arrays = {
        "reward": np.where(high, law.reward_levels[1], law.reward_levels[0]), "propensity": np.array(law.logging)[action],
    }  # fmt: skip
    return arrays, np.array(law.candidate)[action]


@pytest.mark.parametrize("name", LAWS)
def test_the_forecast_is_within_a_factor_of_one_and_a_half(name: str) -> None:
    """With 1/1.5 of the rounds forecast the power is below 0.8, with 1.5 times as many above."""
    law, alpha = LAWS[name]
    truth = alpha * (law.value(law.candidate) - law.value(law.logging))
    rng, runs = np.random.default_rng(0), 120
    arrays, candidate = draw(law, 4_000, rng)
    forecast = sl.power(sl.Logs(**arrays), {"new": sl.blend(candidate, alpha)}, improvement=truth)
    assert forecast.rounds_needed is not None

    def certified(rounds: int) -> float:
        found = 0
        for _ in range(runs):
            drawn, probability = draw(law, rounds, rng)
            found += sl.compare(sl.Logs(**drawn), {"new": sl.blend(probability, alpha)}).certified
        return found / runs

    # Three standard errors of a share of 0.8 in these runs.
    noise = 3 * np.sqrt(0.8 * 0.2 / runs)
    assert certified(int(forecast.rounds_needed / 1.5)) <= 0.8 + noise
    assert certified(int(forecast.rounds_needed * 1.5)) >= 0.8 - noise
    assert forecast.power_at(forecast.rounds_needed) == pytest.approx(0.8, abs=0.01)
    assert forecast.power_at(forecast.rounds_needed // 4) < 0.5 < forecast.power_at(4 * forecast.rounds_needed)


@pytest.mark.parametrize("name", ["even", "graded"])
def test_the_rounds_that_are_missing_count_the_evidence_at_hand(name: str) -> None:
    """The same for a log that goes on: its first rounds stay, and those to come are drawn anew each time."""
    law, _ = LAWS[name]
    truth, runs = law.value(law.candidate) - law.value(law.logging), 80
    first, candidate = draw(law, 400, np.random.default_rng(0))
    forecast = sl.power(sl.Logs(**first), {"new": candidate}, improvement=truth)
    assert forecast.more_rounds is not None
    assert not forecast.certified

    def certified(rounds: int) -> float:
        found = 0
        for run in range(runs):
            more, probability = draw(law, rounds, np.random.default_rng(1_000 + run))
            both: dict[str, Any] = {column: np.concatenate([first[column], more[column]]) for column in first}
            found += sl.compare(sl.Logs(**both), {"new": np.concatenate([candidate, probability])}).certified
        return found / runs

    noise = 3 * np.sqrt(0.8 * 0.2 / runs)
    assert certified(int(forecast.more_rounds / 1.5)) <= 0.8 + noise
    assert certified(int(forecast.more_rounds * 1.5)) >= 0.8 - noise
    assert certified(forecast.more_rounds // 4) < 0.5


def test_what_it_says() -> None:
    law, _ = LAWS["even"]
    arrays, candidate = draw(law, 150, np.random.default_rng(1))
    logs = sl.Logs(**arrays)
    forecast = sl.power(logs, {"new": candidate}, improvement=0.04)
    assert ") would certify an improvement of 0.04 with power 0.8. This is a forecast" in flat(str(forecast))
    assert "more rounds like these (80% range: between " in flat(str(forecast))
    assert forecast.more_rounds is not None
    assert forecast.rounds_needed is not None
    assert 0 < forecast.more_rounds < 2 * forecast.rounds_needed
    assert sl.power(logs, {"new": candidate}, improvement=0.04, power=0.95).rounds_needed > forecast.rounds_needed
    hopeless = sl.power(logs, {"new": candidate}, improvement=0.04, margin=0.05)
    assert hopeless.rounds_needed is None
    assert hopeless.more_rounds is None
    assert hopeless.rounds_needed_range == hopeless.more_rounds_range == (None, None)
    same = sl.compare(logs, {"new": candidate})
    assert forecast.lower == pytest.approx(same.lower)
    assert forecast.estimate == pytest.approx(same.estimate)
    cost = sl.Logs(cost=100 * (1 - arrays["reward"]), propensity=arrays["propensity"], reward_range=(0, 100))
    in_cents = sl.power(cost, {"new": candidate}, improvement=4.0)
    assert in_cents.rounds_needed == pytest.approx(forecast.rounds_needed, rel=1e-6)


def test_what_a_log_too_short_says() -> None:
    """The more rounds there are, the more they can tell; an estimate that is no improvement may be one by chance."""
    law, _ = LAWS["graded"]
    says: dict[str, sl.results.Forecast] = {}
    for seed in range(12):
        arrays, candidate = draw(law, 60, np.random.default_rng(seed))
        forecast = sl.power(sl.Logs(**arrays), {"new": candidate})
        least, most = forecast.more_rounds_range
        number = forecast.more_rounds
        says["none" if least is None else "least" if number is None else "open" if most is None else "both"] = forecast
        assert sl.power(sl.Logs(**arrays), {"new": candidate}) == replace(forecast, growth=ANY)
    assert "too few to tell how many more would be needed" in flat(str(says["least"]))
    assert "to no number at all) would certify" in flat(str(says["open"]))
    assert "These rounds are too few to tell. This is a forecast" in flat(str(says["open"]))
    arrays, candidate = draw(law, 2_000, np.random.default_rng(0))
    worse = sl.power(sl.Logs(**arrays), {"new": 1.5 * arrays["propensity"] - 0.5 * candidate})
    assert worse.rounds_needed_range == (None, None)
    assert "no number of rounds like these" in flat(str(worse))
    record = says["open"].records()[0]
    assert record["more_rounds_lower"] == says["open"].more_rounds_range[0] < record["more_rounds"]
    assert record["more_rounds_upper"] is None


@pytest.mark.slow
def test_the_range_holds_as_often_as_it_says() -> None:
    """What is needed is known from long logs and the true improvement; the range is that of short logs without it."""
    law, alpha = LAWS["cautious"]
    truth, runs = alpha * (law.value(law.candidate) - law.value(law.logging)), 80

    def forecast(rounds: int, seed: int, improvement: float | None) -> sl.results.Forecast:
        arrays, candidate = draw(law, rounds, np.random.default_rng(seed))
        found = sl.power(sl.Logs(**arrays), {"new": sl.blend(candidate, alpha)}, improvement=improvement)
        assert isinstance(found, sl.results.Forecast)
        return found

    needed = np.mean([forecast(50_000, 1_000 + seed, truth).rounds_needed or np.inf for seed in range(12)])
    inside = {False: 0, True: 0}
    for known in inside:
        for seed in range(runs):
            low, high = forecast(300, seed, truth if known else None).rounds_needed_range
            inside[known] += bool((low or np.inf) <= needed <= (high or np.inf))
    # With a chance of 0.8 each, 4 sides are outside this with a probability below 1 in 1,000.
    least, most = stats.binom.ppf([1 / 8_000, 1 - 1 / 8_000], runs, 0.8)
    for count in inside.values():
        assert least <= count <= most


@pytest.mark.slow
def test_bets_in_blocks_are_certified_as_often_as_the_forecast_says() -> None:
    law, alpha = LAWS["cautious"]
    rng, runs = np.random.default_rng(0), 100
    arrays, candidate = draw(law, 20_000, rng)
    truth = alpha * (law.value(law.candidate) - law.value(law.logging))
    forecast = sl.power(
        sl.Logs(**arrays), {"new": sl.blend(candidate, alpha)}, improvement=truth, method="blocks", margin=0.0
    )
    assert forecast.rounds_needed is not None
    certified = 0
    for _ in range(runs):
        drawn, probability = draw(law, forecast.rounds_needed, rng)
        certified += sl.compare(sl.Logs(**drawn), {"new": sl.blend(probability, alpha)}, method="blocks").certified
    assert certified / runs == pytest.approx(0.8, abs=3 * np.sqrt(0.8 * 0.2 / runs))
    assert forecast.power_at(forecast.rounds_needed) == pytest.approx(0.8, abs=0.03)
    assert forecast.power_at(forecast.rounds_needed // 4) < 0.5 < forecast.power_at(4 * forecast.rounds_needed)
    mixture = sl.power(sl.Logs(**arrays), {"new": sl.blend(candidate, alpha)}, improvement=truth)
    assert forecast.rounds_needed < mixture.rounds_needed


def test_what_allows_one_look_promises_nothing_of_a_log_that_grows() -> None:
    law, _ = LAWS["even"]
    arrays, candidate = draw(law, 150, np.random.default_rng(1))
    logs = sl.Logs(**arrays)
    cases: list[dict[str, Any]] = [{"method": "blocks"}, {"grid": "planned"}]
    for options in cases:
        forecast = sl.power(logs, {"new": candidate}, improvement=0.04, **options)
        assert forecast.more_rounds is None
        low, high = forecast.rounds_needed_range
        assert low <= forecast.rounds_needed <= high
        assert "a new log of about" in flat(str(forecast))
        assert "allows one look, so the rounds so far do not count towards it" in flat(str(forecast))
        blocks = options == {"method": "blocks"}
        assert ("It assumes that rounds are independent" in flat(str(forecast))) == blocks
        assert any("independent" in assumption for assumption in forecast.assumptions) == blocks
    report = sl.report(logs, {"new": candidate, "half": sl.blend(candidate, 0.5)}, method="blocks")
    assert report.forecasts["new"].more_rounds is None
    assert "a new log of about" in (report.to_html() or "")


def test_what_is_refused() -> None:
    logs = sl.Logs(reward=[0.0, 1.0], propensity=[0.5, 0.5])
    for options, says in (
        ({"power": 1.0}, "power, the chance"), ({"improvement": "big"}, "finite number"), ({"delta": 0}, "delta"),
        ({"method": "normal"}, "power and method 'normal' do not go together: only the methods 'mixture' and"),
    ):  # fmt: skip
        with pytest.raises(sl.UsageError, match=says):
            sl.power(logs, {"new": [0.4, 0.6]}, **options)
    with pytest.raises(sl.LogsError, match="fewer than 2"):
        sl.power(sl.Logs(reward=[1.0], propensity=[0.5]), {"new": [0.4]})
    with pytest.raises(sl.LogsError, match="1 of 2 values lie outside"):
        sl.power(sl.Logs(reward=[1.0, 0.0], propensity=[0.5, 2.0]), {"new": [0.4, 0.4]})


@pytest.mark.slow
def test_simulate_knows_which_methods_hold() -> None:
    """Weights of up to a hundred in one round of two hundred: the certified hold, the usual interval does not."""
    rng = np.random.default_rng(0)
    rare = rng.random(3_000) < 0.003
    logs = sl.Logs(reward=rng.integers(0, 2, 3_000), propensity=np.where(rare, 0.003, 0.997))
    found = sl.simulate(logs, {"new": np.where(rare, 0.5, 0.5)}, rounds=400, runs=60)
    coverage = {one.method: one.coverage for one in found.outcomes}
    assert coverage["mixture"] >= 0.95
    assert coverage["logarithmic-smoothing"] >= 0.95
    assert coverage["normal"] < 0.8
    assert found.truth["new"] == pytest.approx(float(np.mean(
        np.where(rare, 0.5 / 0.003, 0.5 / 0.997) * _chances(np.where(rare, 0.5 / 0.003, 0.5 / 0.997), logs))))  # fmt: skip
    again = sl.simulate(logs, {"new": np.where(rare, 0.5, 0.5)}, rounds=400, runs=60)
    assert again.outcomes == found.outcomes
    assert "simulated logs of 400 rounds" in str(found)


def _chances(weights: FloatArray, logs: sl.Logs) -> FloatArray:
    rate = float(np.mean(np.asarray(logs.source._columns["reward"])))  # type: ignore[attr-defined]
    rising = 0.5 + weights / (1 + weights)
    chances: FloatArray = np.clip(rate * rising / rising.mean(), 0, 1)
    return chances


def test_the_order_of_the_rounds_hardly_matters() -> None:
    """Sorted, shuffled or with a rhythm of 64: the same rounds, about the same forecast."""
    law, _ = LAWS["even"]
    arrays, candidate = draw(law, 6_400, np.random.default_rng(3))
    orders = {
        "as drawn": np.arange(6_400), "sorted": np.lexsort([candidate, arrays["reward"]]),
        "rhythm": np.lexsort([candidate, arrays["reward"]]).reshape(64, 100).T.ravel(),
    }  # fmt: skip
    needed = [
        sl.power(
            sl.Logs(**{name: column[order] for name, column in arrays.items()}),
            {"new": candidate[order]},
            improvement=0.03,
        ).rounds_needed
        for order in orders.values()
    ]
    assert max(needed) < 1.5 * min(needed)
