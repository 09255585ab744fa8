"""The probability that an action has the largest score, for torch: by the compiled loops on the CPU, by torch elsewhere."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surelift.kernels import quadrature
from surelift.kernels.quadrature import Quadrature
from surelift.learning.policies.rules import TRAINING, argmax_probabilities
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
    r"""With r = phi/Phi at t - d_a, and D the product of all Phi there: p_a is the sum of D r_a over the nodes t.

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
