"""Several processes that learn one policy together, as torchrun starts them: each takes a share of every batch.

All read the same log. Sums are added over the processes before a bound is made of them, and so are gradients, so that every
process holds the same parameters, those that one process alone would have found, up to rounding.
"""

import atexit
import gc
import os
from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from surelift.errors import UsageError


class Together:
    """This process among those it learns with; alone it adds nothing."""

    def __init__(self, rank: int = 0, count: int = 1) -> None:
        self.rank, self.count = rank, count

    @property
    def first(self) -> bool:
        """The one that writes files and speaks."""
        return self.rank == 0

    def share(self, size: int) -> slice:
        """Of so many rounds, those that are this process's."""
        return slice(size * self.rank // self.count, size * (self.rank + 1) // self.count)

    def added(self, part: Tensor) -> Tensor:
        """The sum over all processes, whose gradient is that of this process's part."""
        if self.count == 1:
            return part
        total = part.detach().clone()
        dist.all_reduce(total)
        return part + (total - part.detach())

    def once(self, same: Tensor) -> Tensor:
        """What all processes have in common: its gradient must be counted once."""
        return same if self.first else same.detach()

    def add_gradients(self, parameters: Iterable[Tensor]) -> None:
        if self.count > 1:
            for parameter in parameters:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)

    def agree(self, what: str, mine: str) -> None:
        """Raise in every process unless all hold the same."""
        if self.count == 1:
            return
        theirs: list[Any] = [None] * self.count
        dist.all_gather_object(theirs, mine)
        if len(set(theirs)) > 1:
            raise UsageError(f"the processes that learn together do not have the same {what}; give all the same.")


def together(device: str = "cpu") -> Together:
    """The processes that torchrun started, or those of a group that is there already; else this one alone."""
    if not dist.is_available():
        return Together()
    if not dist.is_initialized():
        if not dist.is_torchelastic_launched() or int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return Together()
        dist.init_process_group("nccl" if torch.device(device).type == "cuda" else "gloo")
        atexit.register(left)
    return Together(dist.get_rank(), dist.get_world_size())


def left() -> None:
    """Leave the group that was joined here: a process that ends inside one aborts now and then, its work done."""
    if dist.is_initialized():
        dist.destroy_process_group()
        gc.collect()  # its threads end with the last that knows of it


def own_device(device: str) -> str:
    """Of several GPUs the one of this process."""
    local = os.environ.get("LOCAL_RANK")
    return f"cuda:{local}" if device == "cuda" and local is not None else device
