"""Controlled bounds against plain loops over rounds and actions, on random logs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import surelift as sl
from surelift.arrays import FloatArray
from tests import reference
from tests.strategies import deltas

pytestmark = pytest.mark.slow

Component = tuple[float, float, float, FloatArray]
"""Smoothing, offset, prior, and the terms of the rounds."""


def lower(components: list[Component], delta: float, floor: float) -> float:
    """The root by bisection: the largest mean with wealth of at least 1/delta against every smaller one."""

    def log_wealth(mean: float) -> float:
        parts = [
            np.log(prior) + sum(np.log1p(lam * max(z + kap, 0.0)) - np.log1p(lam * (mean + kap)) for z in terms)
            for lam, kap, prior, terms in components
        ]
        return float(np.logaddexp.reduce(parts))

    if log_wealth(floor) <= np.log(1 / delta):
        return floor
    low, high = floor, max(float(terms.max()) for *_, terms in components) + 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if log_wealth(middle) > np.log(1 / delta) else (low, middle)
    return low


def controlled(
    term: Callable[[int], float], taken: Callable[[int, int, float], float], logging: FloatArray, action: Any, cap: float,
    share: float,
) -> FloatArray:  # fmt: skip
    """term - min(taken, cap) + its mean over the actions, per round; ``taken`` takes a round, an action and a share."""
    values = []
    for i, row in enumerate(logging):
        mean = sum(q * min(taken(i, a, share), cap) for a, q in enumerate(row) if q > 0)
        values.append(term(i) - min(taken(i, action[i], share), cap) + mean)
    return np.array(values)


@given(
    seed=st.integers(0, 10_000), delta=deltas(), alpha=st.sampled_from([1.0, 0.3]), model=st.booleans(),
    side=st.sampled_from(["value", "shortfall", "improvement", "decline", "difference"]),
)  # fmt: skip
def test_every_quantity(seed: int, delta: float, alpha: float, model: bool, side: str) -> None:
    rng = np.random.default_rng(seed)
    n, actions = 12, 3
    logging, new, rival = (rng.dirichlet(np.ones(actions), n) for _ in range(3))
    if seed % 3 == 0:  # production cannot take every action
        logging[:, 0] = 0.0
        logging /= logging.sum(axis=1, keepdims=True)
    action = np.array([rng.choice(actions, p=row) for row in logging])
    reward = rng.integers(0, 5, n) / 4
    q = rng.random((n, actions))
    at = (np.arange(n), action)
    logs = sl.Logs(reward=reward, propensity=logging[at], action=action, logging=logging)
    mixed, other = ((1 - share) * logging + share * policy for share, policy in ((alpha, new), (1.0, rival)))
    w, v = mixed[at] / logging[at], other[at] / logging[at]
    earned, expected = (1 - reward, 1 - q) if side in ("shortfall", "decline") else (reward, q)
    grid = [(lam, prior / sum(p for _, p in reference.ANYTIME)) for lam, prior in reference.ANYTIME]

    def weight(policy: FloatArray, i: int, a: int) -> float:
        return float(policy[i, a] / logging[i, a])

    def predicted(i: int, a: int, by_model: bool) -> float:
        return float(expected[i, a]) if by_model else 1.0

    least, drop = 1 - alpha, alpha
    components: list[Component] = []
    paired = side not in ("value", "shortfall")
    offset = {"difference": 1.0, "improvement": drop, "decline": drop}.get(side, 0.0)
    scale = offset if paired else 1.0
    terms: Callable[[int], float] = {
        "value": lambda i: w[i] * earned[i], "shortfall": lambda i: w[i] * earned[i],
        "improvement": lambda i: (w[i] - 1) * earned[i], "decline": lambda i: (w[i] - 1) * earned[i],
        "difference": lambda i: w[i] * reward[i] + v[i] * (1 - reward[i]) - 1,
    }[side]  # fmt: skip
    for lam, prior in grid:
        beta = lam / scale
        components.append((beta, offset, prior / 2, np.array([terms(i) for i in range(n)])))
        wanted = 8 / 9 / beta
        kinds = [(False, 0.25 if model else 0.5)] + ([(True, 0.25)] if model else [])
        for by_model, mass in kinds:
            shares = (0.0, 0.5, 1.0) if side == "difference" and not by_model else (0.5, 1.0)
            for share in shares:
                if side == "difference":
                    cap, kap = wanted, offset + wanted

                    def taken(i: int, a: int, share: float, by_model: bool = by_model) -> float:
                        first = weight(mixed, i, a) - least
                        if by_model:
                            return share * float(q[i, a] * first + (1 - q[i, a]) * weight(other, i, a))
                        return share * first + (1 - share) * weight(other, i, a)
                else:
                    cap = kap = max(wanted, offset)

                    def taken(i: int, a: int, share: float, by_model: bool = by_model) -> float:
                        above = weight(mixed, i, a) - (least if paired else 0.0)
                        return share * predicted(i, a, by_model) * above

                if side == "difference" and alpha < 1.0:
                    # The rival's offset applies, since its weights can fall to 0.
                    kap = 1.0 + wanted
                phi = controlled(terms, taken, logging, action, cap, share)
                components.append((9 * beta, kap, mass * prior / len(shares), phi))
    # Where the other side contradicts the bound at delta, it is held to half of it.
    bounds = [max(lower(components, each, -min(kap for _, kap, *_ in components)), -offset) for each in (delta, delta / 2)]
    control = sl.models.given(q) if model else "weights"
    try:
        if paired:
            over = {"rival": rival} if side == "difference" else "production"
            answer = sl.compare(logs, {"new": sl.blend(new, alpha)}, over=over, delta=delta, control=control)
            result = -answer.upper if side == "decline" else answer.lower
        else:
            sides: Any = "lower" if side == "value" else "upper"
            policy = {"new": sl.blend(new, alpha)}
            value = sl.evaluate(logs, policy, delta=delta, sides=sides, control=control)["new"]
            result = value.lower if value.lower is not None else 1 - (value.upper or 0.0)
    except sl.LogsError as error:
        assume("contradict" not in str(error))
        raise
    assert any(result == pytest.approx(bound, abs=1e-10, rel=1e-9) for bound in bounds)


@given(seed=st.integers(0, 10_000), delta=deltas(), alpha=st.sampled_from([1.0, 0.3]), improvement=st.booleans())
def test_a_known_maximum_weight(seed: int, delta: float, alpha: float, improvement: bool) -> None:
    rng = np.random.default_rng(seed)
    n, most = 15, 4.0
    w = rng.uniform(0.0, most, n)
    reward, propensity = rng.integers(0, 5, n) / 4, np.full(n, 0.25)
    rise, drop = alpha * (most - 1), alpha
    mixed = 1 + alpha * (w - 1)
    total = sum(prior for _, prior in reference.ANYTIME)
    components: list[Component] = []
    for lam, prior in reference.ANYTIME:
        beta = lam / drop if improvement else lam
        plain = (mixed - 1) * reward if improvement else mixed * reward
        components.append((beta, drop if improvement else 0.0, prior / total / 2, plain))
        for wanted in (0.5, 1.0):
            rho = min(wanted, max(8 / 9 / beta, drop if improvement else 0.0) / rise)
            kap = max((1 - rho) * drop, rho * rise) if improvement else rho * rise
            smoothing = beta / (1 - min(beta * kap, 8 / 9))
            components.append((smoothing, kap, prior / total / 4, plain - rho * (mixed - 1)))
    logs = sl.Logs(reward=reward, propensity=propensity)
    policy = {"new": sl.blend(sl.bounded(w / 4, most), alpha)}
    floor = -drop if improvement else 0.0
    floor = max(floor, -min(kap for _, kap, *_ in components))
    bounds = [lower(components, each, floor) for each in (delta, delta / 2)]
    assume(bounds[0] <= (drop if improvement else 1.0))
    try:
        if improvement:
            answer = sl.compare(logs, policy, delta=delta)
            assert answer.control == "max-weight"
            assert any(answer.lower == pytest.approx(bound, abs=1e-10, rel=1e-9) for bound in bounds)
        else:
            value = sl.evaluate(logs, policy, delta=delta, sides="lower")["new"]
            assert value.control == "max-weight"
            assert any(value.lower == pytest.approx(bound, abs=1e-10, rel=1e-9) for bound in bounds)
    except sl.LogsError as error:
        assume("contradict" not in str(error) and "its weights average" not in str(error))
        raise
