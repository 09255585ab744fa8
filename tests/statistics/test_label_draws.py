"""The evidence that labels were not drawn as stated has mean 1 where they were, and grows where they were not."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.engines import collect
from surelift.statistics.bets import Audit
from surelift.statistics.plan import Plan, Request

ROLES: dict[str, Any] = {"reward": "r", "propensity": "p", "score": "s", "label_probability": "k"}
DRAWS = Audit("reward")


def evidence(drawn: Any, kappa: Any, **more: Any) -> float:
    size = len(drawn)
    table = {"r": np.where(drawn, 1.0, np.nan), "p": [0.5] * size, "s": np.linspace(0.0, 0.9, size), "k": kappa}
    logs = sl.Logs({**table, "user": [1] * size}, **ROLES, **more)
    state = collect(logs, Plan({}, (Request(DRAWS),))).get(DRAWS)
    (finding,) = logs.declaration.reward.judge(state, math.inf)
    assert finding.e_value is not None
    return finding.e_value


def test_mean_1() -> None:
    kappa = [0.1, 0.5, 0.9]
    total = 0.0
    for drawn in product((True, False), repeat=3):
        chance = math.prod(k if seen else 1 - k for k, seen in zip(kappa, drawn, strict=True))
        total += chance * evidence(drawn, kappa)
    assert total == pytest.approx(1.0, abs=1e-12)


def test_a_cluster_that_is_labelled_as_a_whole_is_one_draw() -> None:
    whole = {"cluster": "user", "cluster_size": 4}
    both = 0.2 * evidence([True] * 4, [0.2] * 4, **whole) + 0.8 * evidence([False] * 4, [0.2] * 4, **whole)
    assert both == pytest.approx(1.0, abs=1e-12)
    assert 0.2 * evidence([True] * 4, [0.2] * 4) + 0.8 * evidence([False] * 4, [0.2] * 4) > 1.01


def test_too_few_too_many_and_the_wrong_ones() -> None:
    rng, kappa = np.random.default_rng(0), np.full(2_000, 0.2)
    assert evidence(rng.random(2_000) < 0.2, kappa) < 10.0
    assert evidence(rng.random(2_000) < 0.1, kappa) > 1e6
    assert evidence(rng.random(2_000) < 0.3, kappa) > 1e6
    assert evidence(rng.random(2_000) < np.linspace(0.05, 0.35, 2_000), kappa) > 1e3
