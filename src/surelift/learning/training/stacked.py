"""Problems of the same shape trained as one: their parameters in the same tensors, their rounds side by side."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from surelift.errors import UsageError
from surelift.learning.data.dataset import Examples
from surelift.learning.objectives.objective import sums_of
from surelift.learning.objectives.plain import EARLY_STOPPING, PlainEstimate, early_stopping_terms
from surelift.learning.policies.modules import LinearGaussian, SoftmaxOfScores
from surelift.learning.training.blocks import Block, Blocks
from surelift.learning.training.problem import LearningProblem
from surelift.learning.training.processes import ProcessGroup

Replay = Callable[[Sequence[Tensor]], None]
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
        self._validation = None if first.validation is None else Blocks([first.validation], self._device)

    @property
    def recordable(self) -> bool:
        """Whether every step runs the same operations on the same memory, as a CUDA graph requires."""
        return self.blocks.whole is not None and isinstance(self.policy, LinearGaussian)

    def batch_score(self, batch: Examples, size: int) -> Any:
        """The bound or estimate of each problem, as if all rounds were like this batch of ``size`` over all processes."""
        return self._score(self._sums(batch) * (self._rounds / size))

    @torch.no_grad()
    def epoch_scores(self) -> list[float]:
        """The bound over all rounds, in training precision; for an estimate, a bound over the validation rounds."""
        validation, rows = self.problems[0].validation, _ROWS_AT_ONCE[torch.device(self._device).type]
        pieces = (self._validation or self.blocks).pieces(rows, self._processes.share)
        total: Any = sum(self._sums(piece) if validation is None else self._validation_sums(piece) for piece in pieces)
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
            sums = sums_of(objective.coefficients(batch), probabilities, problems=len(self.problems))
        return sums.double()

    def _validation_sums(self, batch: Examples) -> Tensor:
        if not len(batch):
            return torch.zeros(1, EARLY_STOPPING.sums, dtype=torch.float64, device=self._device)
        sums: Tensor = early_stopping_terms(batch, self._probabilities(batch)).double().sum(0)[None]
        return sums

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
        shapes.setdefault(problem.shape, []).append(number)
    return [
        StackedProblems([problems[number] for number in numbers], numbers, processes) for numbers in shapes.values()
    ]


class OptimizerSteps:
    """One optimizer step of all problems at once; on a GPU it is recorded as a CUDA graph and replayed."""

    def __init__(
        self, stacks: Sequence[StackedProblems], optimizer: torch.optim.Optimizer, processes: ProcessGroup
    ) -> None:
        self._stacks, self._optimizer, self._processes = stacks, optimizer, processes
        self._parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        on_gpu = self._parameters[0].device.type == "cuda"
        recordable = all(stack.recordable for stack in stacks) and processes.count == 1
        self._recorded: dict[int, Replay] | None = {} if on_gpu and recordable else None

    def take(self, blocks: Sequence[Block], indices: Sequence[Tensor]) -> None:
        """Take one step on these rounds of each stack's problems, (problems, rows)."""
        if self._recorded is None:
            self._step(blocks, indices)
            return
        rows = indices[0].shape[1]
        if rows not in self._recorded:
            self._recorded[rows] = self._record(blocks, indices)
        self._recorded[rows](indices)

    def _step(self, blocks: Sequence[Block], indices: Sequence[Tensor]) -> None:
        loss: Any = 0.0
        for stack, block, index in zip(self._stacks, blocks, indices, strict=True):
            rows = index.shape[1]
            # Problems share no parameters, so the gradient of the sum holds the gradient of each.
            loss = loss - stack.batch_score(block.at(index[:, self._processes.share(rows)]), rows).sum()
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._processes.sum_gradients(self._parameters)
        self._optimizer.step()

    def _record(self, blocks: Sequence[Block], indices: Sequence[Tensor]) -> Replay:
        """Record a step as a CUDA graph that reads the rounds to use from fixed tensors."""
        inputs = [index.clone() for index in indices]
        before = [parameter.detach().clone() for parameter in self._parameters]
        saved = {
            parameter: {name: buffer.clone() for name, buffer in state.items()}
            for parameter, state in self._optimizer.state.items()
        }
        warm_up = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        warm_up.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm_up):
            for _ in range(3):
                self._step(blocks, inputs)
        torch.cuda.current_stream().wait_stream(warm_up)
        # Undo the warm-up steps.
        with torch.no_grad():
            for parameter, value in zip(self._parameters, before, strict=True):
                parameter.copy_(value)
                for name, buffer in self._optimizer.state[parameter].items():
                    buffer.copy_(saved[parameter][name]) if parameter in saved else buffer.zero_()
        graph = torch.cuda.CUDAGraph()
        self._optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            self._step(blocks, inputs)

        def replay(indices: Sequence[Tensor]) -> None:
            for fixed, index in zip(inputs, indices, strict=True):
                fixed.copy_(index)
            graph.replay()

        return replay
