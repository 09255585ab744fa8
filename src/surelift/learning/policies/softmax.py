"""Learned softmax policies: linear scores in NumPy, or the scores of a torch module."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.learning.policies.gaussian import Single


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxRule:
    """Probabilities proportional to exp(weights . features)."""

    weights: Single  # (actions, features)

    def probabilities(self, features: Single) -> FloatArray:
        return _softmax(features.astype(np.float64) @ self.weights.astype(np.float64).T)


@dataclass(frozen=True, slots=True, eq=False)
class ModuleRule:
    """Probabilities proportional to exp(score), with the scores of a torch module."""

    module: Any

    def probabilities(self, features: Single) -> FloatArray:
        import torch

        device = next((parameter.device for parameter in self.module.parameters()), torch.device("cpu"))
        with torch.no_grad():
            scores = self.module(torch.from_numpy(np.ascontiguousarray(features)).to(device))
        return _softmax(scores.double().cpu().numpy())


def _softmax(scores: FloatArray) -> FloatArray:
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: FloatArray = exponentials / exponentials.sum(axis=1, keepdims=True)
    return shares
