"""The training loop: batch, bound, step. After every epoch the bound over all rounds is computed, and the best is kept.

Problems with the same schedule are trained together, step by step.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surelift.errors import UsageError
from surelift.learning.training.blocks import Block
from surelift.learning.training.problem import LearningProblem, TrainingOptions
from surelift.learning.training.processes import ProcessGroup, process_group
from surelift.learning.training.stacked import OptimizerSteps, StackedProblems, stack


@dataclass(slots=True)
class BestEpoch:
    """The best parameters of one problem so far; the bound holds for all parameters, so this choice costs nothing."""

    parameters: dict[str, Tensor]
    score: float
    epoch: int = 0
    stopped: bool = False

    def update(self, policy: Any, problem: int, epoch: int, score: float, patience: int | None) -> None:
        if self.stopped:
            return
        if not np.isfinite(score):
            raise UsageError(
                f"the bound is not finite after epoch {epoch}; lower learning_rate, or rescale very large contexts."
            )
        if score > self.score:
            self.parameters, self.score, self.epoch = policy.parameters_of(problem), score, epoch
        self.stopped = patience is not None and epoch - self.epoch >= patience


@dataclass(slots=True)
class TrainingRun:
    """Problems of one schedule during training."""

    problems: Sequence[LearningProblem]
    processes: ProcessGroup
    stacks: list[StackedProblems] = field(init=False)
    best: list[BestEpoch] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.stacks = stack(self.problems, self.processes)

    def evaluate(self, epoch: int, patience: int | None) -> list[float]:
        """The scores of all problems after an epoch, in order."""
        scores = [0.0] * len(self.problems)
        for stacked in self.stacks:
            stacked.policy.eval()
            for row, (number, score) in enumerate(zip(stacked.numbers, stacked.epoch_scores(), strict=True)):
                scores[number] = score
                self.best[number].update(stacked.policy, row, epoch, score, patience)
        return scores


def train(problems: Sequence[LearningProblem]) -> list[dict[str, Tensor]]:
    """The parameters of each problem at its best epoch; all problems must have the same schedule."""
    options = problems[0].options
    with _one_thread(options, rows=len(problems) * options.batch_size):
        return _train(problems, options, process_group(options.device))


@contextmanager
def _one_thread(options: TrainingOptions, *, rows: int) -> Iterator[None]:
    """Steps on few rows are too short to split: threads would mostly wait for each other."""
    before = torch.get_num_threads()
    if options.device == "cpu" and rows <= 1024:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _train(
    problems: Sequence[LearningProblem], options: TrainingOptions, processes: ProcessGroup
) -> list[dict[str, Tensor]]:
    run = TrainingRun(problems, processes)
    on_gpu = torch.device(options.device).type == "cuda"
    parameters = [parameter for stacked in run.stacks for parameter in stacked.policy.parameters()]
    optimizer = torch.optim.Adam(
        parameters, lr=options.learning_rate, weight_decay=options.weight_decay, capturable=on_gpu, fused=on_gpu
    )
    checkpoint, policy = problems[0].checkpoint, run.stacks[0].policy
    resumed = None if checkpoint is None else checkpoint.load(policy, optimizer)
    processes.require_equal("rounds and options", str([problem.identity for problem in problems]))
    if resumed is None:
        # The initial policy counts too, and may be the best.
        run.best = [BestEpoch({}, -np.inf) for _ in problems]
        torch.manual_seed(1_000_003 * options.seed)
        run.evaluate(0, None)
        first = 1
    else:
        first = resumed.next_epoch
        stopped = options.patience is not None and first - 1 - resumed.best_epoch >= options.patience
        run.best = [BestEpoch(resumed.best, resumed.best_score, resumed.best_epoch, stopped)]
    steps = OptimizerSteps(run.stacks, optimizer, processes)
    for epoch in range(first, options.epochs + 1):
        if all(best.stopped for best in run.best):
            break
        for stacked in run.stacks:
            stacked.policy.train()
        torch.manual_seed(1_000_003 * options.seed + epoch)
        for blocks, indices in _batches(run.stacks, options, epoch):
            steps.take(blocks, indices)
        scores = run.evaluate(epoch, options.patience)
        if processes.first and checkpoint is not None:
            best = run.best[0]
            checkpoint.save(
                policy, optimizer, epoch=epoch, best=best.parameters, best_epoch=best.epoch, best_score=best.score
            )
        for problem, score in zip(problems, scores, strict=True):
            if processes.first and problem.report is not None:
                problem.report(epoch, score)
    return [best.parameters for best in run.best]


def _batches(
    stacks: Sequence[StackedProblems], options: TrainingOptions, epoch: int
) -> Iterator[tuple[Sequence[Block], Sequence[Tensor]]]:
    """Shuffled within each range of rounds, so that it makes no difference whether they are kept in memory."""
    for number, ranges in enumerate(zip(*(stacked.blocks for stacked in stacks), strict=True)):
        blocks, rounds = [block_range.block for block_range in ranges], ranges[0].rounds
        orders = [
            torch.from_numpy(_shuffled(stacked, epoch, number, rounds)).to(options.device) + block_range.first
            for stacked, block_range in zip(stacks, ranges, strict=True)
        ]
        for start in range(0, rounds, options.batch_size):
            yield blocks, [order[:, start : start + options.batch_size] for order in orders]


def _shuffled(stacked: StackedProblems, epoch: int, number: int, rounds: int) -> Any:
    """The order of the rounds of each problem, (problems, rounds), by its own seed."""
    seeds = [problem.options.seed for problem in stacked.problems]
    orders = {seed: np.random.default_rng((seed, epoch, number)).permutation(rounds) for seed in set(seeds)}
    return np.stack([orders[seed] for seed in seeds])
