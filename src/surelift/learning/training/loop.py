"""The training loop: batch, bound, step. After every epoch the bound over all rounds is computed, and the best is kept."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surelift.errors import UsageError
from surelift.learning.training.blocks import Block
from surelift.learning.training.checkpoint import Checkpoint, restore, under
from surelift.learning.training.problem import LearningProblem, StackedProblems, TrainingOptions, stack
from surelift.learning.training.processes import ProcessGroup, process_group


@dataclass(slots=True)
class BestEpoch:
    """The best parameters of one problem so far; the bound holds for all parameters, so this choice costs nothing."""

    parameters: dict[str, Tensor]
    score: float
    epoch: int = 0
    stopped: bool = False
    failed: str | None = None

    def state(self) -> dict[str, Any]:
        """Everything but the parameters, as JSON keeps it."""
        return {item.name: getattr(self, item.name) for item in fields(self)[1:]}

    def update(self, policy: Any, problem: int, epoch: int, score: float, patience: int | None) -> None:
        if self.stopped:
            return
        if not np.isfinite(score):
            why = f"the bound is not finite after epoch {epoch}; lower learning_rate, or rescale very large contexts."
            self.stopped, self.failed = True, why
            return
        if score > self.score:
            self.parameters, self.score, self.epoch = policy.parameters_of(problem), score, epoch
        self.stopped = patience is not None and epoch - self.epoch >= patience


def train_each(
    problems: Sequence[LearningProblem], checkpoint: Checkpoint | None = None
) -> list[dict[str, Tensor] | UsageError]:
    """Train problems of the same schedule together, step by step: the parameters of each at its best epoch.

    One may fail while the others go on: they share no parameters, so it does not touch them.
    """
    options, before = problems[0].options, torch.get_num_threads()
    if options.device == "cpu" and len(problems) * options.batch_size <= 1024:
        # Steps on few rows are too short to split: threads would mostly wait for each other.
        torch.set_num_threads(1)
    try:
        best = _train(problems, checkpoint, process_group())
    finally:
        torch.set_num_threads(before)
    return [each.parameters if each.failed is None else UsageError(each.failed) for each in best]


def _train(problems: Sequence[LearningProblem], checkpoint: Checkpoint | None, processes: ProcessGroup) -> list[BestEpoch]:
    options, resumed = problems[0].options, None if checkpoint is None else processes.together(checkpoint.read)
    processes.require_equal("rounds and options", str([problem.identity for problem in problems]))
    best, done = [BestEpoch({}, -np.inf) for _ in problems], 0
    if resumed is not None:
        tensors, state = resumed
        best = [BestEpoch(under(tensors, f"best.{k}."), **each) for k, each in enumerate(state["best"])]
        done = state["epoch"]
        if done >= options.epochs or all(each.stopped for each in best):
            return best
    stacks = processes.together(lambda: stack(problems, processes))
    policies, on_gpu = [stacked.policy for stacked in stacks], torch.device(options.device).type == "cuda"
    optimizer = torch.optim.Adam(
        [parameter for policy in policies for parameter in policy.parameters()],
        lr=options.learning_rate, weight_decay=options.weight_decay, capturable=on_gpu, fused=on_gpu,
    )  # fmt: skip
    if resumed is None:
        # The initial policy counts too, and may be the best.
        torch.manual_seed(1_000_003 * options.seed)
        _evaluate(stacks, best, 0, None)
    else:
        restore(resumed[0], policies, optimizer)
    steps = OptimizerSteps(stacks, optimizer, processes)
    for epoch in range(done + 1, options.epochs + 1):
        if all(each.stopped for each in best):
            break
        for policy in policies:
            policy.train()
        torch.manual_seed(1_000_003 * options.seed + epoch)
        for blocks, indices, rows in _batches(stacks, options, epoch, processes):
            steps.take(blocks, indices, rows)
        scores = _evaluate(stacks, best, epoch, options.patience)
        if checkpoint is not None:
            state = {"epoch": epoch, "best": [each.state() for each in best]}
            write = partial(checkpoint.save, policies, optimizer, [each.parameters for each in best], state)
            processes.together(write if processes.first else lambda: None)
        for number, problem in enumerate(problems):
            if processes.first and problem.report is not None and best[number].failed is None:
                problem.report(epoch, scores[number])
    return best


def _evaluate(
    stacks: Sequence[StackedProblems], best: Sequence[BestEpoch], epoch: int, patience: int | None
) -> dict[int, float]:
    scores: dict[int, float] = {}
    for stacked in stacks:
        stacked.policy.eval()
        for row, (number, score) in enumerate(zip(stacked.numbers, stacked.epoch_scores(), strict=True)):
            scores[number] = score
            best[number].update(stacked.policy, row, epoch, score, patience)
    return scores


def _batches(
    stacks: Sequence[StackedProblems], options: TrainingOptions, epoch: int, processes: ProcessGroup
) -> Iterator[tuple[Sequence[Block], Sequence[Tensor], int]]:
    """Blocks, the rounds in them that make a batch, and how many it has over all processes.

    Shuffled within each range of rounds, so that it makes no difference whether they are kept in memory.
    """
    following, number, size = zip(*(stacked.blocks for stacked in stacks), strict=True), 0, options.batch_size
    while (ranges := processes.together(lambda: next(following, None))) is not None:
        blocks, drawn, held = [block for block, _, _ in ranges], ranges[0][1], ranges[0][2]
        orders = [_shuffled(stacked, epoch, number, drawn) for stacked in stacks]
        if processes.count == 1:
            orders = [(order - held.start).to(options.device) for order in orders]
        for start in range(0, len(drawn), size):
            batch = [order[:, start : start + size] for order in orders]
            rows = batch[0].shape[1]
            if processes.count > 1:
                # Those in this process's share, the same of each problem, by their place in its block.
                inside = [(index[0] >= held.start) & (index[0] < held.stop) for index in batch]
                shares = zip(batch, inside, strict=True)
                batch = [(index[:, mine] - held.start).to(options.device) for index, mine in shares]
            yield blocks, batch, rows
        number += 1


def _shuffled(stacked: StackedProblems, epoch: int, number: int, rounds: range) -> Tensor:
    """The order of the rounds of each problem, (problems, rounds), by its own seed."""
    seeds = [problem.options.seed for problem in stacked.problems]
    orders = {seed: np.random.default_rng((seed, epoch, number)).permutation(len(rounds)) for seed in set(seeds)}
    return torch.from_numpy(np.stack([orders[seed] for seed in seeds])) + rounds.start


class OptimizerSteps:
    def __init__(self, stacks: Sequence[StackedProblems], optimizer: torch.optim.Optimizer, processes: ProcessGroup) -> None:
        self._stacks, self._optimizer, self._processes = stacks, optimizer, processes
        self._parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        on_gpu = self._parameters[0].device.type == "cuda"
        self._records = on_gpu and all(stacked.recordable for stacked in stacks) and processes.count == 1
        self._recorded: dict[int, Callable[[Sequence[Tensor]], None]] = {}

    def take(self, blocks: Sequence[Block], indices: Sequence[Tensor], rows: int) -> None:
        """Take one step on these rounds of each stack's problems, of ``rows`` over all processes."""
        if not self._records:
            self._step(blocks, indices, rows)
            return
        if rows not in self._recorded:
            self._recorded[rows] = self._record(blocks, indices)
        self._recorded[rows](indices)

    def _step(self, blocks: Sequence[Block], indices: Sequence[Tensor], rows: int) -> None:
        loss: Any = 0.0
        for stacked, block, index in zip(self._stacks, blocks, indices, strict=True):
            # Problems share no parameters, so the gradient of the sum holds the gradient of each.
            loss = loss - stacked.batch_score(block.at(index), rows).sum()
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._processes.sum_gradients(self._parameters)
        self._optimizer.step()

    def _record(self, blocks: Sequence[Block], indices: Sequence[Tensor]) -> Callable[[Sequence[Tensor]], None]:
        """Record a step as a CUDA graph that reads the rounds to use from fixed tensors."""
        rows, inputs = indices[0].shape[1], [index.clone() for index in indices]
        before = [parameter.detach().clone() for parameter in self._parameters]
        saved = {
            parameter: {name: buffer.clone() for name, buffer in state.items()}
            for parameter, state in self._optimizer.state.items()
        }
        warm_up = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        warm_up.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm_up):
            for _ in range(3):
                self._step(blocks, inputs, rows)
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
            self._step(blocks, inputs, rows)

        def replay(indices: Sequence[Tensor]) -> None:
            for fixed, index in zip(inputs, indices, strict=True):
                fixed.copy_(index)
            graph.replay()

        return replay
