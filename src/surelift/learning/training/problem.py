"""Learning problems: a policy, an objective, a data set, how to train; and those of the same shape, trained as one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surelift.errors import UsageError, first_line, is_number, positive, whole
from surelift.learning.data.dataset import Dataset, Examples
from surelift.learning.objectives.logarithmic_smoothing import Estimate, ExpectedCertificate
from surelift.learning.objectives.objective import Objective
from surelift.learning.policies.modules import STACKABLE, LinearGaussian, SoftmaxOfScores
from surelift.learning.training.blocks import Blocks, ObjectiveGroup
from surelift.learning.training.checkpoint import Checkpoint
from surelift.learning.training.processes import ProcessGroup

_ROWS_AT_ONCE = {"cpu": 4096, "cuda": 262_144}


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
        whole("seed", self.seed, least=0, most=2**31 - 1)
        positive("learning_rate", self.learning_rate)
        decay, device, problem = self.weight_decay, self.device, ""
        if not (is_number(decay) and 0.0 <= decay < np.inf):
            problem = f"weight_decay must be a non-negative number, but is {decay!r}."
        elif not isinstance(device, str) or not re.fullmatch("(cpu|cuda)(:[0-9]+)?", device):
            problem = f"device {device!r} is not available: use 'cpu', 'cuda' or 'cuda:1'"
        else:
            try:
                torch.zeros(1, device=device)
            except (RuntimeError, AssertionError) as error:
                problem = f"device {device!r} is not available: {first_line(error)}"
        if problem:
            raise UsageError(problem)


@dataclass(frozen=True, slots=True, eq=False)
class LearningProblem:
    policy: Any
    objective: Objective | Estimate
    dataset: Dataset
    options: TrainingOptions
    delta: float
    identity: str  # everything the result depends on: the learner's parameters and a fingerprint of the rounds
    checkpoint: Checkpoint | None = None
    report: Callable[[int, float], None] | None = None  # called after every epoch with its number and score
    validation: Dataset | None = None  # rounds for early stopping, where the training rounds cannot serve
    judging: int = 0  # how many rounds will judge the policy, where it is judged on others

    @property
    def schedule(self) -> Any:
        """Problems with equal schedules take their steps together; a policy that samples while training stays alone."""
        alone = None if isinstance(self.policy, STACKABLE) else id(self)
        return self.dataset.rounds, replace(self.options, seed=0), alone

    @property
    def shape(self) -> Any:
        """Problems with equal shapes and schedules are stacked into the same tensors; their objectives may differ."""
        if not isinstance(self.policy, STACKABLE):
            return id(self)
        choosing = None if self.validation is None else self.validation.rounds
        predicts = self.dataset.model is not None
        return type(self.policy), self.policy.layout, self.objective.every_action, predicts, choosing, self.judging


class StackedProblems:
    """Problems of the same shape: their parameters in the same tensors, their rounds side by side."""

    def __init__(self, problems: Sequence[LearningProblem], numbers: Sequence[int], processes: ProcessGroup) -> None:
        first = problems[0]
        self.problems, self.numbers = problems, numbers
        self.policy: Any = first.policy.stacked([each.policy for each in problems]) if len(problems) > 1 else first.policy
        self._processes, self._device, self._rounds = processes, first.options.device, first.dataset.rounds
        self.policy.to(self._device)
        if processes.count > 1 and isinstance(self.policy, SoftmaxOfScores) and list(self.policy.buffers()):
            raise UsageError(
                "the module has buffers, such as the running means of a batch normalisation, which would differ between "
                "processes; train it in one process, or remove them."
            )
        # Those with the same objective and delta follow each other.
        alike = groupby(enumerate(problems), lambda numbered: (numbered[1].objective, numbered[1].delta))
        places = [(key, [number for number, _ in each]) for key, each in alike]
        self._groups = [ObjectiveGroup(*key, slice(each[0], each[-1] + 1)) for key, each in places]
        self.blocks = Blocks([problem.dataset for problem in problems], self._device, self._groups)
        self._scored = self._groups, self.blocks, self._rounds
        if first.validation is not None:
            choosing = [problem.validation for problem in problems if problem.validation is not None]
            # At delta over the number of passes, so that the best of many is not the luckiest.
            expected, passes = ExpectedCertificate(first.judging), first.options.epochs
            groups = [replace(group, objective=expected, delta=group.delta / passes) for group in self._groups]
            self._scored = groups, Blocks(choosing, self._device), first.validation.rounds
        # A CUDA graph requires that every step runs the same operations on the same memory.
        self.recordable = self.blocks.whole is not None and isinstance(self.policy, STACKABLE)

    def batch_score(self, batch: Examples, size: int) -> Any:
        """The bound or estimate of each problem, as if all rounds were like this batch of ``size`` over all processes."""
        sums = [sums * (self._rounds / size) for sums in self._sums(batch, self._groups)]
        return self._scores(sums, self._groups, self._rounds)

    @torch.no_grad()
    def epoch_scores(self) -> list[float]:
        """The bound over all rounds, in training precision; for an estimate, a bound over the validation rounds."""
        rows, (groups, blocks, rounds) = _ROWS_AT_ONCE[torch.device(self._device).type], self._scored

        def total() -> list[Tensor]:
            pieces = [self._sums(piece, groups) for piece in blocks.pieces(rows)]
            return [torch.stack(parts).sum(0) for parts in zip(*pieces, strict=True)]

        return list(self._scores(self._processes.together(total), groups, rounds).tolist())

    def _sums(self, batch: Examples, groups: Sequence[ObjectiveGroup]) -> list[Tensor]:
        """The sums of each group in this process, (problems, sums)."""
        if not len(batch):
            # The batch is smaller than the number of processes, but each of them must have a gradient to add.
            zero: Any = sum(0.0 * parameter.sum() for parameter in self.policy.parameters())
            shapes = [(len(group), group.objective.sums) for group in groups]
            return [torch.zeros(shape, dtype=torch.float64, device=self._device) + zero for shape in shapes]
        every = groups[0].objective.every_action
        probabilities = self.policy.every(batch.features) if every else self.policy.logged(batch.features, batch.action)
        each, sums = len(batch) // len(self.problems), []
        for number, group in enumerate(groups):
            rows = group.rows(each)
            known = None if batch.coefficients is None else batch.coefficients[number]
            own = batch if known is not None or len(groups) == 1 else batch.at(rows)
            sums.append(group.sums(own, probabilities[rows], known))
        return sums

    def _scores(self, sums: Sequence[Tensor], groups: Sequence[ObjectiveGroup], rounds: int) -> Tensor:
        divergence = torch.zeros(len(self.problems), dtype=torch.float64)
        if isinstance(self.policy, LinearGaussian):
            divergence = self.policy.divergence().double()
        if not self._processes.first:
            divergence = divergence.detach()  # all processes share it, and its gradient must be counted once
        pairs = zip(groups, map(self._processes.sum, sums), strict=True)
        return torch.cat(
            [
                group.objective.bound(total, divergence[group.problems], rounds=rounds, delta=group.delta)
                for group, total in pairs
            ]
        )


def stack(problems: Sequence[LearningProblem], processes: ProcessGroup) -> list[StackedProblems]:
    """Problems grouped by shape, those of one objective side by side; ``numbers`` holds their positions."""
    shapes: dict[Any, dict[Any, list[int]]] = {}
    for number, problem in enumerate(problems):
        # Of a batch of one process a share lies in another: with the same seed, as many rounds of every problem.
        seed = problem.options.seed if processes.count > 1 else None
        of_shape = shapes.setdefault((problem.shape, seed), {})
        of_shape.setdefault((problem.objective, problem.delta), []).append(number)
    ordered = [[number for numbers in of_shape.values() for number in numbers] for of_shape in shapes.values()]
    return [StackedProblems([problems[number] for number in numbers], numbers, processes) for numbers in ordered]
