"""Fit many learners with one call: similar problems are trained together, with the results of separate fits."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from surelift.errors import UsageError
from surelift.learning.learner import PolicyLearner, next_problem
from surelift.learning.policies.modules import Parameters
from surelift.learning.training.loop import train
from surelift.learning.training.problem import LearningProblem
from surelift.learning.training.processes import process_group
from surelift.logs.logs import Logs

Progress = Callable[[int, int, int, float], None]
"""Called after every epoch with the number of the problem, of the epoch, the maximum number of epochs, and the bound."""


def fit_many(
    learners: Sequence[PolicyLearner], logs: Logs | Sequence[Logs], *, progress: Progress | None = None
) -> list[PolicyLearner]:
    """Fit each learner to its logs, or all of them to the same logs.

    Problems with the same number of rounds, epochs, batch size, learning rate and device take their steps together, on a GPU
    as one CUDA graph; seeds, priors and objectives may differ. The results are those of separate calls of ``fit``, up to
    rounding.
    """
    learners = [learners] if isinstance(learners, PolicyLearner) else list(learners)
    each = [logs] * len(learners) if isinstance(logs, Logs) else list(logs)
    for argument in (*learners, *each):
        if not isinstance(argument, PolicyLearner | Logs):
            raise UsageError(f"fit_many takes PolicyLearners and Logs, not {type(argument).__name__}.")
    if len(each) != len(learners):
        raise UsageError(
            f"there are {len(learners)} learners but {len(each)} logs; pass logs for each learner, or one for all."
        )
    if any(learner.get_params()["checkpoint"] is not None for learner in learners):
        raise UsageError("fit_many does not support checkpoints; remove checkpoint=.")
    if len({id(learner) for learner in learners}) < len(learners):
        raise UsageError("the same learner appears twice; create one for each problem.")

    def report(number: int) -> Any:
        return None if progress is None else lambda *epoch: progress(number, *epoch)

    running = [learner.steps(log, report(k)) for k, (learner, log) in enumerate(zip(learners, each, strict=True))]
    # Reading and certifying are separate for each problem, and mostly release the GIL. Several processes exchange what they
    # find, which must be in the same order in all of them.
    with ThreadPoolExecutor(os.cpu_count() if process_group().count == 1 else 1) as pool:
        problems = dict(enumerate(pool.map(lambda steps: next(steps, None), running)))
        while waiting := {number: problem for number, problem in problems.items() if problem is not None}:
            learned = _train_all(waiting)
            steps = [running[number] for number in learned]
            problems = dict(zip(learned, pool.map(next_problem, steps, learned.values()), strict=True))
    return list(learners)


def _train_all(problems: dict[int, LearningProblem]) -> dict[int, Parameters]:
    schedules: dict[Any, list[int]] = {}
    for number, problem in problems.items():
        schedules.setdefault(problem.schedule, []).append(number)
    learned: dict[int, Parameters] = {}
    with torch.random.fork_rng():
        for numbers in schedules.values():
            learned |= dict(zip(numbers, train([problems[number] for number in numbers]), strict=True))
    return learned
