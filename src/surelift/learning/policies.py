"""Policies with parameters to learn, as torch modules: random linear rules, and a softmax of scores.

The training loop asks three things of each: ``logged``, the probability of the logged action, (rows,); ``every``, that of
every action, (rows, actions); and ``divergence``, KL from the prior, or 0 where there is none.
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from surelift.learning import gaussian_torch

Covariance = Literal["shared", "diagonal"]


class LinearGaussian(nn.Module):
    """Draw a weight vector for every action, N(mean, deviation^2); take the action whose product with the features leads.

    One deviation is shared by all weights, or there is one for each feature. The prior has deviation 1 around its means.
    """

    def __init__(self, prior: Tensor, covariance: Covariance = "shared", *, unseen: Sequence[int] = ()) -> None:
        super().__init__()
        self.register_buffer("prior", prior.detach().clone())  # (actions, features)
        free = torch.ones(prior.shape[1], dtype=prior.dtype)
        free[list(unseen)] = 0.0
        # Features that stand for texts never seen keep the prior's deviation of 1.
        self._unseen = bool(unseen)
        self.register_buffer("free", free)
        self.means = nn.Parameter(prior.detach().clone())
        self.log_deviation = nn.Parameter(
            torch.zeros(() if covariance == "shared" else prior.shape[1], dtype=prior.dtype)
        )

    def logged(self, features: Tensor, action: Tensor) -> Tensor:
        return gaussian_torch.logged_probability(self._standardised(features), action)

    def every(self, features: Tensor) -> Tensor:
        return gaussian_torch.all_probabilities(self._standardised(features))

    def divergence(self) -> Tensor:
        prior: Any = self.prior
        moved = ((self.means - prior) ** 2).sum()
        spread = torch.expm1(2.0 * self.log_deviation) - 2.0 * self.log_deviation
        free: Any = self.free
        divergence: Tensor = 0.5 * (moved + len(prior) * (free * spread).sum())
        return divergence

    def deviation(self) -> Tensor:
        """Of every feature."""
        free: Any = self.free
        return torch.exp(free * self.log_deviation)

    def _standardised(self, features: Tensor) -> Tensor:
        """Scores divided by their standard deviation, which all actions of a row have in common; 0 where there is none."""
        if self.log_deviation.ndim == 0 and not self._unseen:
            spread = torch.exp(self.log_deviation) * torch.linalg.vector_norm(features, dim=1)
        else:
            spread = torch.linalg.vector_norm(features * self.deviation(), dim=1)
        standardised: Tensor = (features @ self.means.T) / spread.clamp_min(1e-15)[:, None]
        return standardised


class SoftmaxOfScores(nn.Module):
    """Probabilities proportional to exp(score), of any module from features to one score per action."""

    def __init__(self, scores: nn.Module) -> None:
        super().__init__()
        self.scores = scores

    def logged(self, features: Tensor, action: Tensor) -> Tensor:
        return self.every(features).gather(1, action[:, None])[:, 0]

    def every(self, features: Tensor) -> Tensor:
        return torch.softmax(self.scores(features), dim=1)

    def divergence(self) -> Tensor:
        return torch.zeros(())
