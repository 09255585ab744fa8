"""Policies from their descriptions in certificates."""

from collections.abc import Callable, Mapping
from typing import Any

from surelift.errors import UsageError
from surelift.logs.densities import density_from
from surelift.logs.wins import wins_from
from surelift.policies.continuous import DensityReader, binned_from, kernel
from surelift.policies.over_actions import Chosen, UniformPolicy
from surelift.policies.policy import Column, Columns, Policy, Production
from surelift.policies.resolve import blend, bounded, epsilon_greedy, softmax
from surelift.policies.unbiased import AdditiveSlate, Simulated


def from_description(description: Mapping[str, Any]) -> Policy:
    """Rebuild a policy made of columns; an array, a function or a model must be passed again."""
    kind = description["kind"]
    if kind in ("array", "function", "model", "learned"):
        raise UsageError(f"it was built from {kind} {description.get('name', '')}".rstrip())
    if kind not in _REBUILD:
        raise ValueError(f"unknown policy kind {kind!r}")
    return _REBUILD[kind](description)


_REBUILD: dict[str, Callable[[Mapping[str, Any]], Policy]] = {
    "production": lambda _: Production(),
    "column": lambda saved: Column(str(saved["column"])),
    "columns": lambda saved: Columns(tuple(map(str, saved["columns"]))),
    "chosen": lambda saved: Chosen(saved["column"]),
    "uniform": lambda _: UniformPolicy(),
    "softmax": lambda saved: softmax(from_description(saved["of"]), saved["temperature"]),
    "epsilon_greedy": lambda saved: epsilon_greedy(from_description(saved["of"]), saved["epsilon"]),
    "blend": lambda saved: blend(from_description(saved["of"]), saved["alpha"]),
    "bounded": lambda saved: bounded(from_description(saved["of"]), saved["max_weight"]),
    "binned": binned_from,
    "wins": lambda saved: Simulated(wins_from(saved)),
    "additive": lambda saved: AdditiveSlate(str(saved["column"]), int(saved["positions"]), float(saved["drop"])),
    "kernel": lambda saved: kernel(str(saved["column"]), saved["bandwidth"]),
    **dict.fromkeys(("gaussian", "uniform-density", "density-blend"), lambda saved: DensityReader(density_from(saved))),
}


def rebuild(name: str, description: Mapping[str, Any], *, kept_in: str) -> Policy:
    """Rebuild a saved policy, or say that it must be passed again."""
    try:
        return from_description(description)
    except UsageError as error:
        raise UsageError(f"policy {name!r} cannot be read from {kept_in} ({error}); pass it in policies=.") from error
