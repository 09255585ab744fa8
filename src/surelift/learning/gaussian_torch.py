"""The probabilities of a Gaussian argmax as functions of tensors, with their gradients.

On a processor the loops are compiled; elsewhere torch does them, with log_ndtr.
"""

import math
from typing import Any

import torch
from torch import Tensor

from surelift.learning import gaussian
from surelift.learning.gaussian import TRAINING, Rule


def logged_probability(standardised: Tensor, action: Tensor, rule: Rule = TRAINING) -> Tensor:
    """The probability of one action a row, (rows,), from scores divided by their deviation, (rows, actions)."""
    if standardised.device.type == "cpu":
        found: Tensor = _Logged.apply(standardised, action, rule)  # type: ignore[no-untyped-call]
        return found
    return all_probabilities(standardised, rule).gather(1, action[:, None])[:, 0]


def all_probabilities(standardised: Tensor, rule: Rule = TRAINING) -> Tensor:
    """The probability of every action, (rows, actions), from scores divided by their deviation."""
    if standardised.device.type == "cpu":
        found: Tensor = _All.apply(standardised, rule)  # type: ignore[no-untyped-call]
        return found
    return by_log_ndtr(standardised, rule)


def by_log_ndtr(standardised: Tensor, rule: Rule = TRAINING) -> Tensor:
    """The same on any device, differentiated by torch; it holds a number for every row, action and node."""
    nodes = torch.linspace(
        rule.first, rule.last, rule.nodes, dtype=standardised.dtype, device=standardised.device
    )  # (nodes,)
    below = standardised - standardised.max(dim=1, keepdim=True).values.detach()
    z = nodes - below[:, :, None]  # (rows, actions, nodes)
    logarithms = torch.special.log_ndtr(z)
    ratios = torch.exp(-0.5 * z * z - logarithms) / math.sqrt(2.0 * math.pi)
    density = rule.step * torch.exp(logarithms.sum(dim=1, keepdim=True))  # (rows, 1, nodes)
    return (density * ratios).sum(dim=2)


class _Logged(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, standardised: Tensor, action: Tensor, rule: Rule) -> Tensor:
        probability, slopes = gaussian.logged_probability(standardised.detach().numpy(), action.numpy(), rule)
        ctx.save_for_backward(torch.from_numpy(slopes).to(standardised.dtype))
        return torch.from_numpy(probability).to(standardised.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (slopes,) = ctx.saved_tensors
        return slopes * gradient[:, None], None, None


class _All(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, standardised: Tensor, rule: Rule) -> Tensor:
        ctx.save_for_backward(standardised)
        ctx.rule = rule
        found = gaussian.argmax_probabilities(standardised.detach().numpy(), rule)
        return torch.from_numpy(found).to(standardised.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (standardised,) = ctx.saved_tensors
        slopes = gaussian.slopes(standardised.detach().numpy(), gradient.numpy(), ctx.rule)
        return torch.from_numpy(slopes).to(standardised.dtype), None
