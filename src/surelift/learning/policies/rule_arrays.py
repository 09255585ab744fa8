"""Learned policies of every kind to and from named arrays."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.learning.policies.rules import (
    GaussianRule,
    ItemRule,
    ModuleRule,
    NetworkRule,
    SoftmaxRule,
    StagesRule,
)

Rule = GaussianRule | SoftmaxRule | NetworkRule | StagesRule | ModuleRule | ItemRule
KINDS: dict[str, type[Any]] = {
    "gaussian": GaussianRule, "softmax": SoftmaxRule, "network": NetworkRule, "stages": StagesRule,
    "module": ModuleRule, "items": ItemRule,
}  # fmt: skip


def kind_of(rule: Rule) -> str:
    return next(kind for kind, of in KINDS.items() if isinstance(rule, of))


def arrays_of(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, ModuleRule):
        return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in rule.module.state_dict().items()}
    if isinstance(rule, StagesRule):
        stages = enumerate(rule.stages)
        named = {f"{k}.{kind_of(stage)}.{name}": array for k, stage in stages for name, array in arrays_of(stage).items()}
        return {"rounds": np.array(rule.rounds, dtype=np.int64), **named}
    return {field.name: getattr(rule, field.name) for field in fields(rule)}


def in_double(rule: Rule) -> Rule:
    """The same rule, with the linear weights in double precision that every decision would otherwise convert again."""
    if isinstance(rule, StagesRule):
        stages: Any = tuple(map(in_double, rule.stages))
        return replace(rule, stages=stages)
    if isinstance(rule, ModuleRule):
        return rule
    return replace(rule, **{name: array.astype(np.float64) for name, array in arrays_of(rule).items()})


def rule_from(kind: str, arrays: Mapping[str, Any], module: Any, shape: tuple[int, int]) -> Rule:
    """The policy of these arrays, checked against its number of actions and features."""
    if kind == "stages":
        parts: dict[tuple[int, str], dict[str, Any]] = {}
        for name in arrays.keys() - {"rounds"}:
            number, of_stage, part = name.split(".")
            parts.setdefault((int(number), of_stage), {})[part] = arrays[name]
        ordered = [(number, of in ("softmax", "network")) for number, of in sorted(parts)]
        in_order = ordered == [(number, True) for number in range(len(parts))]
        stages: Any = (rule_from(of, parts[number, of], None, shape) for number, of in sorted(parts) if in_order)
        return StagesRule(tuple(stages), tuple(arrays["rounds"].tolist()))
    if kind == "module":
        return ModuleRule(_loaded(module, arrays))
    rule: Any = KINDS[kind](**arrays)
    if rule.shape != shape or not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError(f"its numbers must be finite, and fit {shape[0]} actions and {shape[1]} features")
    return rule  # type: ignore[no-any-return]


def _loaded(module: Any, arrays: Mapping[str, Any]) -> Any:
    if module is None:
        raise UsageError("this policy is a torch module; pass a module of the same architecture in module=.")
    import torch

    try:
        module.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    except RuntimeError as error:
        raise UsageError(f"the module in module= does not match the one that was saved: {error}") from error
    return module.eval()
