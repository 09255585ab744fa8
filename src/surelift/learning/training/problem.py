"""Learning problems: a policy, an objective, a data set, how to train; and those of the same shape, trained as one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surelift import grids
from surelift.errors import UsageError, first_line, is_number, positive, whole
from surelift.learning.data.dataset import Dataset, Examples
from surelift.learning.objectives.logarithmic_smoothing import ImprovementObjective, plain_parts
from surelift.learning.objectives.objective import Objective, PlainEstimate
from surelift.learning.policies.modules import STACKABLE, SoftmaxOfScores
from surelift.learning.tensors import like, logged
from surelift.learning.training.blocks import Blocks, ObjectiveGroup
from surelift.learning.training.checkpoint import Checkpoint
from surelift.learning.training.processes import ProcessGroup

_ROWS_AT_ONCE = {"cpu": 4096, "cuda": 262_144}
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
        seed, decay, device, problem = self.seed, self.weight_decay, self.device, ""
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**31:
            problem = f"seed must be a non-negative whole number, but is {seed!r}."
        elif not (is_number(decay) and 0.0 <= decay < np.inf):
            problem = f"weight_decay must be a non-negative number, but is {decay!r}."
        elif not isinstance(device, str) or not re.fullmatch("(cpu|cuda)(:[0-9]+)?", device):
            problem = f"device {device!r} is not available: use 'cpu', 'cuda' or 'cuda:1'"
        if problem:
            raise UsageError(problem)
        try:
            torch.zeros(1, device=device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"device {device!r} is not available: {first_line(error)}") from error


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
        several = [problem.policy for problem in problems]
        self.policy: Any = first.policy.stacked(several) if len(several) > 1 else first.policy
        self._processes, self._device = processes, first.options.device
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
        self._every_action, self._rounds = first.objective.every_action, first.dataset.rounds
        self.blocks = Blocks([problem.dataset for problem in problems], self._device, self._groups)
        choosing = [problem.validation for problem in problems if problem.validation is not None]
        self._validation = Blocks(choosing, self._device) if choosing else None
        # A CUDA graph requires that every step runs the same operations on the same memory.
        self.recordable = self.blocks.whole is not None and isinstance(self.policy, STACKABLE)

    def batch_score(self, batch: Examples, size: int) -> Any:
        """The bound or estimate of each problem, as if all rounds were like this batch of ``size`` over all processes."""
        return self._scores([sums * (self._rounds / size) for sums in self._sums(batch)])

    @torch.no_grad()
    def epoch_scores(self) -> list[float]:
        """The bound over all rounds, in training precision; for an estimate, a bound over the validation rounds."""
        rows = _ROWS_AT_ONCE[torch.device(self._device).type]
        sums_of_piece = self._sums if self._validation is None else self._validation_sums

        def total() -> list[Tensor]:
            pieces = [sums_of_piece(piece) for piece in (self._validation or self.blocks).pieces(rows)]
            return [torch.stack(parts).sum(0) for parts in zip(*pieces, strict=True)]

        sums = self._processes.together(total)
        scores = self._scores(sums) if self._validation is None else self._validation_scores(sums)
        return list(scores.tolist())

    def _sums(self, batch: Examples) -> list[Tensor]:
        """For each group, (problems, sums), of this process."""
        if not len(batch):
            # The batch is smaller than the number of processes, but each of them must have a gradient to add.
            zero: Any = sum(0.0 * parameter.sum() for parameter in self.policy.parameters())
            shapes = [(len(group), group.objective.sums) for group in self._groups]
            return [torch.zeros(shape, dtype=torch.float64, device=self._device) + zero for shape in shapes]
        probabilities, each, sums = self._probabilities(batch), len(batch) // len(self.problems), []
        for number, group in enumerate(self._groups):
            rows = group.rows(each)
            known = None if batch.coefficients is None else batch.coefficients[number]
            own = batch if known is not None or len(self._groups) == 1 else batch.at(rows)
            sums.append(group.sums(own, probabilities[rows], known))
        return sums

    def _validation_sums(self, batch: Examples) -> list[Tensor]:
        if not len(batch):
            return [torch.zeros(len(self.problems), EARLY_STOPPING.sums, dtype=torch.float64, device=self._device)]
        probabilities = self._probabilities(batch)
        own = probabilities if probabilities.ndim == 1 else logged(probabilities, batch.action)
        gain = (own / batch.propensity - 1.0) * batch.reward
        gains = torch.log1p(gain[:, None] * like(gain, EARLY_STOPPING.rates)).double()
        return [gains.view(len(self.problems), -1, EARLY_STOPPING.sums).sum(1)]

    def _probabilities(self, batch: Examples) -> Any:
        if self._every_action:
            return self.policy.every(batch.features)
        return self.policy.logged(batch.features, batch.action)

    def _scores(self, sums: Sequence[Tensor]) -> Tensor:
        divergence = self._processes.once(self.policy.divergence().double())
        pairs = zip(self._groups, map(self._processes.sum, sums), strict=True)
        return torch.cat([group.scores(total, divergence, self._rounds) for group, total in pairs])

    def _validation_scores(self, sums: Sequence[Tensor]) -> Tensor:
        """The certificate to expect, if the rounds that will judge are like those that choose.

        At delta over the number of passes, so that the best of many is not the luckiest.
        """
        (total,), first = map(self._processes.sum, sums), self.problems[0]
        assert first.validation is not None
        expected, none = total * (first.judging / first.validation.rounds), 0.0 * total[:, 0]
        parts = []
        for group in self._groups:
            at, level = group.problems, group.delta / first.options.epochs
            parts.append(EARLY_STOPPING.bound(expected[at], none[at], rounds=first.judging, delta=level))
        return torch.cat(parts)


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
