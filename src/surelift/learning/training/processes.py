"""Distributed training under torchrun: every process takes a share of each batch.

All processes read the same log. Sums and gradients are added over the processes, so that every process holds the
parameters a single one would have found, up to rounding.
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


class ProcessGroup:
    """This process among those that train together; a single process by default."""

    def __init__(self, rank: int = 0, count: int = 1) -> None:
        self.rank, self.count = rank, count

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and reports progress."""
        return self.rank == 0

    def share(self, size: int) -> slice:
        """This process's share of ``size`` rounds."""
        return slice(size * self.rank // self.count, size * (self.rank + 1) // self.count)

    def sum(self, part: Tensor) -> Tensor:
        """The sum over all processes, with the gradient of this process's part."""
        if self.count == 1:
            return part
        total = part.detach().clone()
        dist.all_reduce(total)
        return part + (total - part.detach())

    def once(self, shared: Tensor) -> Tensor:
        """A tensor all processes share, whose gradient must be counted once."""
        return shared if self.first else shared.detach()

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        if self.count > 1:
            for parameter in parameters:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)

    def require_equal(self, what: str, value: str) -> None:
        """Raise in every process unless all have the same value."""
        if self.count == 1:
            return
        values: list[Any] = [None] * self.count
        dist.all_gather_object(values, value)
        if len(set(values)) > 1:
            raise UsageError(f"the processes do not have the same {what}; start all of them with the same.")


def process_group(device: str = "cpu") -> ProcessGroup:
    """The processes started by torchrun, or of a group that exists already; else this process alone."""
    launched = dist.is_available() and dist.is_torchelastic_launched() and int(os.environ.get("WORLD_SIZE", "1")) > 1
    if not launched and not (dist.is_available() and dist.is_initialized()):
        return ProcessGroup()
    if not dist.is_initialized():
        dist.init_process_group("nccl" if torch.device(device).type == "cuda" else "gloo")
        atexit.register(leave_group)
    return ProcessGroup(dist.get_rank(), dist.get_world_size())


def leave_group() -> None:
    """Leave the group joined above: a process that exits inside one aborts now and then, after its work is done."""
    if dist.is_initialized():
        dist.destroy_process_group()
        gc.collect()  # the group's threads end with the last reference to it


def local_device(device: str) -> str:
    """With several GPUs, the one of this process."""
    local = os.environ.get("LOCAL_RANK")
    return f"cuda:{local}" if device == "cuda" and local is not None else device
