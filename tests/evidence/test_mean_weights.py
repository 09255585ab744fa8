"""Is the mean weight 1, where a largest weight was declared? Exact means on small laws, false alarms and power."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.evidence.propensities import mean_weight_evidence
from surelift.statistics.bets import MeanWeight

LAWS = [
    (np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])),
    (np.array([0.9, 0.1]), np.array([0.05, 0.95])),
    (np.array([0.25, 0.25, 0.25, 0.25]), np.array([1.0, 0.0, 0.0, 0.0])),
]


def e_value(logs: sl.Logs, policy: Any, test: MeanWeight) -> float:
    (found,) = [one for one in sl.check(logs, {"new": policy}).evidence if one.family.kind == "mean weight"]
    assert found.bet == test.candidate
    return found.e_value


@pytest.mark.parametrize(("logging", "target"), LAWS)
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_every_factor_has_mean_one_and_is_never_negative(logging: Any, target: Any, alpha: float) -> None:
    weight = 1 + alpha * (target / logging - 1)
    largest = float((target / logging).max())
    test = MeanWeight("new", alpha, alpha * (largest - 1.0))
    factors = 1.0 + np.outer(test.rates, weight - 1.0)
    assert (factors >= 0.0).all()
    assert factors @ logging == pytest.approx(np.ones(len(test.rates)))


@pytest.mark.parametrize(("logging", "target"), LAWS)
@pytest.mark.parametrize("cluster", [False, True])
def test_the_e_value_has_mean_one_over_all_logs_of_two_rounds(logging: Any, target: Any, cluster: bool) -> None:
    largest = float((target / logging).max())
    test, mean = MeanWeight("new", 1.0, largest - 1.0), 0.0
    for taken in itertools.product(range(len(logging)), repeat=2):
        columns = {"r": [0.0, 1.0], "p": logging[list(taken)], "new": target[list(taken)], "user": [1, 1]}
        belonging: dict[str, Any] = {"cluster": "user", "cluster_max": 3} if cluster else {}
        logs = sl.Logs(columns, reward="r", propensity="p", **belonging)
        mean += math.prod(logging[list(taken)]) * e_value(logs, sl.bounded("new", largest), test)
    assert mean == pytest.approx(1.0)


def test_a_blend_is_tested_as_well_as_its_candidate() -> None:
    p, new = np.full(200, 0.5), np.tile([0.2, 0.4], 100)
    logs = sl.Logs(reward=np.zeros(200), propensity=p)
    found = [e_value(logs, policy, MeanWeight("new", 1, 1)) for policy in _plain_and_blended(new)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def _plain_and_blended(new: Any) -> list[Any]:
    return [sl.bounded(new, 2.0), sl.blend(sl.bounded(new, 2.0), 0.01)]


def test_right_weights_are_called_wrong_as_rarely_as_promised_and_halved_ones_found() -> None:
    """At level 0.05: more than 79 alarms of 1,000 come with probability below one in ten thousand."""
    rng, alarms, found = np.random.default_rng(17), 0, 0
    for _ in range(1_000):
        logging, target = LAWS[0]
        taken = rng.choice(3, size=300, p=logging)
        weight = target[taken] / logging[taken]
        test = MeanWeight("new", 1.0, 2.0)
        for scale in (1.0, 0.5):
            steps = np.log1p(np.outer(scale * weight - 1.0, test.rates)).cumsum(axis=0)
            states = np.column_stack([steps, np.arange(1, 301), (scale * weight - 1.0).cumsum()])[9::10]
            high = max(mean_weight_evidence(test, state).e_value for state in states) >= 20.0
            alarms, found = (alarms + high, found) if scale == 1.0 else (alarms, found + high)
    assert alarms <= 79
    assert found >= 900


def halved(**belonging: Any) -> sl.Logs:
    n = 10_000
    columns = {
        "r": np.tile([0.0, 1.0], n // 2), "p": np.full(n, 0.5), "new": np.full(n, 0.25), "old": np.full(n, 0.5),
        "user": np.arange(n) // 2, "country": np.tile(["fr", "fr", "ch", "ch"], n // 4), "k": np.full(n, 0.5),
    }  # fmt: skip
    return sl.Logs(columns, reward="r", propensity="p", **belonging)


@pytest.mark.parametrize(
    "ask",
    [
        lambda logs, new: sl.evaluate(logs, new),
        lambda logs, new: sl.evaluate(logs, new, sides="lower"),
        lambda logs, new: sl.evaluate(logs, new, sides="upper"),
        lambda logs, new: sl.compare(logs, new),
        lambda logs, new: sl.compare(logs, "old", over=new),
        lambda logs, new: sl.compare(logs, new, by="country"),
        lambda logs, new: sl.select(logs, {**new, "old": "old"}),
        lambda logs, new: sl.power(logs, new),
    ],
)
@pytest.mark.parametrize("belonging", [{}, {"cluster": "user", "cluster_size": 2}])
def test_a_largest_weight_that_is_false_is_refused(ask: Any, belonging: Any) -> None:
    with pytest.raises(sl.LogsError, match=r"(?s)its weights average 0\.5 over .*One of them is false") as error:
        ask(halved(**belonging), {"new": sl.bounded("new", 2.0)})
    assert ("in segment 'ch'" in str(error.value)) == ("segment" in str(error.value))


def test_check_gate_and_report_find_it() -> None:
    new = {"new": sl.bounded("new", 2.0)}
    health = sl.check(halved(), new)
    (finding,) = [found for found in health.findings if found.severity == "refuse"]
    assert finding.statement.startswith("policy 'new': its weights average 0.5 over 10,000 rounds")
    assert finding.e_value is not None
    assert finding.e_value > 1e6
    assert not sl.gate(halved(), new).health.ok
    assert not sl.gate(halved(), "old", over=new).health.ok
    assert not sl.report(halved(), new).health.ok
    assert sl.check(halved(), {"new": "new"}).ok  # nothing was declared: the support may be missing


def test_shards_add_up_and_a_monitor_refuses() -> None:
    monitor = sl.Monitor({"new": sl.bounded("new", 2.0)}, reward="r", propensity="p", question="evaluate")
    table = {name: np.array([value] * 500) for name, value in (("r", 0.0), ("p", 0.5), ("new", 0.25))}
    monitor.update(table)
    with pytest.raises(sl.LogsError, match=r"its weights average 0\.5 over 500 rounds"):
        monitor.answer()


def test_sampled_rounds_are_not_tested() -> None:
    """A kept round stands for others by a factor that no declared weight limits."""
    logs = halved(keep_probability="k", rounds_before_sampling=20_000)
    assert sl.evaluate(logs, {"new": sl.bounded("new", 2.0)}, control="none")["new"].mean_weight == pytest.approx(0.5)
