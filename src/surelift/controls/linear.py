"""A ridge regression for every action: a reward model that is fitted and asked in a moment, however many contexts."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError

# Rewards on [0, 1] with as much of their variance in the contexts as there is noise of about half its size.
_PENALTY = 0.5


@dataclass(frozen=True, slots=True)
class Linear:
    """Contexts brought to mean 0 and variance 1; one that is missing counts as the mean."""

    centre: FloatArray  # (contexts,)
    scale: FloatArray  # (contexts,), 0 for those that did not vary
    weights: FloatArray  # (actions, contexts)
    constants: FloatArray  # (actions,)

    @classmethod
    def fitted(cls, contexts: FloatArray, action: IntArray, reward: FloatArray, actions: int) -> "Linear":
        from scipy.linalg import solve

        width = contexts.shape[1]
        centre, scale = _moments(contexts)
        found = cls(centre, scale, np.zeros((actions, width)), np.full(actions, float(reward.mean())))
        products, sums = np.zeros((actions, width, width)), np.zeros((actions, width))
        with_reward = np.zeros((actions, width))
        for rows in _pieces(len(contexts)):
            design = found._standardised(contexts[rows])
            for one in np.unique(action[rows]):
                mine = design[action[rows] == one]
                products[one] += mine.T @ mine
                sums[one] += mine.sum(axis=0)
                with_reward[one] += reward[rows][action[rows] == one] @ mine
        penalty = _PENALTY * max(float(np.trace(products, axis1=1, axis2=2).sum() / len(contexts)), 1e-300)
        for one in np.unique(action):
            count, mean = np.count_nonzero(action == one), reward[action == one].mean()
            middle = sums[one] / count
            around = products[one] - count * np.outer(middle, middle)
            found.weights[one] = solve(
                around + penalty * np.eye(width), with_reward[one] - count * mean * middle, assume_a="pos"
            )
            found.constants[one] = mean - middle @ found.weights[one]
        return found

    def predict(self, contexts: FloatArray) -> FloatArray:
        """What every action is expected to earn, (rounds, actions)."""
        parts = [self._standardised(contexts[rows]) @ self.weights.T for rows in _pieces(len(contexts))]
        return np.concatenate([np.zeros((0, len(self.weights))), *parts]) + self.constants

    def _standardised(self, contexts: FloatArray) -> FloatArray:
        return np.where(np.isnan(contexts), 0.0, (contexts - self.centre) * self.scale)


def _pieces(rounds: int, size: int = 2048) -> Iterator[slice]:
    """A few rounds at a time: copies of all of them would take longer than the work."""
    return (slice(start, start + size) for start in range(0, rounds, size))


def _moments(contexts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The means of what is known, and one over the standard deviation; 0 for a context that does not vary."""
    count = np.zeros(contexts.shape[1])
    total, squares = np.zeros_like(count), np.zeros_like(count)
    for rows in _pieces(len(contexts)):
        count += (~np.isnan(contexts[rows])).sum(axis=0)
        with np.errstate(over="ignore"):
            total += np.nansum(contexts[rows], axis=0)
    count = np.maximum(count, 1.0)
    centre = total / count
    for rows in _pieces(len(contexts)):
        with np.errstate(over="ignore", invalid="ignore"):
            squares += np.nansum((contexts[rows] - centre) ** 2, axis=0)
    spread = np.sqrt(squares / count)
    if not np.isfinite(spread).all():
        raise UsageError(
            f"context number {int(np.argmin(np.isfinite(spread)))} of the reward model holds numbers too large to be "
            "squared; scale it before."
        )
    return centre, np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12 * np.abs(centre))
