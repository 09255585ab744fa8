"""How to learn: passes, steps and where; and a problem to learn, with all that belongs to it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from surelift.errors import UsageError, is_number, positive, whole
from surelift.learning.checkpoint import Checkpoint
from surelift.learning.objective import Objective
from surelift.learning.plain import PlainEstimate
from surelift.learning.policies import LinearGaussian
from surelift.learning.rows import Rows

Report = Callable[[int, float], None]
"""Called after every pass with its number and the bound (or the estimate) of the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 1e-2
    weight_decay: float = 0.0
    patience: int | None = 3
    """Stop after so many passes without a better bound."""
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", *(() if self.patience is None else ("patience",))):
            whole(name, getattr(self, name))
        positive("learning_rate", self.learning_rate)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or not 0 <= self.seed < 2**31:
            raise UsageError(f"seed must be a whole number from 0 on, but is {self.seed!r}.")
        if not (is_number(self.weight_decay) and 0.0 <= self.weight_decay < np.inf):
            raise UsageError(f"weight_decay must be a number from 0 on, but is {self.weight_decay!r}.")
        try:
            if not isinstance(self.device, str) or torch.device(self.device).type not in ("cpu", "cuda"):
                raise RuntimeError("it is 'cpu', 'cuda' or 'cuda:1'")
            torch.zeros(1, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"device {self.device!r} cannot be used here: {str(error).splitlines()[0]}") from error


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    policy: Any
    objective: Objective | PlainEstimate
    rows: Rows
    training: Training
    delta: float
    mark: str
    """What the training depends on: its options, and the rounds."""
    checkpoint: Checkpoint | None = None
    report: Report | None = None
    choosing: Rows | None = None
    """Rounds to choose the best pass by, where those it learns from cannot tell."""

    @property
    def schedule(self) -> Any:
        """Problems with the same can be trained step by step together; one that draws at random as it learns is alone."""
        alone = None if isinstance(self.policy, LinearGaussian) else id(self)
        return self.rows.rounds, replace(self.training, seed=0), alone

    @property
    def shape(self) -> Any:
        """Problems with the same, and the same schedule, can be put into the same tensors."""
        if not isinstance(self.policy, LinearGaussian):
            return id(self)
        return self.policy.layout, self.objective, self.delta
