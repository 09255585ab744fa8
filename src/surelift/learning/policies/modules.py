"""Trainable policies as torch modules: Gaussian linear policies, a softmax of linear scores, of a network, of a module.

The training loop calls ``logged`` for the probability of the logged action, (rows,), and ``every`` for that of every action,
(rows, actions). A module may hold several problems: the rows then hold as many of each, one problem after the other.
"""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from surelift.errors import UsageError
from surelift.kernels import quadrature
from surelift.kernels.quadrature import Quadrature
from surelift.learning.policies.items import ItemSoftmax, SampledSoftmax
from surelift.learning.policies.rules import (
    TRAINING,
    ItemRule,
    ModuleRule,
    NetworkRule,
    Rule,
    SoftmaxRule,
    argmax_probabilities,
)
from surelift.learning.tensors import like


def logged_probability(standardised: Tensor, action: Tensor) -> Tensor:
    """The probability of one action per row, (rows,), from standardised scores, (rows, actions)."""
    if standardised.device.type == "cpu":
        return _Logged.apply(standardised, action)  # type: ignore[no-untyped-call,no-any-return]
    return by_log_ndtr(standardised).gather(1, action[:, None])[:, 0]


def all_probabilities(standardised: Tensor) -> Tensor:
    """The probability of every action, (rows, actions), from standardised scores."""
    if standardised.device.type == "cpu":
        return _All.apply(standardised)  # type: ignore[no-untyped-call,no-any-return]
    return by_log_ndtr(standardised)


def by_log_ndtr(standardised: Tensor, rule: Quadrature = TRAINING) -> Tensor:
    """The same on any device, in memory for rows x actions x nodes numbers."""
    return _ByTorch.apply(standardised, rule)  # type: ignore[no-untyped-call,no-any-return]


class _ByTorch(torch.autograd.Function):
    r"""The sum p_a of D r_a over the nodes t, with r = phi/Phi at t - d_a, and D the product of all Phi there.

    .. math:: \frac{\partial}{\partial d_b} \sum_a g_a p_a = \sum_t D r_b \Bigl(g_b (t - d_b + r_b) - \sum_a g_a r_a\Bigr)
    """

    @staticmethod
    def forward(ctx: Any, standardised: Tensor, rule: Quadrature) -> Tensor:
        nodes = like(standardised, np.linspace(rule.first, rule.last, rule.nodes).tolist())
        below = standardised - standardised.amax(1, keepdim=True)
        z = nodes - below[:, :, None]  # (rows, actions, nodes)
        logarithms = torch.special.log_ndtr(z)
        density = torch.exp(logarithms.sum(1, keepdim=True)).mul_(rule.step)  # (rows, 1, nodes)
        ratios = torch.addcmul(logarithms.add_(0.5 * math.log(2.0 * math.pi)), z, z, value=0.5).neg_().exp_()
        ctx.save_for_backward(z, ratios, density)
        return (density * ratios).sum(2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        z, ratios, density = ctx.saved_tensors
        worth = gradient[:, :, None]
        weighted = (worth * ratios).sum(1, keepdim=True)
        slopes = (z + ratios).mul_(worth).sub_(weighted).mul_(ratios).mul_(density)
        return slopes.sum(2), None


class _Logged(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, standardised: Tensor, action: Tensor) -> Tensor:
        probability, slopes = quadrature.logged_probability(standardised.detach().numpy(), action.numpy(), TRAINING)
        ctx.save_for_backward(torch.from_numpy(slopes).to(standardised.dtype))
        return torch.from_numpy(probability).to(standardised.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (slopes,) = ctx.saved_tensors
        return slopes * gradient[:, None], None


class _All(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, standardised: Tensor) -> Tensor:
        ctx.save_for_backward(standardised)
        return torch.from_numpy(argmax_probabilities(standardised.detach().numpy(), TRAINING)).to(standardised.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (standardised,) = ctx.saved_tensors
        slopes = quadrature.all_slopes(standardised.detach().numpy(), gradient.numpy(), TRAINING)
        return torch.from_numpy(slopes).to(standardised.dtype)


Parameters = dict[str, Tensor]
Covariance = Literal["shared", "diagonal"]


class LinearGaussian(nn.Module):
    """Draws a weight vector N(mean, deviation^2) for every action and takes the action with the largest score.

    The deviation is shared by all weights, or one per feature. The prior has deviation 1.
    """

    prior: Tensor  # (problems, actions, features)
    free: Tensor  # (features,), 0 for the features of unseen texts, which keep the prior's deviation of 1

    def __init__(self, prior: Tensor, covariance: Covariance = "shared", *, unseen: Sequence[int] = ()) -> None:
        super().__init__()
        prior = prior[None] if prior.ndim == 2 else prior
        problems, _, features = prior.shape
        self.register_buffer("prior", prior.detach().clone())
        self.register_buffer("free", torch.ones(features, dtype=prior.dtype))
        self.free[list(unseen)] = 0.0
        self.layout = (covariance, tuple(unseen), tuple(prior.shape[1:]))
        self.means = nn.Parameter(prior.detach().clone())
        width = 1 if covariance == "shared" else features
        self.log_deviation = nn.Parameter(torch.zeros(problems, width, dtype=prior.dtype))

    @staticmethod
    def stacked(several: Sequence["LinearGaussian"]) -> "LinearGaussian":
        covariance, unseen, _ = several[0].layout
        return LinearGaussian(torch.cat([policy.prior for policy in several]), covariance, unseen=unseen)

    def parameters_of(self, problem: int) -> dict[str, Tensor]:
        parameters = {"means": self.means[problem], "deviation": self.deviation()[problem]}
        return {name: tensor.detach().cpu().clone() for name, tensor in parameters.items()}

    def logged(self, features: Tensor, action: Tensor) -> Tensor:
        return logged_probability(self._standardised(features), action)

    def every(self, features: Tensor) -> Tensor:
        return all_probabilities(self._standardised(features))

    def divergence(self) -> Tensor:
        """The KL divergence from the prior, (problems,)."""
        moved = ((self.means - self.prior) ** 2).sum((1, 2))
        spread = torch.expm1(2.0 * self.log_deviation) - 2.0 * self.log_deviation
        return 0.5 * (moved + self.prior.shape[1] * (self.free * spread).sum(1))

    def deviation(self) -> Tensor:
        return torch.exp(self.free * self.log_deviation)

    def _standardised(self, features: Tensor) -> Tensor:
        """Scores divided by their standard deviation, which is the same for all actions of a row; 0 where it is 0."""
        problems, actions, size = self.means.shape
        rows, (covariance, unseen, _) = features.view(problems, -1, size), self.layout
        if covariance == "shared" and not unseen:
            spread = torch.exp(self.log_deviation) * torch.linalg.vector_norm(rows, dim=2)
        else:
            spread = torch.linalg.vector_norm(rows * self.deviation()[:, None, :], dim=2)
        standardised: Tensor = (rows @ self.means.transpose(1, 2)) / spread.clamp_min(1e-15)[:, :, None]
        return standardised.reshape(-1, actions)


class StackedSoftmax(nn.Module):
    """Linear scores, or those of one hidden layer of rectified units, for several problems at once; begins as uniform.

    The units are drawn from a seed: a policy learns the same alone and among others.
    """

    def __init__(self, features: int, actions: int, *, units: int = 0, seed: int = 0) -> None:
        super().__init__()
        self.layout = (features, actions, units)
        if units:
            drawn = 2.0 * torch.rand(1, units, features, generator=torch.Generator().manual_seed(seed)) - 1.0
            self.hidden = nn.Parameter(drawn / math.sqrt(features))
            self.hidden_constants = nn.Parameter(torch.zeros(1, 1, units))
        self.weights = nn.Parameter(torch.zeros(1, actions, units or features))
        if units:
            self.constants = nn.Parameter(torch.zeros(1, 1, actions))

    @staticmethod
    def stacked(several: Sequence["StackedSoftmax"]) -> "StackedSoftmax":
        together = copy.deepcopy(several[0])
        for name, _ in several[0].named_parameters():
            parts = [getattr(policy, name).detach() for policy in several]
            setattr(together, name, nn.Parameter(torch.cat(parts)))
        return together

    def parameters_of(self, problem: int) -> dict[str, Tensor]:
        return {name: tensor[problem].detach().cpu().clone() for name, tensor in self.named_parameters()}

    def every(self, features: Tensor) -> Tensor:
        width, actions, units = self.layout
        rows = features.view(len(self.weights), -1, width)
        if not units:
            scores = rows @ self.weights.transpose(1, 2)
        else:
            rows = torch.relu(torch.baddbmm(self.hidden_constants, rows, self.hidden.transpose(1, 2)))
            scores = torch.baddbmm(self.constants, rows, self.weights.transpose(1, 2))
        return torch.softmax(scores, dim=2).view(-1, actions)

    def logged(self, features: Tensor, action: Tensor) -> Tensor:
        return self.every(features).gather(1, action[:, None])[:, 0]


STACKABLE = (LinearGaussian, StackedSoftmax)
"""Policies that hold several problems in the same tensors."""


class SoftmaxOfScores(nn.Module):
    """A softmax of the scores of any module."""

    def __init__(self, scores: nn.Module) -> None:
        super().__init__()
        self.scores = scores

    def parameters_of(self, problem: int) -> dict[str, Tensor]:
        return {name: tensor.detach().cpu().clone() for name, tensor in self.scores.state_dict().items()}

    def every(self, features: Tensor) -> Tensor:
        try:
            return torch.softmax(self.scores(features), dim=1)
        except Exception as error:
            raise UsageError(
                f"the module fails on a batch of {len(features)} rows: {error}. Try another batch_size."
            ) from error

    def logged(self, features: Tensor, action: Tensor) -> Tensor:
        return self.every(features).gather(1, action[:, None])[:, 0]


_UNITS = 256  # of the hidden layer of a network


def build_policy(form: Any, features: int, actions: int, seed: int = 0) -> tuple[nn.Module, Callable[[Parameters], Rule]]:
    """The module to train for "linear", "network", ``ItemSoftmax`` or a torch module; and the rule of its parameters."""
    if isinstance(form, ItemSoftmax):
        policy = SampledSoftmax(form, form.first_weights(features, actions))
        return policy, lambda parameters: ItemRule(parameters["weights"].numpy(), form.embeddings)
    if isinstance(form, str):
        rule: Callable[..., Rule] = SoftmaxRule if form == "linear" else NetworkRule
        named = StackedSoftmax(features, actions, units=0 if form == "linear" else _UNITS, seed=seed)
        return named, lambda parameters: rule(**{name: part.numpy() for name, part in parameters.items()})
    # A copy, so that a certified policy does not change when the user trains the module further.
    module = copy.deepcopy(form)
    _check_module(module, features, actions)

    def rule_of(parameters: Parameters) -> Rule:
        module.load_state_dict(parameters)
        return ModuleRule(module.eval())

    return SoftmaxOfScores(module), rule_of


def _check_module(module: nn.Module, features: int, actions: int) -> None:
    device = next((parameter.device for parameter in module.parameters() if parameter.requires_grad), None)
    problem, rows = "", torch.linspace(-1.0, 1.0, 2 * features, device=device).view(2, features)
    try:
        with torch.no_grad():
            scores = module.eval()(rows)
            shape, alone = tuple(scores.shape), module(rows[:1])
    except Exception as error:
        raise UsageError(f"the module does not accept {features} features: {error!r}") from error
    if device is None:
        problem = "the module has no parameters to learn."
    elif shape != (2, actions):
        problem = f"the module must return scores of shape (2, {actions}) for 2 rows of {features} features, not {shape}."
    elif alone.shape != (1, actions) or not torch.allclose(scores[:1], alone, rtol=1e-3, atol=1e-4, equal_nan=True):
        problem = (
            "the scores of a row must depend on this row alone, but the module gives others where the row stands by itself: "
            "it mixes the rows of a batch, or draws at random. What is certified would not be what decides."
        )
    if problem:
        raise UsageError(problem)
