"""The training loop: batch, bound, step; after every pass over the rounds the bound of the whole, and the best is kept.

Problems that go through as many rounds in the same way are trained together, step by step.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surelift.errors import UsageError
from surelift.learning.blocks import Block
from surelift.learning.processes import Together, together
from surelift.learning.steps import Steps
from surelift.learning.team import Team, teams_of
from surelift.learning.training import Problem, Training


@dataclass(slots=True)
class Stand:
    """The best so far of one problem: a bound holds for all parameters at once, so choosing among passes costs nothing."""

    best: dict[str, Tensor]
    score: float
    epoch: int = 0
    """The pass it is of."""
    over: bool = False

    def look(self, team: Team, problem: int, epoch: int, score: float, patience: int | None) -> None:
        if self.over:
            return
        if not np.isfinite(score):
            raise UsageError(
                f"after pass {epoch} the bound is no number any more; lower learning_rate, or scale contexts that are very "
                "large."
            )
        if score > self.score:
            self.best, self.score, self.epoch = team.policy.part(problem), score, epoch
        self.over = patience is not None and epoch - self.epoch >= patience


@dataclass(slots=True)
class Run:
    """Problems of one schedule on their way."""

    problems: Sequence[Problem]
    us: Together
    teams: list[Team] = field(init=False)
    stands: list[Stand] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.teams = teams_of(self.problems, self.us)

    def look(self, epoch: int, patience: int | None) -> list[float]:
        """The scores of all problems after a pass, in their order."""
        found = [0.0] * len(self.problems)
        for team in self.teams:
            team.policy.eval()
            for number, (place, score) in enumerate(zip(team.places, team.whole(), strict=True)):
                found[place] = score
                self.stands[place].look(team, number, epoch, score, patience)
        return found


def train(problems: Sequence[Problem]) -> list[dict[str, Tensor]]:
    """What each problem has learned, of the pass with its best bound; all must be of one schedule."""
    training = problems[0].training
    with _one_thread(training, rows=len(problems) * training.batch_size):
        return _train(problems, training, together(training.device))


@contextmanager
def _one_thread(training: Training, *, rows: int) -> Iterator[None]:
    """Steps over few rows are too short to be shared: threads would wait for each other most of the time."""
    before = torch.get_num_threads()
    if training.device == "cpu" and rows <= 1024:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _train(problems: Sequence[Problem], training: Training, us: Together) -> list[dict[str, Tensor]]:
    run = Run(problems, us)
    on_gpu = torch.device(training.device).type == "cuda"
    parameters = [one for team in run.teams for one in team.policy.parameters()]
    optimizer = torch.optim.Adam(
        parameters, lr=training.learning_rate, weight_decay=training.weight_decay, capturable=on_gpu, fused=on_gpu
    )
    checkpoint = problems[0].checkpoint
    begun = None if checkpoint is None else checkpoint.load(run.teams[0].policy, optimizer)
    us.agree("rounds and options", str([problem.mark for problem in problems]))
    if begun is None:
        # Where it starts is a policy too, and may be the best.
        run.stands = [Stand({}, -np.inf) for _ in problems]
        torch.manual_seed(1_000_003 * training.seed)
        run.look(0, None)
        first = 1
    else:
        best, best_epoch, best_score, first = begun
        over = training.patience is not None and first - 1 - best_epoch >= training.patience
        run.stands = [Stand(best, best_score, best_epoch, over)]
    steps = Steps(run.teams, optimizer, us)
    for epoch in range(first, training.epochs + 1):
        if all(stand.over for stand in run.stands):
            break
        for team in run.teams:
            team.policy.train()
        torch.manual_seed(1_000_003 * training.seed + epoch)
        for blocks, indices in _batches(run.teams, training, epoch):
            steps.take(blocks, indices)
        scores = run.look(epoch, training.patience)
        if us.first and checkpoint is not None:
            stand = run.stands[0]
            checkpoint.save(
                run.teams[0].policy, optimizer, epoch=epoch, best=stand.best, best_epoch=stand.epoch,
                best_score=stand.score,
            )  # fmt: skip
        for problem, score in zip(problems, scores, strict=True):
            if us.first and problem.report is not None:
                problem.report(epoch, score)
    return [stand.best for stand in run.stands]


def _batches(
    teams: Sequence[Team], training: Training, epoch: int
) -> Iterator[tuple[Sequence[Block], Sequence[Tensor]]]:
    """Shuffled within each stretch of rounds: the same whether they are kept in memory or read anew."""
    for number, stretches in enumerate(zip(*(team.blocks for team in teams), strict=True)):
        blocks, rounds = [one.block for one in stretches], stretches[0].rounds
        orders = [
            torch.from_numpy(_shuffled(team, epoch, number, rounds)).to(training.device) + one.first
            for team, one in zip(teams, stretches, strict=True)
        ]
        for start in range(0, rounds, training.batch_size):
            yield blocks, [order[:, start : start + training.batch_size] for order in orders]


def _shuffled(team: Team, epoch: int, number: int, rounds: int) -> Any:
    """The order of the rounds of each problem, (problems, rounds): its own, as if it were alone."""
    seeds = [problem.training.seed for problem in team.problems]
    orders = {seed: np.random.default_rng((seed, epoch, number)).permutation(rounds) for seed in set(seeds)}
    return np.stack([orders[seed] for seed in seeds])
