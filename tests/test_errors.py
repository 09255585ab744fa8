"""Options beyond all measure are refused, and told in a line."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import surelift as sl

DATA = sl.datasets.shop(rounds=200)
LOGS = DATA.logs()
COLUMNS: dict[str, Any] = {"reward": "click", "propensity": "propensity"}
CALLS: dict[str, Callable[[Any], object]] = {
    "delta": lambda value: sl.compare(LOGS, "p_better", delta=value),
    "margin": lambda value: sl.compare(LOGS, "p_better", margin=value),
    "alpha": lambda value: sl.blend("p_better", value),
    "smoothing": lambda value: sl.evaluate(LOGS, "p_better", method="logarithmic-smoothing", smoothing=value),
    "order": lambda value: sl.evaluate(LOGS, "p_better", method="moments", order=value),
    "draws": lambda value: sl.evaluate(LOGS, "p_better", method="bootstrap", draws=value),
    "reward_range": lambda value: sl.Logs(DATA.table, **COLUMNS, reward_range=(0, value)),
    "action_count": lambda value: sl.Logs(DATA.table, **COLUMNS, action="item", action_count=value),
    "cluster_max": lambda value: sl.Logs(DATA.table, **COLUMNS, cluster="item", cluster_max=value),
    "guardrail": lambda value: sl.Outcome("click", at_most_worse=value),
    "level": lambda value: sl.check(LOGS, level=value),
    "grid": lambda value: sl.grids.single(value),
    "part": lambda value: LOGS.part(0, value),
    "sequence": lambda value: sl.Monitor({"new": "p_better"}, **COLUMNS).update(DATA.table, sequence=value),
    "reward": lambda value: sl.check(sl.Logs(reward=[value, 1], propensity=[0.5, 0.5])),
}


@pytest.mark.parametrize("value", [10**400, -(10**5000), 10**5000, float("nan"), "9" * 5000, 1j], ids=lambda v: "")
@pytest.mark.parametrize("name", CALLS)
def test_numbers_beyond_all_measure(name: str, value: Any) -> None:
    if name == "reward" and isinstance(value, float | str | complex):
        return
    if name in ("action_count",) and isinstance(value, str):
        return
    with pytest.raises(sl.SureliftError) as refused:
        CALLS[name](value)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize("reward_range", [(0, 5e-324), (-1e300, 1e300), (0, 1e-310), (1e15, 1e15 + 1)])
@pytest.mark.parametrize("propensity", [1e-140, 1e-300, 5e-324, 1.0])
@pytest.mark.parametrize("rounds", [1, 40])
def test_no_warning_of_numpy_reaches_a_user(reward_range: Any, propensity: float, rounds: int) -> None:
    """Warnings are errors in these tests."""
    rewards = np.where(np.arange(rounds) % 2 == 0, *reward_range)
    logs = sl.Logs(reward=rewards, propensity=np.full(rounds, propensity), reward_range=reward_range)
    for weights in (0.0, 5e-324, 0.5):
        policy = {"new": np.full(rounds, weights)}
        for ask in (sl.check, sl.evaluate, sl.compare, sl.power, sl.gate, sl.profile):
            with contextlib.suppress(sl.SureliftError):
                str(ask(logs, policy))
        for method in sl.bounds.BOUNDS:
            with contextlib.suppress(sl.SureliftError):
                answer = sl.evaluate(logs, policy, method=method)
                assert answer.to_json() + answer.text()
    with pytest.raises(sl.LogsError, match="lie outside the declared reward range"):
        sl.evaluate(sl.Logs(reward=[1.0], propensity=[0.5], reward_range=(0, 5e-324)), {"new": [0.5]})
    with contextlib.suppress(sl.SureliftError):
        str(sl.compare(logs, {"new": np.full(rounds, 0.5)}, margin=1e308))
