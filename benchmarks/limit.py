"""How narrow is a lower bound that multiplies the best one-round factor of a law that is known?

Every factor that is valid against "the value is at most m", whatever the rewards, is dominated by (nu(a|x)/pi0(a|x) +
smoothing w r)/(1 + smoothing m), with one smoothing and shares nu(.|x) that sum to at most 1 (Theorem A). Here the one that
grows most is found from the expected rewards, which nobody knows: a yardstick, no method. It is the limit of one factor
for all rounds. Bets in blocks change theirs by what has been won so far and stop when they have won, and may be narrower.
"""

import math

import numpy as np

from surelift.arrays import FloatArray, IntArray

BISECTIONS, ZOOMS, PLACES = 25, 3, 9
LEAST, LARGEST = 1e-3, 1e4
"""Smoothings, among which the best is searched."""
MOST_CONTEXTS = 300
"""So many show the mean growth well enough to choose the smoothing."""


def lower_limit(
    logging: FloatArray, policy: FloatArray, expected: FloatArray, *, action: IntArray, reward: FloatArray, delta: float
) -> float:
    """The lower bound on a log by the best factor of its law: arrays are (rounds, actions), rewards are 0 or 1."""
    rounds = len(action)
    target = math.log(1.0 / delta) / rounds
    law = np.stack([logging, policy, expected])
    contexts, back, counts = np.unique(law, axis=1, return_inverse=True, return_counts=True)
    back = back.reshape(-1)
    some = np.random.default_rng(0).permutation(len(counts))[:MOST_CONTEXTS]
    smoothing = _best_smoothing(contexts[:, some], counts[some], target)
    shares = best_shares(contexts, smoothing)
    assert mean_factor(contexts, counts, shares, smoothing) <= 1.0 + 1e-9
    at = (back, action)
    q, p, _ = (part[at] for part in contexts)
    total = float(np.log((shares[at] + smoothing * p * reward) / q).sum())
    return max(0.0, math.expm1(total / rounds - target) / smoothing)


def best_shares(law: FloatArray, smoothing: float) -> FloatArray:
    """The nu(.|x) of the largest mean logarithm, for a law of (logging, policy, expected rewards) in each context.

    With a multiplier mu of sum nu = 1 it solves mu nu^2 + (mu smoothing pi - pi0) nu = smoothing pi pi0 (1 - q), and mu
    lies between 1/(1 + smoothing) and 1.
    """
    logging, policy, expected = law
    gain = smoothing * policy
    low, high = np.full((len(logging), 1), 1.0 / (1.0 + smoothing)), np.ones((len(logging), 1))
    for _ in range(BISECTIONS):
        multiplier = np.sqrt(low * high)
        large = _roots(logging, gain, expected, multiplier).sum(axis=1, keepdims=True) > 1.0
        low, high = np.where(large, multiplier, low), np.where(large, high, multiplier)
    return _roots(logging, gain, expected, high)


def _roots(logging: FloatArray, gain: FloatArray, expected: FloatArray, multiplier: FloatArray) -> FloatArray:
    half, product = (logging - multiplier * gain) / 2.0, multiplier * gain * logging * (1.0 - expected)
    root = np.sqrt(half * half + product)
    # The same root twice; each is exact where the other cancels.
    with np.errstate(divide="ignore", invalid="ignore"):
        other = product / (root - half)
    return np.asarray(np.where(half >= 0.0, half + root, other) / multiplier)


def _growth(law: FloatArray, counts: IntArray, smoothing: float) -> float:
    """The largest mean logarithm of nu/pi0 + smoothing w r over a round."""
    logging, policy, expected = law
    shares = best_shares(law, smoothing)
    with np.errstate(divide="ignore", invalid="ignore"):
        paid = logging * expected * np.log((shares + smoothing * policy) / logging)
        missed = logging * (1.0 - expected) * np.log(shares / logging)
    # What never happens adds nothing.
    paid = np.where(logging * expected > 0.0, paid, 0.0)
    missed = np.where(logging * (1.0 - expected) > 0.0, missed, 0.0)
    return float(np.average((paid + missed).sum(axis=1), weights=counts))


def mean_factor(law: FloatArray, counts: IntArray, shares: FloatArray, smoothing: float) -> float:
    """The mean of the factor against the true value, over contexts, actions and rewards: valid if at most 1."""
    logging, policy, expected = law
    can = logging > 0.0
    value = np.average((policy * expected).sum(axis=1), weights=counts)
    mean = np.average((can * (shares + smoothing * policy * expected)).sum(axis=1), weights=counts)
    return float(mean / (1.0 + smoothing * value))


def _best_smoothing(law: FloatArray, counts: IntArray, target: float) -> float:
    """That of the largest mean against which the wealth is expected to win, found by looking ever closer."""
    low, high = math.log(LEAST), math.log(LARGEST)
    for _ in range(ZOOMS):
        smoothings = np.exp(np.linspace(low, high, PLACES))
        rejected = [math.expm1(_growth(law, counts, strength) - target) / strength for strength in smoothings]
        best, apart = math.log(smoothings[int(np.argmax(rejected))]), (high - low) / (PLACES - 1)
        low, high = best - apart, best + apart
    return math.exp(best)
