"""The estimate of an answer lies between its bounds, by every method and control."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import surelift as sl
from surelift.arrays import FloatArray
from surelift.bounds.mixture import centre, lower_bound
from surelift.engines import collect
from surelift.policies.resolve import name_policies
from surelift.quantities import Gain, Value
from surelift.questions.method import choose_method
from surelift.statistics import plan_of


def drawn(seed: int, rounds: int, level: float) -> tuple[sl.Logs, dict[str, FloatArray]]:
    rng = np.random.default_rng(seed)
    logging, new, rival = (rng.dirichlet(np.full(4, rng.uniform(0.2, 2.0)), rounds) for _ in range(3))
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    reward = (rng.random(rounds) < level) * 1.0
    logs = sl.Logs(reward=reward, propensity=logging[np.arange(rounds), action], action=action, logging=logging)
    return logs, {"new": new, "rival": rival}


@given(
    seed=st.integers(0, 100_000), rounds=st.sampled_from([5, 50, 500]), level=st.sampled_from([0.02, 0.5, 0.95]),
    method=st.sampled_from(["mixture", "blocks", "logarithmic-smoothing"]), control=st.sampled_from(["auto", "none"]),
)  # fmt: skip
def test_every_answer(seed: int, rounds: int, level: float, method: str, control: str) -> None:
    logs, policies = drawn(seed, rounds, level)
    new = {"new": policies["new"]}
    try:
        value = sl.evaluate(logs, new, method=method, control=control)["new"]
        better = sl.compare(logs, new, method=method, control=control)
        than_rival = sl.compare(logs, new, over={"rival": policies["rival"]}, method=method, control=control)
    except sl.LogsError:
        assume(False)
    answers: list[Any] = [value, better, than_rival]
    for answer in answers:
        assert answer.lower <= answer.estimate <= answer.upper


@given(seed=st.integers(0, 100_000), rounds=st.sampled_from([5, 50, 500]), level=st.sampled_from([0.02, 0.5, 0.95]))
def test_the_mean_of_the_terms_exceeds_the_lower_bound(seed: int, rounds: int, level: float) -> None:
    """Before it is moved: by Jensen, wherever there is evidence."""
    logs, policies = drawn(seed, rounds, level)
    named, method = name_policies(policies), choose_method("mixture", "weights")
    for quantity in (Value(), Gain()):
        term = method.plan(
            "new",
            quantity,
            limits={name: policy.limits for name, policy in named.items()},
            count=logs.count,
            known=frozenset(named),
        )
        sums = collect(logs, plan_of(named, (term,))).of(term)
        lower = lower_bound(sums, delta=0.05)
        if lower > -term.needed.offset:
            assert centre(sums, lower) > lower


def test_it_is_the_controlled_mean() -> None:
    """By hand: with one component the estimate is the mean of w r - rho w + rho, where no cap is reached."""
    logs = sl.Logs(reward=[1.0, 0.0, 1.0, 0.0], propensity=[0.5] * 4, action=[0, 1, 1, 0], logging=np.full((4, 2), 0.5))
    weights = np.array([1.4, 0.6, 0.6, 1.4])
    plain = float(np.mean(weights * [1, 0, 1, 0]))
    found = sl.evaluate(logs, {"new": np.tile([0.7, 0.3], (4, 1))}, control="weights")["new"]
    assert plain == pytest.approx(0.5)
    assert found.estimate == pytest.approx(0.5)  # the weights average to 1, so control moves nothing
    unequal = sl.Logs(reward=[1.0, 0.0, 1.0], propensity=[0.5] * 3, action=[0, 1, 0], logging=np.full((3, 2), 0.5))
    moved = sl.evaluate(unequal, {"new": np.tile([0.7, 0.3], (3, 1))}, control="weights")["new"]
    ips, excess = 2.8 / 3, (1.4 + 0.6 + 1.4) / 3 - 1.0
    assert ips - excess <= moved.estimate <= ips
