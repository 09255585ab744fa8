"""Learned parameters of any kind of policy, to and from named arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.learning.policies.gaussian import GaussianRule
from surelift.learning.policies.item_rule import ItemRule
from surelift.learning.policies.softmax import ModuleRule, SoftmaxRule

Rule = GaussianRule | SoftmaxRule | ModuleRule | ItemRule


def kind_of(rule: Rule) -> str:
    return {GaussianRule: "gaussian", SoftmaxRule: "softmax", ModuleRule: "module", ItemRule: "items"}[type(rule)]


def arrays_of(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, GaussianRule):
        return {"means": rule.means, "deviation": rule.deviation, "prior": rule.prior}
    if isinstance(rule, SoftmaxRule):
        return {"weights": rule.weights}
    if isinstance(rule, ItemRule):
        return {"weights": rule.weights, "embeddings": rule.embeddings}
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in rule.module.state_dict().items()}


def rule_from(kind: str, arrays: Mapping[str, Any], module: Any, shape: tuple[int, int]) -> Rule:
    """The policy of these arrays, checked against its number of actions and features."""
    if kind == "items":
        weights, embeddings = arrays["weights"], arrays["embeddings"]
        shapes_match = embeddings.ndim == 2 and len(embeddings) == shape[0]
        shapes_match = shapes_match and weights.shape == (embeddings.shape[1], shape[1])
        valid = all(array.dtype == np.float32 and np.isfinite(array).all() for array in (weights, embeddings))
        if not shapes_match or not valid:
            raise ValueError("its weights and embeddings must be finite and match its actions and features")
        return ItemRule(weights, embeddings)
    if kind in ("gaussian", "softmax"):
        weights = arrays["means" if kind == "gaussian" else "weights"]
        if weights.shape != shape or not np.isfinite(weights).all():
            raise ValueError(f"its weights must be finite and have shape {shape}")
        if kind == "softmax":
            return SoftmaxRule(weights)
        return GaussianRule(weights, arrays["deviation"], arrays["prior"])
    if module is None:
        raise UsageError("this policy is a torch module; pass a module of the same architecture in module=.")
    import torch

    try:
        module.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    except RuntimeError as error:
        raise UsageError(f"the module in module= does not match the one that was saved: {error}") from error
    return ModuleRule(module.eval())
