"""Problems of the same shape trained as one: their parameters in the same tensors, their rounds side by side."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from surelift.errors import UsageError
from surelift.learning.data.examples import Examples
from surelift.learning.objectives.objective import sums_of
from surelift.learning.objectives.plain import EARLY_STOPPING, PlainEstimate, early_stopping_terms
from surelift.learning.policies.modules import LinearGaussian, SoftmaxOfScores
from surelift.learning.training.blocks import Blocks
from surelift.learning.training.problem import LearningProblem
from surelift.learning.training.processes import ProcessGroup

_ROWS_AT_ONCE = {"cpu": 4096, "cuda": 65_536}


class StackedProblems:
    def __init__(self, problems: Sequence[LearningProblem], numbers: Sequence[int], processes: ProcessGroup) -> None:
        first = problems[0]
        self.problems, self.numbers = problems, numbers
        self.policy: Any = first.policy
        if len(problems) > 1:
            self.policy = LinearGaussian.stacked([problem.policy for problem in problems])
        self._processes, self._device = processes, first.options.device
        self.policy.to(self._device)
        if processes.count > 1 and isinstance(self.policy, SoftmaxOfScores) and list(self.policy.buffers()):
            raise UsageError(
                "the module has buffers, such as the running means of a batch normalisation, which would differ between "
                "processes; train it in one process, or remove them."
            )
        self._objective, self._delta, self._rounds = first.objective, first.delta, first.dataset.rounds
        self.blocks = Blocks([problem.dataset for problem in problems], self._device)
        validation = first.validation
        self._validation = None if validation is None else Blocks([validation], self._device)
        self._validation_rounds = 0 if validation is None else validation.rounds

    @property
    def recordable(self) -> bool:
        """Whether every step runs the same operations on the same memory, as a CUDA graph requires."""
        return self.blocks.whole is not None and isinstance(self.policy, LinearGaussian)

    def batch_score(self, batch: Examples, size: int) -> Tensor:
        """The bound or estimate of each problem, as if all rounds were like this batch of ``size`` over all processes."""
        return self._score(self._sums(batch) * (self._rounds / size))

    @torch.no_grad()
    def epoch_scores(self) -> list[float]:
        """The bound over all rounds, in training precision; for an estimate, a bound over the validation rounds."""
        rows = _ROWS_AT_ONCE[torch.device(self._device).type]
        total: Any
        if self._validation is None:
            total = sum(self._sums(piece) for piece in self.blocks.pieces(rows, self._processes.share))
            score = self._score(total)
        else:
            pieces = self._validation.pieces(rows, self._processes.share)
            total = self._processes.sum(sum(self._validation_sums(piece) for piece in pieces))  # type: ignore[arg-type]
            score = EARLY_STOPPING.bound(total, 0.0 * total[:, 0], rounds=self._validation_rounds, delta=self._delta)
        scores: list[float] = score.tolist()
        return scores

    def _sums(self, batch: Examples) -> Tensor:
        """(problems, sums), of this process."""
        objective, policy = self._objective, self.policy
        if not len(batch):
            # The batch is smaller than the number of processes, but each of them must have a gradient to add.
            nothing = torch.zeros(len(self.problems), objective.sums, dtype=torch.float64, device=self._device)
            for parameter in policy.parameters():
                nothing = nothing + 0.0 * parameter.sum()
            return nothing
        probabilities = self._probabilities(batch)
        if isinstance(objective, PlainEstimate):
            terms = objective.terms(batch, probabilities)
            sums = terms.reshape(len(self.problems), -1, terms.shape[-1]).sum(1)
        else:
            sums = sums_of(objective.coefficients(batch), probabilities, problems=len(self.problems))
        double: Tensor = sums.double()
        return double

    def _validation_sums(self, batch: Examples) -> Tensor:
        if not len(batch):
            return torch.zeros(1, EARLY_STOPPING.sums, dtype=torch.float64, device=self._device)
        sums: Tensor = early_stopping_terms(batch, self._probabilities(batch)).double().sum(0)[None]
        return sums

    def _probabilities(self, batch: Examples) -> Tensor:
        """Of every action, or of the logged action where that is enough."""
        if self._objective.every_action:
            every: Tensor = self.policy.every(batch.features)
            return every
        logged: Tensor = self.policy.logged(batch.features, batch.action)
        return logged

    def _score(self, sums: Tensor) -> Tensor:
        sums = self._processes.sum(sums)
        if isinstance(self._objective, PlainEstimate):
            estimate: Tensor = self._objective.estimate(sums, rounds=self._rounds)
            return estimate
        divergence = self._processes.once(self.policy.divergence().double())
        bound: Tensor = self._objective.bound(sums, divergence, rounds=self._rounds, delta=self._delta)
        return bound


def stack(problems: Sequence[LearningProblem], processes: ProcessGroup) -> list[StackedProblems]:
    """Problems grouped by shape; ``numbers`` holds their positions in ``problems``."""
    shapes: dict[Any, list[int]] = {}
    for number, problem in enumerate(problems):
        shapes.setdefault(problem.shape, []).append(number)
    return [
        StackedProblems([problems[number] for number in numbers], numbers, processes) for numbers in shapes.values()
    ]
