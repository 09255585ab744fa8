"""Logs that were sorted are found; drift, adaptive logging and sessions are not taken for it."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from surelift.logs.order import CHANCE, RowOrder

Log = tuple[np.ndarray, np.ndarray, np.ndarray]
Rng = np.random.Generator
LEVEL = -math.log(CHANCE)


def found(log: Log, batch: int = 700) -> tuple[bool, bool]:
    order = RowOrder()
    for start in range(0, len(log[0]), batch):
        part = [column[start : start + batch] for column in log]
        order.add(part[0], part[1], part[2], np.full(len(part[0]), log[1].max() + 1.0))
    by_action, by_reward = order.evidence()
    return by_action >= LEVEL, by_reward >= LEVEL


def drawn(rng: Rng, chances: np.ndarray, shares: np.ndarray) -> Log:
    """Rewards with these chances for each action, (rounds, actions), logged by these shares."""
    rounds = np.arange(len(chances))
    shares = np.broadcast_to(shares, chances.shape)
    action = (rng.random(len(chances))[:, None] > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
    return (rng.random(len(chances)) < chances[rounds, action]).astype(float), action, shares[rounds, action]


def independent(rng: Rng, rounds: int) -> Log:
    return drawn(rng, np.full((rounds, 3), rng.choice([0.5, 0.1, 0.01])) * [1.0, 0.5, 1.2], np.array([0.6, 0.3, 0.1]))


def drifting(rng: Rng, rounds: int) -> Log:
    day = np.linspace(0.0, rng.choice([1.0, 6.0, 30.0]), rounds)[:, None]
    return drawn(rng, (0.5 + 0.45 * np.sin(day)) * [1.0, 0.8, 0.6], np.array([0.2, 0.5, 0.3]))


def jumping(rng: Rng, rounds: int) -> Log:
    chances = np.where(np.arange(rounds)[:, None] < rounds // 2, 0.02, 0.98) * np.ones(3)
    return drawn(rng, chances, np.full(3, 1 / 3))


def adaptive(rng: Rng, rounds: int) -> Log:
    """Production learns to prefer the best action, almost always in the end."""
    pulls, wins, rows = np.ones(3), np.ones(3), []
    for _ in range(rounds):
        shares = np.exp(8.0 * wins / (pulls + 1.0))
        shares = 0.97 * shares / shares.sum() + 0.01
        action = rng.choice(3, p=shares)
        reward = float(rng.random() < (0.1, 0.5, 0.8)[action])
        pulls[action], wins[action] = pulls[action] + 1, wins[action] + reward
        rows.append((reward, action, shares[action]))
    reward, action, propensity = np.array(rows).T
    return reward, action.astype(np.int64), propensity


def sessions(rng: Rng, rounds: int) -> Log:
    """All rounds of a visit share its reward and its preferred item."""
    visit = np.repeat(np.arange(rounds), rng.integers(1, 20, rounds))[:rounds]
    shares = rng.dirichlet(np.ones(3), rounds)[visit]
    _, action, propensity = drawn(rng, np.zeros((rounds, 3)), shares)
    return (rng.random(rounds) < 0.3).astype(float)[visit], action, propensity


@pytest.mark.parametrize("law", [independent, drifting, jumping, adaptive, sessions])
def test_no_order_of_time_is_refused(law: Callable[[Rng, int], Log]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10 if law is adaptive else 300):
        assert found(law(rng, int(rng.choice([50, 1_000, 5_000])))) == (False, False)


def coins(rng: Rng, rounds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    share = rng.choice([0.2, 0.5, 0.8], rounds)
    action = (rng.random(rounds) < share).astype(np.int64)
    return action, np.where(action == 1, share, 1.0 - share), np.full(rounds, 2.0)


def test_false_alarms_are_as_rare_as_promised() -> None:
    """At the border of what is allowed: sessions of 16 rows; and actions against which the stakes fit best."""
    rng, runs, evidence = np.random.default_rng(2), 2_000, []
    for _ in range(runs):
        order = RowOrder()
        order.add(np.repeat(rng.integers(0, 2, 60), 16).astype(float), *coins(rng, 960))
        evidence.append(order.evidence())
    # An e-value exceeds 1/level with a probability of at most the level.
    for level in (0.1, 0.01):
        assert (np.array(evidence) >= -math.log(level)).mean(axis=0).max() <= level + 3 * math.sqrt(level / runs)


SORTS: dict[str, Callable[[Log], np.ndarray]] = {
    "by reward": lambda log: np.argsort(log[0], kind="stable"),
    "by reward, the best first": lambda log: np.argsort(-log[0], kind="stable"),
    "by reward in each of ten parts": lambda log: np.lexsort([log[0], np.arange(len(log[0])) * 10 // len(log[0])]),
    "by action": lambda log: np.argsort(log[1], kind="stable"),
    "by action in each of ten parts": lambda log: np.lexsort([log[1], np.arange(len(log[0])) * 10 // len(log[0])]),
    "by reward and action": lambda log: np.lexsort([log[1], log[0]]),
    "by propensity": lambda log: np.argsort(log[2], kind="stable"),
    "by the weight of a policy": lambda log: np.argsort(np.array([0.2, 0.7, 0.1])[log[1]] / log[2], kind="stable"),
}


@pytest.mark.parametrize("name", SORTS)
def test_sorted_logs_are_found(name: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        log = drawn(rng, np.full((4_000, 3), 0.3) * [1.0, 0.5, 1.2], 0.8 * rng.dirichlet(np.ones(3), 4_000) + 0.2 / 3)
        order = SORTS[name](log)
        assert any(found((log[0][order], log[1][order], log[2][order])))


def test_rewards_that_are_amounts_are_found_too() -> None:
    rng = np.random.default_rng(4)
    reward, action, propensity = rng.random(5_000), rng.integers(0, 2, 5_000), np.full(5_000, 0.5)
    assert found((reward, action, propensity)) == (False, False)
    assert found((np.sort(reward), action, propensity)) == (False, True)


def test_batches_do_not_matter() -> None:
    log = drifting(np.random.default_rng(5), 3_000)
    whole, parts = RowOrder(), RowOrder()
    count = np.full(3_000, 3.0)
    whole.add(*log, count)
    for row in range(3_000):
        parts.add(*(column[row : row + 1] for column in (*log, count)))
    assert parts.evidence() == pytest.approx(whole.evidence())


@pytest.mark.parametrize("by", ["nothing", "action", "reward"])
def test_parts_add_up_to_no_more_evidence_and_little_less(by: str) -> None:
    """What follows is known by its first row before; of its peaks, a factor of 6 may be missed."""
    reward, action, propensity = drifting(np.random.default_rng(6), 3_000)
    order = {"nothing": np.arange(3_000), "action": np.argsort(action, kind="stable"), "reward": np.argsort(reward)}[by]
    log = tuple(column[order] for column in (reward, action, propensity, np.full(3_000, 3.0)))
    whole = RowOrder()
    whole.add(*log)
    for cuts in ([1_000, 2_000], [1, 2_999], [500, 500]):
        total, parts = RowOrder(), np.split(np.arange(3_000), cuts)
        for rows in parts:
            part = RowOrder()
            if len(rows) and rows[0]:
                part.follow(*(column[: rows[0]] for column in log))
            part.add(*(column[rows] for column in log))
            total = total + part
        assert (total.rows, total.same) == (whole.rows, whole.same)
        by_action, by_reward = total.evidence()
        assert by_reward == pytest.approx(whole.evidence()[1])
        assert whole.evidence()[0] - np.log(6.0) - 1e-9 <= by_action <= whole.evidence()[0] + 1e-9
