"""Learning problems: a policy, an objective, a data set, how to train; and those of the same shape, trained as one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surelift import grids
from surelift.errors import UsageError, is_number, positive, whole
from surelift.learning.data.dataset import Dataset, Examples
from surelift.learning.objectives.logarithmic_smoothing import ImprovementObjective, plain_parts
from surelift.learning.objectives.objective import Objective, PlainEstimate, sums_of
from surelift.learning.policies.modules import STACKABLE, SoftmaxOfScores
from surelift.learning.tensors import like, logged
from surelift.learning.training.blocks import Blocks
from surelift.learning.training.checkpoint import Checkpoint
from surelift.learning.training.processes import ProcessGroup

_ROWS_AT_ONCE = {"cpu": 4096, "cuda": 65_536}
EARLY_STOPPING = ImprovementObjective(plain_parts(grids.anytime(), offset=1.0))
"""Bounds the improvement on validation rounds: it detects the pass at which the weights grow too large to certify."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 1e-2
    weight_decay: float = 0.0
    patience: int | None = 3  # stop after this many epochs without a better bound
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
    identity: str  # everything the result depends on: the learner's parameters and a fingerprint of the rounds
    checkpoint: Checkpoint | None = None
    report: Callable[[int, float], None] | None = None  # called after every epoch with its number and score
    validation: Dataset | None = None  # rounds for early stopping, where the training rounds cannot serve

    @property
    def schedule(self) -> Any:
        """Problems with equal schedules take their steps together; a policy that samples while training stays alone."""
        alone = None if isinstance(self.policy, STACKABLE) else id(self)
        return self.dataset.rounds, replace(self.options, seed=0), alone

    @property
    def shape(self) -> Any:
        """Problems with equal shapes and schedules are stacked into the same tensors."""
        if not isinstance(self.policy, STACKABLE):
            return id(self)
        choosing = None if self.validation is None else self.validation.rounds
        return type(self.policy), self.policy.layout, self.objective, self.delta, choosing


class StackedProblems:
    """Problems of the same shape: their parameters in the same tensors, their rounds side by side."""

    def __init__(self, problems: Sequence[LearningProblem], numbers: Sequence[int], processes: ProcessGroup) -> None:
        first = problems[0]
        self.problems, self.numbers = problems, numbers
        several = [problem.policy for problem in problems]
        self.policy: Any = first.policy.stacked(several) if len(several) > 1 else first.policy
        self._processes, self._device = processes, first.options.device
        self.policy.to(self._device)
        if processes.count > 1 and isinstance(self.policy, SoftmaxOfScores) and list(self.policy.buffers()):
            raise UsageError(
                "the module has buffers, such as the running means of a batch normalisation, which would differ between "
                "processes; train it in one process, or remove them."
            )
        self._objective, self._delta, self._rounds = first.objective, first.delta, first.dataset.rounds
        # An estimate is not linear in the policy, so it has no coefficients.
        linear = None if isinstance(first.objective, PlainEstimate) else first.objective
        self.blocks = Blocks([problem.dataset for problem in problems], self._device, linear)
        choosing = [problem.validation for problem in problems if problem.validation is not None]
        self._validation = Blocks(choosing, self._device) if choosing else None
        # A CUDA graph requires that every step runs the same operations on the same memory.
        self.recordable = self.blocks.whole is not None and isinstance(self.policy, STACKABLE)

    def batch_score(self, batch: Examples, size: int) -> Any:
        """The bound or estimate of each problem, as if all rounds were like this batch of ``size`` over all processes."""
        return self._score(self._sums(batch) * (self._rounds / size))

    @torch.no_grad()
    def epoch_scores(self) -> list[float]:
        """The bound over all rounds, in training precision; for an estimate, a bound over the validation rounds."""
        validation, rows = self.problems[0].validation, _ROWS_AT_ONCE[torch.device(self._device).type]
        sums_of_piece = self._sums if validation is None else self._validation_sums

        def sums() -> Any:
            return sum(sums_of_piece(piece) for piece in (self._validation or self.blocks).pieces(rows))

        total = self._processes.together(sums)
        if validation is None:
            score: Any = self._score(total)
        else:
            total = self._processes.sum(total)
            score = EARLY_STOPPING.bound(total, 0.0 * total[:, 0], rounds=validation.rounds, delta=self._delta)
        return list(score.tolist())

    def _sums(self, batch: Examples) -> Tensor:
        """(problems, sums), of this process."""
        objective = self._objective
        if not len(batch):
            # The batch is smaller than the number of processes, but each of them must have a gradient to add.
            nothing = torch.zeros(len(self.problems), objective.sums, dtype=torch.float64, device=self._device)
            for parameter in self.policy.parameters():
                nothing = nothing + 0.0 * parameter.sum()
            return nothing
        probabilities = self._probabilities(batch)
        if isinstance(objective, PlainEstimate):
            terms = objective.terms(batch, probabilities)
            sums: Tensor = terms.reshape(len(self.problems), -1, terms.shape[-1]).sum(1)
        else:
            known = batch.coefficients
            coefficients = objective.coefficients(batch) if known is None else known
            sums = sums_of(coefficients, probabilities, problems=len(self.problems))
        return sums.double()

    def _validation_sums(self, batch: Examples) -> Any:
        """(problems, sums), for ``EARLY_STOPPING``."""
        if not len(batch):
            return torch.zeros(len(self.problems), EARLY_STOPPING.sums, dtype=torch.float64, device=self._device)
        probabilities = self._probabilities(batch)
        own = probabilities if probabilities.ndim == 1 else logged(probabilities, batch.action)
        gain = (own / batch.propensity - 1.0) * batch.reward
        gains = torch.log1p(gain[:, None] * like(gain, EARLY_STOPPING.rates)).double()
        return gains.view(len(self.problems), -1, EARLY_STOPPING.sums).sum(1)

    def _probabilities(self, batch: Examples) -> Any:
        """Of every action, or of the logged action where that is enough."""
        if self._objective.every_action:
            return self.policy.every(batch.features)
        return self.policy.logged(batch.features, batch.action)

    def _score(self, sums: Tensor) -> Any:
        sums = self._processes.sum(sums)
        if isinstance(self._objective, PlainEstimate):
            return self._objective.estimate(sums, rounds=self._rounds)
        divergence = self._processes.once(self.policy.divergence().double())
        return self._objective.bound(sums, divergence, rounds=self._rounds, delta=self._delta)


def stack(problems: Sequence[LearningProblem], processes: ProcessGroup) -> list[StackedProblems]:
    """Problems grouped by shape; ``numbers`` holds their positions in ``problems``."""
    shapes: dict[Any, list[int]] = {}
    for number, problem in enumerate(problems):
        # Of a batch of one process a share lies in another: with the same seed, as many rounds of every problem.
        seed = problem.options.seed if processes.count > 1 else None
        shapes.setdefault((problem.shape, seed), []).append(number)
    return [
        StackedProblems([problems[number] for number in numbers], numbers, processes) for numbers in shapes.values()
    ]
