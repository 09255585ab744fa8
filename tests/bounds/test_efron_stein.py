import itertools
import math
from typing import Any

import numpy as np
import pytest
from benchmarks.efron_stein import library_proxies, plain_proxies

import surelift as sl
from surelift.arrays import FloatArray
from surelift.bounds.independent_rounds import efron_stein_remark, unfloored_efron_stein
from surelift.statistics import MEAN, Needed, TermSums, WeightSums
from surelift.statistics.redraws import Proxies


def logs_of(logging: FloatArray, action: list[int], reward: list[float]) -> sl.Logs:
    q = logging[np.arange(len(action)), action]
    return sl.Logs(reward=reward, propensity=q, action=action, logging=logging)


def exact(candidate: FloatArray, logging: FloatArray, action: list[int]) -> tuple[float, float]:
    """Both proxies by writing out every way to redraw the actions."""
    weights, rounds = candidate / logging, len(action)
    w = weights[np.arange(rounds), action]
    variance = expected = 0.0
    for redrawn in itertools.product(range(logging.shape[1]), repeat=rounds):
        chance = math.prod(logging[i, a] for i, a in enumerate(redrawn))
        other = np.array([weights[i, a] for i, a in enumerate(redrawn)])
        for k in range(rounds):
            mixed = w[: k + 1].sum() + other[k + 1 :].sum()
            swapped = mixed - w[k] + other[k]
            change = (w[k] / mixed if mixed > 0 else 0.0) + (other[k] / swapped if swapped > 0 else 0.0)
            variance += chance * change**2
        expected += chance * (float(((other / other.sum()) ** 2).sum()) if other.sum() > 0 else 1.0)
    return variance, expected


def test_proxies_against_every_possible_redraw() -> None:
    logging = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.4, 0.4, 0.2], [0.25, 0.25, 0.5]])
    candidate = np.array([[0.2, 0.2, 0.6], [0.5, 0.4, 0.1], [0.3, 0.3, 0.4], [0.8, 0.1, 0.1]])
    action = [0, 1, 2, 0]
    found = library_proxies(logs_of(logging, action, [1, 0, 1, 1]), candidate, draws=400_000)
    variance, expected = exact(candidate, logging, action)
    assert abs(found.variance - variance) < 5 * found.variance_error
    assert abs(found.expected - expected) < 5 * found.expected_error
    assert found.variance_error < 0.002 * variance
    assert found.second_moment == pytest.approx((candidate**2 / logging).sum())


def test_a_candidate_that_mostly_has_no_weight() -> None:
    rng = np.random.default_rng(3)
    logging, candidate = rng.dirichlet(np.ones(3), 5), np.eye(3)[rng.integers(0, 3, 5)]
    for action in ([0, 1, 2, 0, 1], [0, 0, 0, 0, 0]):
        found = library_proxies(logs_of(logging, action, [1.0] * 5), candidate, draws=200_000)
        variance, expected = exact(candidate, logging, action)
        assert abs(found.variance - variance) < 5 * found.variance_error + 1e-9
        assert abs(found.expected - expected) < 5 * found.expected_error + 1e-9


def test_without_support_it_knows_nothing() -> None:
    logs = logs_of(np.tile([1.0, 0.0], (4_000, 1)), [0] * 4_000, [1.0] * 4_000)
    answer = sl.evaluate(logs, {"new": np.tile([0.1, 0.9], (4_000, 1))}, method="efron-stein", draws=100)["new"]
    assert (answer.lower, answer.upper) == (0.0, 1.0)
    assert any("could take every action" in assumption for assumption in answer.assumptions)
    nothing = sl.evaluate(logs, {"new": np.tile([0.0, 1.0], (4_000, 1))}, method="efron-stein", draws=100)["new"]
    assert "no logged action has any weight" in nothing.doubts[0]


@pytest.mark.parametrize("sides", ["lower", "upper"])
def test_one_side_over_several_batches(sides: Any) -> None:
    rng = np.random.default_rng(1)
    rows = 70_000
    action = rng.integers(0, 2, rows)
    logs = sl.Logs(reward=rng.random(rows), propensity=np.full(rows, 0.5), action=action, logging=np.full((rows, 2), 0.5))
    new = np.tile([0.2, 0.8], (rows, 1))
    assert library_proxies(logs, new, draws=2).second_moment == pytest.approx(rows * (0.04 + 0.64) / 0.5)
    answer = sl.evaluate(logs, {"new": new}, method="efron-stein", sides=sides, draws=20)["new"]
    assert (answer.lower is None) == (sides == "upper")


def test_proxies_against_plain_numpy_with_vectors_of_different_lengths_and_missing_support() -> None:
    rng = np.random.default_rng(0)
    logging, candidate = rng.dirichlet(np.ones(6), 2_000), rng.dirichlet(np.ones(6), 2_000)
    logging[:1_000, 5] = candidate[:1_000, 5] = 0.0
    logging[:1_000] /= logging[:1_000].sum(axis=1, keepdims=True)
    candidate[:1_000] /= candidate[:1_000].sum(axis=1, keepdims=True)
    action = [int(rng.choice(6, p=row)) for row in logging]
    w = (candidate / np.where(logging > 0, logging, 1.0))[np.arange(2_000), action]
    ragged = {
        "r": rng.random(2_000), "a": action, "p": logging[np.arange(2_000), action],
        "l": [row[:5].tolist() if i < 1_000 else row.tolist() for i, row in enumerate(logging)],
        "c": [row[:5].tolist() if i < 1_000 else row.tolist() for i, row in enumerate(candidate)],
    }  # fmt: skip
    logs = sl.Logs(ragged, reward="r", propensity="p", action="a", logging="l")
    ours = library_proxies(logs, "c", draws=4_000)
    plain = plain_proxies(candidate, np.where(logging > 0, logging, 1e-300), w, draws=1_000, rng=rng)
    for name in ("variance", "expected"):
        error = math.hypot(getattr(ours, f"{name}_error"), getattr(plain, f"{name}_error"))
        assert abs(getattr(ours, name) - getattr(plain, name)) < 5 * error


def test_the_draws_are_the_same_every_time() -> None:
    logging = np.full((50, 2), 0.5)
    logs = logs_of(logging, [0, 1] * 25, [1, 0] * 25)
    candidate = np.tile([0.3, 0.7], (50, 1))
    assert library_proxies(logs, candidate, draws=1_300) == library_proxies(logs, candidate, draws=1_300)


def test_the_bound_by_hand() -> None:
    # 100 rounds, SNIPS 0.8, V = 0.02, U = 0.01, sum pi^2/pi0 = 200, delta = 2/e: ln(2/delta) = 1, b = ln(10).
    proxies = Proxies(0.02, 0.01, 0.001, 0.0005, 200.0, 1_000)
    sums = TermSums(100, Needed(), np.zeros(0), np.zeros(0), {MEAN: 80.0}, None, WeightSums(total=100.0), proxies)
    b = math.log(10)
    concentration = math.sqrt(2 * 0.03 * (1 + math.log(3) / 2))
    bias = 1 - math.sqrt(2 * b * 200) / 100
    expected = bias * (0.8 - concentration - 0.1) - math.sqrt(1 / 200)
    assert unfloored_efron_stein(sums, delta=2 / math.e) == pytest.approx(expected)
    assert "1,000 Monte-Carlo draws" in efron_stein_remark(sums, delta=2 / math.e)


def test_it_reports_its_error_and_never_certifies() -> None:
    rng = np.random.default_rng(0)
    logging, new = np.full((5_000, 2), 0.5), np.tile([0.2, 0.8], (5_000, 1))
    action = rng.integers(0, 2, 5_000).tolist()
    reward = [float(rng.random() < (0.8 if a else 0.2)) for a in action]
    answer = sl.evaluate(logs_of(logging, action, reward), {"new": new}, method="efron-stein", draws=500)["new"]
    assert answer.lower is not None
    assert answer.upper is not None
    assert 0.3 < answer.lower < 0.68 < answer.upper < 1
    assert answer.promise == "none"
    assert "not rigorous: rests on 500 Monte-Carlo draws" in answer.doubts[0]
    assert "without a proof" in str(answer)
    with pytest.raises(sl.UsageError, match="needs the whole distributions"):
        sl.evaluate(
            sl.Logs(reward=reward, propensity=np.full(5_000, 0.5)), {"new": np.full(5_000, 0.5)}, method="efron-stein"
        )
