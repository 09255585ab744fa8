"""One step of all problems at once: on a GPU it is recorded once, and replayed without the processor's help."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from surelift.learning.blocks import Block
from surelift.learning.processes import Together
from surelift.learning.team import Team


class Steps:
    def __init__(self, teams: Sequence[Team], optimizer: torch.optim.Optimizer, all_of_us: Together) -> None:
        self._teams, self._optimizer, self._us = teams, optimizer, all_of_us
        self._parameters = [one for group in optimizer.param_groups for one in group["params"]]
        on_gpu = self._parameters[0].device.type == "cuda"
        recordable = all(team.recordable for team in teams) and all_of_us.count == 1
        self._recorded: dict[int, Callable[[Sequence[Tensor]], None]] | None = {} if on_gpu and recordable else None

    def take(self, blocks: Sequence[Block], indices: Sequence[Tensor]) -> None:
        """Take one step, with these rounds of each team's problems, (problems, rows)."""
        if self._recorded is None:
            self._step(blocks, indices)
            return
        rows = indices[0].shape[1]
        if rows not in self._recorded:
            self._recorded[rows] = self._record(blocks, indices)
        self._recorded[rows](indices)

    def _step(self, blocks: Sequence[Block], indices: Sequence[Tensor]) -> None:
        loss: Any = 0.0
        for team, block, index in zip(self._teams, blocks, indices, strict=True):
            rows = index.shape[1]
            # Problems share nothing, so the gradient of the sum is that of each.
            loss = loss - team.score(block.at(index[:, self._us.share(rows)]), rows).sum()
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._us.add_gradients(self._parameters)
        self._optimizer.step()

    def _record(self, blocks: Sequence[Block], indices: Sequence[Tensor]) -> Callable[[Sequence[Tensor]], None]:
        """Record a step as a CUDA graph that reads which rounds to take from ``indices``."""
        given = [index.clone() for index in indices]
        before = [one.detach().clone() for one in self._parameters]
        kept = {
            one: {name: part.clone() for name, part in state.items()} for one, state in self._optimizer.state.items()
        }
        apart = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        apart.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(apart):
            for _ in range(3):
                self._step(blocks, given)
        torch.cuda.current_stream().wait_stream(apart)
        # What the first steps, taken to warm up, have changed.
        with torch.no_grad():
            for one, value in zip(self._parameters, before, strict=True):
                one.copy_(value)
                for name, part in self._optimizer.state[one].items():
                    part.copy_(kept[one][name]) if one in kept else part.zero_()
        graph = torch.cuda.CUDAGraph()
        self._optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            self._step(blocks, given)

        def replay(indices: Sequence[Tensor]) -> None:
            for place, index in zip(given, indices, strict=True):
                place.copy_(index)
            graph.replay()

        return replay
