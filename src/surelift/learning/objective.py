"""What a learner maximises: a bound from below on what a random policy is worth, for all such policies at once.

A random policy draws a rule theta from Q and does what the rule says, so that p_i(a) is the share of rules that take action
a in round i. Every bound here is a function of a few sums that are linear in these shares, and of the divergence KL(Q || P)
from a prior P that was fixed before the rounds were seen (PAC-Bayes). One definition serves NumPy, where certificates are
made, and torch, where gradients are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from surelift.learning.examples import Examples

About = Literal["value", "improvement"]


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What a round adds to each sum: for the logged action and for any other, or for each action apart.

    ``fixed`` is added whatever the policy.
    """

    own: Any = None  # (rounds, sums)
    others: Any = None  # (rounds, sums)
    every: Any = None  # (rounds, actions, sums)
    fixed: Any = None  # (rounds,)


class Objective(Protocol):
    signs: ClassVar[tuple[float, ...]]
    """Whether the bound rises or falls with a sum: one sign for all, or one for each."""

    @property
    def about(self) -> About: ...

    @property
    def any_looks(self) -> bool:
        """Whether the bound holds at any number of rounds, or at one fixed beforehand."""
        ...

    @property
    def every_action(self) -> bool:
        """Whether it asks for the probability of every action, and for production's."""
        ...

    def coefficients(self, examples: Examples) -> Coefficients: ...

    def bound(self, sums: Any, divergence: Any, *, rounds: int, delta: float) -> Any:
        """The bound, not floored; a number, or a tensor with its gradient.

        ``sums`` end in an axis of the sums; tensors may have one of several problems before it, as ``divergence`` has.
        """
        ...

    @property
    def sums(self) -> int:
        """How many sums a round adds to."""
        ...


def namespace(values: Any) -> ModuleType:
    """The module whose functions take these: torch for a tensor, else NumPy."""
    if isinstance(values, np.ndarray | float | np.floating):
        return np
    import torch

    return torch


def like(values: Any, numbers: float | Sequence[float]) -> Any:
    """Constants of the same kind, type and place as ``values``."""
    if isinstance(values, np.ndarray | float | np.floating):
        return np.asarray(numbers, dtype=np.float64)
    return _constant(numbers if isinstance(numbers, float) else tuple(numbers), values.dtype, values.device)


@cache
def _constant(numbers: float | tuple[float, ...], dtype: Any, device: Any) -> Any:
    """Kept where it is used: bringing it there anew would hold up every step."""
    import torch

    return torch.tensor(numbers, dtype=dtype, device=device)


def sums_of(coefficients: Coefficients, probabilities: Any, *, problems: int | None = None) -> Any:
    """Add up over rounds: ``probabilities`` of the logged action, (rounds,), or of every action, (rounds, actions).

    Where the rounds are of several problems, as many of each and one problem after the other: (problems, sums).
    """
    table = coefficients.own if coefficients.every is None else coefficients.every
    total = _added(probabilities, table, problems)
    if coefficients.others is not None:
        total = total + _added(1.0 - probabilities, coefficients.others, problems)
    if coefficients.fixed is not None:
        total = total + coefficients.fixed.reshape(problems or 1, -1).sum(1)[:, None]
    return total[0] if problems is None else total


def _added(shares: Any, table: Any, problems: int | None) -> Any:
    """(problems, sums), from a share for every line of the table."""
    apart = problems or 1
    return (shares.reshape(apart, 1, -1) @ table.reshape(apart, -1, table.shape[-1]))[:, 0]


def sizes_of(coefficients: Coefficients) -> Any:
    """By how much the sums can be off, for every unit by which the probabilities are."""
    parts = (coefficients.own, coefficients.others, coefficients.every)
    return sum(abs(part).reshape(-1, part.shape[-1]).sum(axis=0) for part in parts if part is not None)
