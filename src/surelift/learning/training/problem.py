"""A learning problem: a policy, an objective, a data set, and how to train."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from surelift.errors import UsageError, is_number, positive, whole
from surelift.learning.data.dataset import Dataset
from surelift.learning.objectives.objective import Objective
from surelift.learning.objectives.plain import PlainEstimate
from surelift.learning.policies.modules import LinearGaussian
from surelift.learning.training.checkpoint import Checkpoint

Report = Callable[[int, float], None]
"""Called after every epoch with its number and the bound (or the estimate) over all rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 1e-2
    weight_decay: float = 0.0
    patience: int | None = 3
    """Stop after this many epochs without a better bound."""
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", *(() if self.patience is None else ("patience",))):
            whole(name, getattr(self, name))
        positive("learning_rate", self.learning_rate)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or not 0 <= self.seed < 2**31:
            raise UsageError(f"seed must be a non-negative whole number, but is {self.seed!r}.")
        if not (is_number(self.weight_decay) and 0.0 <= self.weight_decay < np.inf):
            raise UsageError(f"weight_decay must be a non-negative number, but is {self.weight_decay!r}.")
        try:
            if not isinstance(self.device, str) or torch.device(self.device).type not in ("cpu", "cuda"):
                raise RuntimeError("use 'cpu', 'cuda' or 'cuda:1'")
            torch.zeros(1, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"device {self.device!r} is not available: {str(error).splitlines()[0]}") from error


@dataclass(frozen=True, slots=True, eq=False)
class LearningProblem:
    policy: Any
    objective: Objective | PlainEstimate
    dataset: Dataset
    options: TrainingOptions
    delta: float
    identity: str
    """Everything the result depends on: the learner's parameters and a fingerprint of the rounds."""
    checkpoint: Checkpoint | None = None
    report: Report | None = None
    validation: Dataset | None = None
    """Rounds for early stopping, where the training rounds cannot serve."""

    @property
    def schedule(self) -> Any:
        """Problems with equal schedules take their steps together; a policy that samples while training stays alone."""
        alone = None if isinstance(self.policy, LinearGaussian) else id(self)
        return self.dataset.rounds, replace(self.options, seed=0), alone

    @property
    def shape(self) -> Any:
        """Problems with equal shapes and schedules are stacked into the same tensors."""
        if not isinstance(self.policy, LinearGaussian):
            return id(self)
        return self.policy.layout, self.objective, self.delta
