"""Learning in parallel: processes under torchrun, and threads over problems.

Every process reads and keeps its own share of the log. The batches are those of a single process; of each, a process takes
the rounds that lie in its share. Sums and gradients are added over the processes, so that every process holds the parameters
a single one would have found, up to rounding.
"""

import atexit
import gc
import os
import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from threadpoolctl import threadpool_limits
from torch import Tensor

from surelift.errors import UsageError

T = TypeVar("T")
R = TypeVar("R")


class ProcessGroup:
    """This process among those that train together; a single process by default."""

    def __init__(self, rank: int = 0, count: int = 1) -> None:
        self.rank, self.count = rank, count

    @property
    def first(self) -> bool:
        """It writes files and reports progress."""
        return self.rank == 0

    def share(self, size: int) -> range:
        return range(size * self.rank // self.count, size * (self.rank + 1) // self.count)

    def gather(self, work: Callable[[], T]) -> list[T]:
        """What each process finds, in order; an error in one of them is raised in all, so that none waits for another."""
        if self.count == 1:
            return [work()]
        found: Any = None
        error: Exception | None = None
        try:
            found = work()
        except Exception as raised:
            error = raised
        outcomes: list[Any] = [None] * self.count
        dist.all_gather_object(outcomes, (found, _sendable(error)))
        for rank, (_, raised_there) in enumerate(outcomes):
            if raised_there is not None:
                raise error if rank == self.rank and error is not None else raised_there
        return [each for each, _ in outcomes]

    def together(self, work: Callable[[], T]) -> T:
        """What this process finds, which stays here; an error in one process is raised in all."""
        found = list[T]()
        self.gather(lambda: found.append(work()))
        return found[0]

    def sum(self, part: Tensor) -> Tensor:
        """The sum over all processes, with the gradient of this process's part."""
        if self.count == 1:
            return part
        total = part.detach().clone()
        dist.all_reduce(total)
        return part + (total - part.detach())

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        if self.count > 1:
            for parameter in parameters:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)

    def require_equal(self, what: str, value: str) -> None:
        if len(set(self.gather(lambda: value))) > 1:
            raise UsageError(f"the processes do not have the same {what}; start all of them with the same.")


def _sendable(error: Exception | None) -> Exception | None:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def process_group() -> ProcessGroup:
    """The processes started by torchrun, or of a group that exists already; else this process alone."""
    launched = dist.is_available() and dist.is_torchelastic_launched() and int(os.environ.get("WORLD_SIZE", "1")) > 1
    if not launched and not (dist.is_available() and dist.is_initialized()):
        return ProcessGroup()
    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
        atexit.register(leave_group)
    return ProcessGroup(dist.get_rank(), dist.get_world_size())


def leave_group() -> None:
    """Leave the group joined above: a process that exits inside one aborts now and then, after its work is done."""
    if dist.is_initialized():
        dist.destroy_process_group()
        gc.collect()  # the group's threads end with the last reference to it


def local_device(device: str) -> str:
    """The GPU of this process where there are several, else the device itself."""
    local = os.environ.get("LOCAL_RANK")
    return f"cuda:{local}" if device == "cuda" and local is not None else device


def in_threads(work: Callable[[T], R], items: Iterable[T], *, threads: int | None = None) -> list[R]:
    """The results in order, by as many threads as there are processors unless said otherwise.

    Each has single-threaded linear algebra, since threads within threads would wait for each other; a single item is worked
    on by the caller, with all the threads that linear algebra may use.
    """
    waiting, threads = list(items), threads or os.cpu_count() or 1
    if len(waiting) < 2 or threads < 2:
        return [work(item) for item in waiting]
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, waiting))
