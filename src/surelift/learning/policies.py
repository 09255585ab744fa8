"""Policies with parameters to learn, as torch modules: random linear rules, and a softmax of scores.

The training loop asks three things of each: ``logged``, the probability of the logged action, (rows,); ``every``, that of
every action, (rows, actions); and ``divergence``, KL from the prior, or 0 where there is none, (problems,). A module may
hold several problems at once: rows are then as many of each, one problem after the other.
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from surelift.errors import UsageError
from surelift.learning import gaussian_torch

Covariance = Literal["shared", "diagonal"]


class LinearGaussian(nn.Module):
    """Draw a weight vector for every action, N(mean, deviation^2); take the action whose product with the features leads.

    One deviation is shared by all weights, or there is one for each feature. The prior has deviation 1 around its means.
    """

    def __init__(self, prior: Tensor, covariance: Covariance = "shared", *, unseen: Sequence[int] = ()) -> None:
        super().__init__()
        prior = prior[None] if prior.ndim == 2 else prior
        problems, _, features = prior.shape
        self.register_buffer("prior", prior.detach().clone())  # (problems, actions, features)
        free = torch.ones(features, dtype=prior.dtype)
        free[list(unseen)] = 0.0
        # Features that stand for texts never seen keep the prior's deviation of 1.
        self.register_buffer("free", free)
        self.layout = (covariance, tuple(unseen), tuple(prior.shape[1:]))
        self.means = nn.Parameter(prior.detach().clone())
        self.log_deviation = nn.Parameter(
            torch.zeros(problems, 1 if covariance == "shared" else features, dtype=prior.dtype)
        )

    @classmethod
    def joined(cls, several: Sequence["LinearGaussian"]) -> "LinearGaussian":
        """Policies of one layout as one, before any has learned."""
        covariance, unseen, _ = several[0].layout
        priors: list[Any] = [one.prior for one in several]
        return cls(torch.cat(priors), covariance, unseen=unseen)

    def part(self, problem: int) -> dict[str, Tensor]:
        """What one problem has learned, on the processor."""
        found = {"means": self.means[problem], "deviation": self.deviation()[problem]}
        return {name: tensor.detach().cpu().clone() for name, tensor in found.items()}

    def logged(self, features: Tensor, action: Tensor) -> Tensor:
        return gaussian_torch.logged_probability(self._standardised(features), action)

    def every(self, features: Tensor) -> Tensor:
        return gaussian_torch.all_probabilities(self._standardised(features))

    def divergence(self) -> Tensor:
        prior: Any = self.prior
        moved = ((self.means - prior) ** 2).sum((1, 2))
        spread = torch.expm1(2.0 * self.log_deviation) - 2.0 * self.log_deviation
        free: Any = self.free
        divergence: Tensor = 0.5 * (moved + prior.shape[1] * (free * spread).sum(1))
        return divergence

    def deviation(self) -> Tensor:
        """Of every problem and feature."""
        free: Any = self.free
        return torch.exp(free * self.log_deviation)

    def _standardised(self, features: Tensor) -> Tensor:
        """Scores divided by their standard deviation, which all actions of a row have in common; 0 where there is none."""
        problems, actions, size = self.means.shape
        rows = features.view(problems, -1, size)
        covariance, unseen, _ = self.layout
        if covariance == "shared" and not unseen:
            spread = torch.exp(self.log_deviation) * torch.linalg.vector_norm(rows, dim=2)
        else:
            spread = torch.linalg.vector_norm(rows * self.deviation()[:, None, :], dim=2)
        standardised: Tensor = (rows @ self.means.transpose(1, 2)) / spread.clamp_min(1e-15)[:, :, None]
        return standardised.reshape(-1, actions)


class SoftmaxOfScores(nn.Module):
    """Probabilities proportional to exp(score), of any module from features to one score per action."""

    def __init__(self, scores: nn.Module) -> None:
        super().__init__()
        self.scores = scores

    def part(self, problem: int) -> dict[str, Tensor]:
        return {name: tensor.detach().cpu().clone() for name, tensor in self.scores.state_dict().items()}

    def logged(self, features: Tensor, action: Tensor) -> Tensor:
        return self.every(features).gather(1, action[:, None])[:, 0]

    def every(self, features: Tensor) -> Tensor:
        try:
            return torch.softmax(self.scores(features), dim=1)
        except Exception as error:
            raise UsageError(
                f"the module fails on a batch of {len(features)} rows: {error}. Another batch_size may suit it."
            ) from error

    def divergence(self) -> Tensor:
        return torch.zeros(1)
