"""Helpers that work on NumPy arrays and torch tensors alike, so that each objective is written once for both."""

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np


def namespace(values: Any) -> ModuleType:
    """The module to compute with: torch for a tensor, NumPy otherwise."""
    if isinstance(values, np.ndarray | float | np.floating):
        return np
    import torch

    return torch


def like(values: Any, numbers: float | Sequence[float]) -> Any:
    """Constants as an array or tensor with the type and device of ``values``."""
    if namespace(values) is np:
        return np.asarray(numbers, dtype=np.float64)
    return _constant(numbers if isinstance(numbers, float) else tuple(numbers), values.dtype, values.device)


@cache
def _constant(numbers: float | tuple[float, ...], dtype: Any, device: Any) -> Any:
    # Cached on the device: copying it there again would stall every step.
    import torch

    return torch.tensor(numbers, dtype=dtype, device=device)


def positions(values: Any) -> Any:
    """0, 1, ... along the first axis of ``values``."""
    if namespace(values) is np:
        return np.arange(len(values))
    return namespace(values).arange(len(values), device=values.device)


def logged(matrix: Any, action: Any) -> Any:
    """The entry of the logged action in every row."""
    return matrix[positions(action), action]
