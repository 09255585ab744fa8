"""Fit many learners with one call: similar problems are trained together, with the results of separate fits."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import torch

from surelift.errors import UsageError
from surelift.learning.data.readings import Readings
from surelift.learning.learner import PolicyLearner
from surelift.learning.policies.modules import Parameters
from surelift.learning.threads import in_threads
from surelift.learning.training.loop import train
from surelift.learning.training.problem import LearningProblem
from surelift.logs.logs import Logs

Progress = Callable[[int, int, int, float], None]
"""Called after every epoch with the number of the problem, of the epoch, the maximum number of epochs, and the bound."""
Running = Generator[LearningProblem, Parameters, Any]


def fit_many(
    learners: Sequence[PolicyLearner], logs: Logs | Sequence[Logs], *, progress: Progress | None = None
) -> list[PolicyLearner]:
    """Fit each learner to its logs, or all of them to the same logs.

    Problems with the same number of rounds, epochs, batch size, learning rate and device take their steps together, on a GPU
    as one CUDA graph; seeds, priors and objectives may differ. Learners of the same logs read them once. The results are
    those of separate calls of ``fit``, up to rounding.

    Each certificate holds for its own policy with probability 1 - delta. The largest of many does not: it was chosen by
    looking at them, and of a hundred policies that are no better than production some five may be certified. To choose
    among learners, use ``search``.
    """
    learners = [learners] if isinstance(learners, PolicyLearner) else list(learners)
    each = [logs] * len(learners) if isinstance(logs, Logs) else list(logs)
    check_learners(learners)
    for argument in each:
        if not isinstance(argument, Logs):
            raise UsageError(f"fit_many takes PolicyLearners and Logs, not {type(argument).__name__}.")
    if len(each) != len(learners):
        raise UsageError(
            f"there are {len(learners)} learners but {len(each)} logs; pass logs for each learner, or one for all."
        )
    readings, report = Readings(), reporter(progress)
    pairs = zip(learners, each, strict=True)
    train_together([learner.steps(log, report(number), readings) for number, (learner, log) in enumerate(pairs)])
    return list(learners)


def check_learners(learners: Sequence[PolicyLearner]) -> None:
    for learner in learners:
        if not isinstance(learner, PolicyLearner):
            raise UsageError(f"fit_many takes PolicyLearners and Logs, not {type(learner).__name__}.")
    if any(learner.get_params()["checkpoint"] is not None for learner in learners):
        raise UsageError("fit_many does not support checkpoints; remove checkpoint=.")
    if len({id(learner) for learner in learners}) < len(learners):
        raise UsageError("the same learner appears twice; create one for each problem.")


def reporter(progress: Progress | None) -> Callable[[int], Any]:
    return lambda number: None if progress is None else lambda *epoch: progress(number, *epoch)


def train_together(running: Sequence[Running]) -> list[Any]:
    """What each returns, once the problems it yields are trained."""
    returned: dict[int, Any] = {}

    def advance(number: int, parameters: Parameters | None = None) -> LearningProblem | None:
        try:
            return next(running[number]) if parameters is None else running[number].send(parameters)
        except StopIteration as end:
            returned[number] = end.value
            return None

    # Reading and certifying are separate for each problem, and mostly release the GIL.
    problems = dict(enumerate(in_threads(advance, range(len(running)))))
    while waiting := {number: problem for number, problem in problems.items() if problem is not None}:
        learned = _train_all(waiting)
        problems = dict(zip(learned, in_threads(lambda one: advance(*one), learned.items()), strict=True))
    return [returned[number] for number in range(len(running))]


def _train_all(problems: dict[int, LearningProblem]) -> dict[int, Parameters]:
    schedules: dict[Any, list[int]] = {}
    for number, problem in problems.items():
        schedules.setdefault(problem.schedule, []).append(number)
    learned: dict[int, Parameters] = {}
    with torch.random.fork_rng():
        for numbers in schedules.values():
            learned |= dict(zip(numbers, train([problems[number] for number in numbers]), strict=True))
    return learned
