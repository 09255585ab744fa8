"""Reward models, good and deliberately bad, with fit and predict."""

from typing import Any

import numpy as np

from surelift.arrays import FloatArray


class Means:
    """The mean reward of each action so far; the last columns of X say which action."""

    def __init__(self, actions: int) -> None:
        self.actions = actions

    def fit(self, features: FloatArray, reward: FloatArray) -> "Means":
        taken = features[:, -self.actions :]
        self.means_ = (reward @ taken + 0.5) / (taken.sum(axis=0) + 1.0)
        return self

    def predict(self, features: FloatArray) -> FloatArray:
        predicted: FloatArray = features[:, -self.actions :] @ self.means_
        return predicted


class Opposite(Means):
    """The opposite of what it learned."""

    def predict(self, features: FloatArray) -> FloatArray:
        return 1.0 - super().predict(features)


class Contrary(Means):
    """1 for the actions with the lowest mean rewards, 0 for the others."""

    def predict(self, features: FloatArray) -> FloatArray:
        predicted: FloatArray = (super().predict(features) < np.median(self.means_)).astype(np.float64)
        return predicted


class Noise(Means):
    """Random predictions, far outside the range of rewards."""

    def predict(self, features: FloatArray) -> FloatArray:
        return np.random.default_rng(len(features)).normal(scale=3.0, size=len(features))


class Chances:
    """A classifier: ``predict_proba`` over the rewards 0 and 1."""

    def __init__(self, actions: int) -> None:
        self._means = Means(actions)

    def fit(self, features: FloatArray, reward: Any) -> "Chances":
        assert reward.dtype.kind == "i"
        self.classes_ = np.unique(reward)
        self._means.fit(features, reward.astype(float))
        return self

    def predict_proba(self, features: FloatArray) -> FloatArray:
        high = self._means.predict(features)
        return np.column_stack([1 - high, high])


BAD = {"means": Means, "opposite": Opposite, "contrary": Contrary, "noise": Noise}
