"""Threads over problems, each with single-threaded linear algebra: threads within threads would wait for each other."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")
R = TypeVar("R")


def in_threads(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """The results in order. One item is worked on by the caller, with all the threads that linear algebra may use."""
    waiting = list(items)
    if len(waiting) < 2:
        return [work(item) for item in waiting]
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, waiting))
