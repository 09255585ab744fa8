"""One optimizer step of all problems at once; on a GPU it is recorded as a CUDA graph and replayed."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from surelift.learning.training.blocks import Block
from surelift.learning.training.processes import ProcessGroup
from surelift.learning.training.stacked import StackedProblems

Replay = Callable[[Sequence[Tensor]], None]


class OptimizerSteps:
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
