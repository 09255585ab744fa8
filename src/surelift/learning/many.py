"""Many problems with one call: alike ones are trained as one batch, each as if it were alone."""

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from surelift.errors import UsageError
from surelift.learning.fit import train
from surelift.learning.learner import Learned, PolicyLearner, advanced
from surelift.learning.training import Problem
from surelift.logs.logs import Logs

Progress = Callable[[int, int, int, float], None]
"""Called after every pass: the number of the problem, of the pass, how many there are at most, and the bound so far."""


def fit_many(
    learners: Sequence[PolicyLearner], logs: Logs | Sequence[Logs], *, progress: Progress | None = None
) -> list[PolicyLearner]:
    """Fit each learner to its log, or all to the same one.

    Whatever temperatures, seeds, folds and objectives they are of: problems with as many rounds and the same epochs, batch
    size, learning rate and device take their steps together, on a GPU as one recorded step. Each comes out as its own
    ``fit`` would have it, up to rounding.
    """
    learners = [learners] if isinstance(learners, PolicyLearner) else list(learners)
    each = [logs] * len(learners) if isinstance(logs, Logs) else list(logs)
    for one in (*learners, *each):
        if not isinstance(one, PolicyLearner | Logs):
            raise UsageError(f"give PolicyLearners and Logs; there is a {type(one).__name__} among them.")
    if len(each) != len(learners):
        raise UsageError(
            f"there are {len(learners)} learners and {len(each)} logs; give one log for each, or one for all."
        )
    if any(learner.get_params()["checkpoint"] is not None for learner in learners):
        raise UsageError("problems that are learned together keep no checkpoints; leave checkpoint= out.")
    if len({id(learner) for learner in learners}) < len(learners):
        raise UsageError("the same learner is there twice; make one for each problem.")

    def told(number: int) -> Any:
        return None if progress is None else lambda *passed: progress(number, *passed)

    running = {
        number: learner.steps(log, told(number))
        for number, (learner, log) in enumerate(zip(learners, each, strict=True))
    }
    # Reading a log and certifying on it are of each problem alone; most of it runs outside Python's lock.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = _found(running, pool.map(lambda steps: next(steps, None), running.values()))
        while waiting:
            learned = _trained(waiting)
            left = {number: running[number] for number in waiting}
            waiting = _found(left, pool.map(advanced, left.values(), [learned[number] for number in left]))
    return list(learners)


def _found(running: dict[int, Generator[Problem, Learned, None]], problems: Any) -> dict[int, Problem]:
    return {number: problem for number, problem in zip(running, problems, strict=True) if problem is not None}


def _trained(problems: dict[int, Problem]) -> dict[int, Learned]:
    """Those of one schedule together."""
    schedules: dict[Any, list[int]] = {}
    for number, problem in problems.items():
        schedules.setdefault(problem.schedule, []).append(number)
    learned: dict[int, Learned] = {}
    with torch.random.fork_rng():
        for numbers in schedules.values():
            learned |= dict(zip(numbers, train([problems[number] for number in numbers]), strict=True))
    return learned
