"""The training loop: batch, bound, step; after every pass over the rounds the bound of the whole, and the best is kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from surelift.errors import UsageError, is_number, positive
from surelift.learning.checkpoint import Checkpoint
from surelift.learning.examples import Examples
from surelift.learning.objective import Objective, sums_of
from surelift.learning.plain import PlainEstimate
from surelift.learning.rows import Rows

Report = Callable[[int, float], None]
"""Called after every pass with its number and the bound (or the estimate) of the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 1e-2
    weight_decay: float = 0.0
    patience: int | None = 3
    """Stop after so many passes without a better bound."""
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", *(() if self.patience is None else ("patience",))):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise UsageError(f"{name} must be a whole number of at least 1, but is {value!r}.")
        positive("learning_rate", self.learning_rate)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or not 0 <= self.seed < 2**31:
            raise UsageError(f"seed must be a whole number from 0 on, but is {self.seed!r}.")
        if not (is_number(self.weight_decay) and 0.0 <= self.weight_decay < np.inf):
            raise UsageError(f"weight_decay must be a number from 0 on, but is {self.weight_decay!r}.")
        try:
            torch.zeros(1, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"device {self.device!r} cannot be used here: {str(error).splitlines()[0]}") from error


def train(
    policy: Any,
    objective: Objective | PlainEstimate,
    rows: Rows,
    training: Training,
    *,
    delta: float,
    checkpoint: Checkpoint | None = None,
    report: Report | None = None,
) -> dict[str, Tensor]:
    """Parameters of the pass with the best bound. A bound holds for all of them at once, so choosing costs nothing."""
    with _one_thread(training):
        return _train(policy, objective, rows, training, delta, checkpoint, report)


@contextmanager
def _one_thread(training: Training) -> Iterator[None]:
    """Steps over small batches are too short to be shared: threads would wait for each other most of the time."""
    before = torch.get_num_threads()
    if training.device == "cpu" and training.batch_size <= 1024:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _train(
    policy: Any,
    objective: Objective | PlainEstimate,
    rows: Rows,
    training: Training,
    delta: float,
    checkpoint: Checkpoint | None,
    report: Report | None,
) -> dict[str, Tensor]:
    policy.to(training.device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay)
    stand = None if checkpoint is None else checkpoint.load(policy, optimizer)
    if stand is None:
        # Where it starts is a policy too, and may be the best.
        stand = (_copy(policy), 0, _whole(policy.eval(), objective, rows, training.device, delta), 1)
    best, best_epoch, best_score, first = stand
    for epoch in range(first, training.epochs + 1):
        if training.patience is not None and epoch - 1 - best_epoch >= training.patience and epoch > 1:
            break
        policy.train()
        torch.manual_seed(1_000_003 * training.seed + epoch)
        for batch in _batches(rows, training, epoch):
            loss = -_score(policy, objective, batch, rows.rounds, delta)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        policy.eval()
        score = _whole(policy, objective, rows, training.device, delta)
        if not np.isfinite(score):
            raise UsageError(
                f"after pass {epoch} the bound is no number any more; lower learning_rate, or scale contexts that are very "
                "large."
            )
        if score > best_score:
            best, best_epoch, best_score = _copy(policy), epoch, score
        if checkpoint is not None:
            checkpoint.save(policy, optimizer, epoch=epoch, best=best, best_epoch=best_epoch, best_score=best_score)
        if report is not None:
            report(epoch, score)
    return best


def _score(policy: Any, objective: Objective | PlainEstimate, batch: Examples, rounds: int, delta: float) -> Tensor:
    """The bound, or the estimate, as if all rounds were like this batch."""
    p = policy.every(batch.features) if objective.every_action else policy.logged(batch.features, batch.action)
    if isinstance(objective, PlainEstimate):
        estimate: Tensor = objective.estimate(batch, p)
        return estimate
    sums = sums_of(objective.coefficients(batch), p).double() * (rounds / len(batch))
    bound: Tensor = objective.bound(sums, policy.divergence().double(), rounds=rounds, delta=delta)
    return bound


@torch.no_grad()
def _whole(policy: Any, objective: Objective | PlainEstimate, rows: Rows, device: str, delta: float) -> float:
    """The same of all rounds, to training's precision."""
    total: Any = 0.0
    count = 0
    for chunk in rows:
        for part in chunk.pieces(4096):
            batch = part.tensors(device)
            p = policy.every(batch.features) if objective.every_action else policy.logged(batch.features, batch.action)
            if isinstance(objective, PlainEstimate):
                total = total + objective.estimate(batch, p) * len(part)
            else:
                total = total + sums_of(objective.coefficients(batch), p).double()
            count += len(part)
    if isinstance(objective, PlainEstimate):
        return float(total / count)
    return float(objective.bound(total, policy.divergence().double(), rounds=count, delta=delta))


def _batches(rows: Rows, training: Training, epoch: int) -> Iterator[Examples]:
    """Shuffled within each stretch of rounds: the same whether they are kept in memory or read anew."""
    for number, chunk in enumerate(rows):
        order = np.random.default_rng((training.seed, epoch, number)).permutation(len(chunk))
        shuffled = chunk.tensors(training.device)
        for start in range(0, len(order), training.batch_size):
            yield shuffled.at(torch.from_numpy(order[start : start + training.batch_size]).to(training.device))


def _copy(policy: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().clone() for name, tensor in policy.state_dict().items()}
