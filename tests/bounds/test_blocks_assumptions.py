"""What bets in blocks assume: where the blocks tell of the rewards the bound is false, and the mixture is not."""

import numpy as np
import pyarrow as pa
import pytest

import surelift as sl
from surelift.arrays import FloatArray, IntArray
from surelift.statistics.dealing import key_places

ROUNDS, LOGS = 400, 20
RISING = np.linspace(0.2, 0.8, ROUNDS)


def misses(reward: FloatArray, ids: IntArray, method: str) -> bool:
    """Whether the bound exceeds an average value of one half, or contradicts its upper one and is refused."""
    table = {"reward": reward, "p": np.ones(ROUNDS), "id": ids}
    logs = sl.Logs(table, reward="reward", propensity="p", id="id")
    try:
        lower = sl.evaluate(logs, {"same": "p"}, method=method, sides="lower")["same"].lower
    except sl.LogsError:
        return True
    assert lower is not None
    return lower > 0.5


@pytest.mark.parametrize("kind, least, most", [("steady", 0, 8), ("drift", 9, LOGS), ("contents", LOGS, LOGS)])
def test_blocks_that_tell_of_the_rewards_break_the_bound(kind: str, least: int, most: int) -> None:
    """A valid bound at delta 0.05 misses more than 8 of 20 with probability below one in a million."""
    rng, missed = np.random.default_rng(20240523), {"blocks": 0, "mixture": 0}
    for _ in range(LOGS):
        ids = rng.choice(10**9, ROUNDS, replace=False)
        dealt = key_places(pa.chunked_array([ids])).argsort().argsort()
        reward = (rng.random(ROUNDS) < (RISING[dealt] if kind == "drift" else 0.5)).astype(float)
        if kind == "contents":
            reward = np.sort(reward)[dealt]
        for method in missed:
            missed[method] += misses(reward, ids, method)
    assert least <= missed["blocks"] <= most
    assert missed["mixture"] <= 8
