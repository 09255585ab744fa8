"""A ridge regression for every action: a reward model that is fitted and asked in a moment, however many contexts."""

from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray, IntArray

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
        known = ~np.isnan(contexts)
        count = np.maximum(known.sum(axis=0), 1)
        centre = np.where(known, contexts, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, contexts - centre, 0.0) ** 2).sum(axis=0) / count)
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12 * np.abs(centre))
        width = contexts.shape[1]
        found = cls(centre, scale, np.zeros((actions, width)), np.full(actions, float(reward.mean())))
        design = found._standardised(contexts)
        penalty = _PENALTY * max(float((design * design).sum() / len(design)), 1e-300)
        for one in range(actions):
            mine = action == one
            if not mine.any():
                continue
            earned, seen = reward[mine], design[mine]
            middle, mean = seen.mean(axis=0), earned.mean()
            seen = seen - middle
            found.weights[one] = np.linalg.solve(seen.T @ seen + penalty * np.eye(width), seen.T @ (earned - mean))
            found.constants[one] = mean - middle @ found.weights[one]
        return found

    def predict(self, contexts: FloatArray) -> FloatArray:
        """What every action is expected to earn, (rounds, actions)."""
        predicted: FloatArray = self._standardised(contexts) @ self.weights.T + self.constants
        return predicted

    def _standardised(self, contexts: FloatArray) -> FloatArray:
        return np.where(np.isnan(contexts), 0.0, (contexts - self.centre) * self.scale)
