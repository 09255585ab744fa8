"""Fit many learners with one call: similar problems are trained together, with the results of separate fits."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import torch

from surelift.errors import FitManyError, SureliftError, UsageError
from surelift.learning.learner import PolicyLearner, next_problem
from surelift.learning.policies.modules import Parameters
from surelift.learning.training.checkpoint import Checkpoint, CheckpointError
from surelift.learning.training.loop import train_each
from surelift.learning.training.problem import LearningProblem
from surelift.learning.training.processes import process_group
from surelift.logs.logs import Logs
from surelift.saving import reason

Progress = Callable[[int, int, int, float], None]
"""Called after every epoch with the number of the problem, of the epoch, the maximum number of epochs, and the bound."""


def fit_many(
    learners: Sequence[PolicyLearner], logs: Logs | Sequence[Logs], *, progress: Progress | None = None,
    checkpoint: str | Path | None = None,
) -> list[PolicyLearner]:  # fmt: skip
    """Fit each learner to its logs, or all of them to the same logs.

    Problems with the same number of rounds, epochs, batch size, learning rate and device take their steps together, on a GPU
    as one CUDA graph; seeds, priors and objectives may differ. The results are those of separate calls of ``fit``, up to
    rounding. A problem that fails, because its logs cannot be used or its bound is not finite, does not touch the others:
    they are finished, then ``FitManyError`` names those that failed, by number and reason.

    ``checkpoint`` names a folder, with a file for every group of problems that are trained together, written after each of
    its epochs. The same call resumes a killed run there, to the very same result.
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
        raise UsageError("name a folder in checkpoint= of fit_many, for all problems, not a file in that of a learner.")
    if len({id(learner) for learner in learners}) < len(learners):
        raise UsageError("the same learner appears twice; create one for each problem.")

    def report(number: int) -> Any:
        return None if progress is None else lambda *epoch: progress(number, *epoch)

    failed: dict[int, Exception] = {}
    checkpoints = None if checkpoint is None else _numbered(checkpoint)

    def advance(number: int, parameters: Parameters | None = None) -> LearningProblem | None:
        try:
            return next(running[number], None) if parameters is None else next_problem(running[number], parameters)
        except Exception as error:
            failed[number] = error
            return None

    running = [learner.steps(log, report(k)) for k, (learner, log) in enumerate(zip(learners, each, strict=True))]
    # Reading and certifying are separate for each problem, and mostly release the GIL. Several processes exchange what they
    # find, which must be in the same order in all of them.
    with ThreadPoolExecutor(os.cpu_count() if process_group().count == 1 else 1) as pool:
        problems = dict(enumerate(pool.map(advance, range(len(running)))))
        while waiting := {number: problem for number, problem in problems.items() if problem is not None}:
            learned = _train_all(waiting, failed, checkpoints)
            problems = dict(zip(learned, pool.map(advance, learned, learned.values()), strict=True))
    if failed:
        raise FitManyError(failed, len(running))
    return list(learners)


def _numbered(folder: str | Path) -> Iterator[Path]:
    """A file for each group, in the order in which they are trained."""
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"checkpoint= must name a folder, but {folder} cannot be one: {reason(error)}.") from error
    return (Path(folder) / f"{number:04d}.safetensors" for number in count())


def _train_all(
    problems: dict[int, LearningProblem], failed: dict[int, Exception], checkpoints: Iterator[Path] | None
) -> dict[int, Parameters]:
    """The parameters of each problem, unless it fails."""
    schedules: dict[Any, dict[int, LearningProblem]] = {}
    for number, problem in problems.items():
        schedules.setdefault(problem.schedule, {})[number] = problem
    learned: dict[int, Parameters] = {}
    with torch.random.fork_rng():
        for group in schedules.values():
            learned |= _train_together(group, failed, checkpoints)
    return learned


def _train_together(
    group: dict[int, LearningProblem], failed: dict[int, Exception], checkpoints: Iterator[Path] | None
) -> dict[int, Parameters]:
    learned: dict[int, Parameters] = {}
    checkpoint = None
    if checkpoints is not None:
        path = next(checkpoints)
        identity = json.dumps([path.name, {number: problem.identity for number, problem in group.items()}])
        checkpoint = Checkpoint(str(path), identity)
    # Copies, since the rounds of one problem may turn out to be unreadable: the others then begin again.
    problems = [replace(each, policy=deepcopy(each.policy)) if len(group) > 1 else each for each in group.values()]
    try:
        outcomes = train_each(problems, checkpoint)
    except CheckpointError:
        raise
    except SureliftError as error:
        if len(group) == 1:
            failed |= dict.fromkeys(group, error)
            return learned
        numbers, half = list(group), len(group) // 2
        for part in (numbers[:half], numbers[half:]):
            learned |= _train_together({number: group[number] for number in part}, failed, checkpoints)
        return learned
    for number, outcome in zip(group, outcomes, strict=True):
        if isinstance(outcome, UsageError):
            failed[number] = outcome
        else:
            learned[number] = outcome
    return learned
