"""From the ``policy`` argument of a learner to a module to train, and from its parameters to a learned rule."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from surelift.errors import UsageError
from surelift.learning.policies.items import ItemSoftmax, SampledSoftmax
from surelift.learning.policies.modules import SoftmaxOfScores
from surelift.learning.policies.rules import ItemRule, ModuleRule, Rule, SoftmaxRule

Parameters = dict[str, torch.Tensor]


def build_policy(form: Any, features: int, actions: int) -> tuple[nn.Module, Callable[[Parameters], Rule]]:
    """The module to train for "softmax", ``ItemSoftmax`` or a torch module; and the rule of its parameters."""
    if isinstance(form, ItemSoftmax):
        policy = SampledSoftmax(form, form.first_weights(features, actions))
        return policy, lambda parameters: ItemRule(parameters["weights"].numpy(), form.embeddings)
    if isinstance(form, str):
        linear = nn.Linear(features, actions, bias=False)
        nn.init.zeros_(linear.weight)
        return SoftmaxOfScores(linear), lambda parameters: SoftmaxRule(parameters["weight"].numpy())
    # A copy, so that a certified policy does not change when the user trains the module further.
    module = copy.deepcopy(form)
    _check_module(module, features, actions)

    def rule_of(parameters: Parameters) -> Rule:
        module.load_state_dict(parameters)
        return ModuleRule(module.eval())

    return SoftmaxOfScores(module), rule_of


def _check_module(module: nn.Module, features: int, actions: int) -> None:
    try:
        device = next((parameter.device for parameter in module.parameters() if parameter.requires_grad), None)
        if device is None:
            raise UsageError("the module has no parameters to learn.")
        with torch.no_grad():
            shape = tuple(module.eval()(torch.zeros(2, features, device=device)).shape)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"the module does not accept {features} features: {error!r}") from error
    if shape != (2, actions):
        raise UsageError(
            f"the module must return scores of shape (2, {actions}) for 2 rows of {features} features, not {shape}."
        )
