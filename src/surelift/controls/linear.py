"""One ridge regression per action: a reward model that is fast to fit and evaluate, however many contexts."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError

# A prior for rewards on [0, 1]: noise with about half the variance that the contexts explain.
_PENALTY = 0.5


@dataclass(frozen=True, slots=True)
class Linear:
    """Contexts are standardised to mean 0 and variance 1; a missing one is replaced by the mean."""

    centre: FloatArray  # (contexts,)
    scale: FloatArray  # (contexts,), 0 for contexts that do not vary
    weights: FloatArray  # (actions, contexts)
    constants: FloatArray  # (actions,)

    @classmethod
    def fitted(cls, contexts: FloatArray, action: IntArray, reward: FloatArray, actions: int) -> "Linear":
        width = contexts.shape[1]
        centre, scale = _moments(contexts)
        model = cls(centre, scale, np.zeros((actions, width)), np.full(actions, float(reward.mean())))
        products, sums = np.zeros((actions, width, width)), np.zeros((actions, width))
        with_reward = np.zeros((actions, width))
        for rows in _pieces(len(contexts)):
            design = model._standardise(contexts[rows])
            for a in np.unique(action[rows]):
                taken = design[action[rows] == a]
                products[a] += taken.T @ taken
                sums[a] += taken.sum(axis=0)
                with_reward[a] += reward[rows][action[rows] == a] @ taken
        penalty = _PENALTY * max(float(np.trace(products, axis1=1, axis2=2).sum() / len(contexts)), 1e-300)
        for a in np.unique(action):
            count, mean = np.count_nonzero(action == a), reward[action == a].mean()
            middle = sums[a] / count
            covariance = products[a]
            covariance -= count * np.outer(middle, middle)
            covariance.flat[:: width + 1] += penalty
            # NumPy's solve lets other threads run meanwhile, SciPy's does not.
            model.weights[a] = np.linalg.solve(covariance, with_reward[a] - count * mean * middle)
            model.constants[a] = mean - middle @ model.weights[a]
        return model

    def predict(self, contexts: FloatArray) -> FloatArray:
        """The expected reward of every action, shape (rounds, actions)."""
        parts = [self._standardise(contexts[rows]) @ self.weights.T for rows in _pieces(len(contexts))]
        return np.concatenate([np.zeros((0, len(self.weights))), *parts]) + self.constants

    def _standardise(self, contexts: FloatArray) -> FloatArray:
        return np.where(np.isnan(contexts), 0.0, (contexts - self.centre) * self.scale)


def _pieces(rounds: int, size: int = 2048) -> Iterator[slice]:
    """Slices of a few rounds: copying all rounds at once would take longer than the computation."""
    return (slice(start, start + size) for start in range(0, rounds, size))


def _moments(contexts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over known entries, and inverse standard deviations; 0 for a context that does not vary."""
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
        number = int(np.argmin(np.isfinite(spread)))
        raise UsageError(f"context number {number} of the reward model holds numbers too large to square; rescale it.")
    return centre, np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12 * np.abs(centre))
