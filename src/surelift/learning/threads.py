"""Threads over problems, each with single-threaded linear algebra: threads within threads would wait for each other."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")
R = TypeVar("R")


def in_threads(work: Callable[[T], R], items: Iterable[T], *, threads: int | None = None) -> list[R]:
    """The results in order, by as many threads as there are processors unless said otherwise.

    A single item is worked on by the caller, with all the threads that linear algebra may use.
    """
    waiting, threads = list(items), threads or os.cpu_count() or 1
    if len(waiting) < 2 or threads < 2:
        return [work(item) for item in waiting]
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, waiting))
