"""Fit many learners with one call: similar problems are trained together, with the results of separate fits."""

import json
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import torch

from surelift.errors import FitManyError, SureliftError, UsageError
from surelift.learning.fit import Readings
from surelift.learning.learner import PolicyLearner
from surelift.learning.policies.modules import Parameters
from surelift.learning.training.checkpoint import Checkpoint, CheckpointError
from surelift.learning.training.loop import train_each
from surelift.learning.training.problem import LearningProblem
from surelift.learning.training.processes import in_threads, process_group
from surelift.saving import reason
from surelift.traits.logs import Logs

Progress = Callable[[int, int, int, float], None]
"""Called after every epoch with the number of the problem, of the epoch, the maximum number of epochs, and the bound."""
_READERS = 4
Running = Generator[LearningProblem, Parameters, Any]


def fit_many(
    learners: Sequence[PolicyLearner], logs: Logs | Sequence[Logs], *, progress: Progress | None = None,
    checkpoint: str | Path | None = None,
) -> list[PolicyLearner]:  # fmt: skip
    """Fit each learner to its logs, or all of them to the same logs.

    Problems with the same number of rounds, epochs, batch size, learning rate and device take their steps together, on
    a GPU as one CUDA graph; seeds, priors and objectives may differ. Learners of the same logs read them once. The
    results are those of separate calls of ``fit``, up to rounding. A problem that fails, because its logs cannot be
    used or its bound is not finite, does not touch the others: they are finished, then ``FitManyError`` names those
    that failed, by number and reason.

    Each certificate holds for its own policy with probability 1 - delta. The largest of many does not: it was chosen by
    looking at them, and of a hundred policies that are no better than production some five may be certified. To choose
    among learners, use ``search``.

    Args:
        learners: One for each problem.
        logs: The logs of each problem, or one log for all.
        progress: Called after each epoch of each problem.
        checkpoint: A folder, with a file for every group of problems that are trained together, written after each of
            its epochs. The same call resumes a killed run there, to the very same result.
    """
    learners = [learners] if isinstance(learners, PolicyLearner) else list(learners)
    each = [logs] * len(learners) if isinstance(logs, Logs) else list(logs)
    check_learners(learners, each)
    if len(each) != len(learners):
        raise UsageError(
            f"there are {len(learners)} learners but {len(each)} logs; pass logs for each learner, or one for all."
        )
    readings, report = Readings(), reporter(progress)
    pairs = zip(learners, each, strict=True)
    running = [learner.steps(log, report(number), readings) for number, (learner, log) in enumerate(pairs)]
    _, failed = train_together(running, checkpoint)
    if failed:
        raise FitManyError(failed, len(running))
    return list(learners)


def check_learners(learners: Sequence[PolicyLearner], logs: Sequence[Logs] = ()) -> None:
    wrong = [each for each in learners if not isinstance(each, PolicyLearner)] + [
        each for each in logs if not isinstance(each, Logs)
    ]
    problem = ""
    if wrong:
        problem = f"fit_many takes PolicyLearners and Logs, not {type(wrong[0]).__name__}."
    elif any(learner.get_params()["checkpoint"] is not None for learner in learners):
        problem = "name a folder in checkpoint= of fit_many, for all problems, not a file in that of a learner."
    elif len({id(learner) for learner in learners}) < len(learners):
        problem = "the same learner appears twice; create one for each problem."
    if problem:
        raise UsageError(problem)


def reporter(progress: Progress | None) -> Callable[[int], Any]:
    return lambda number: None if progress is None else lambda *epoch: progress(number, *epoch)


def train_together(
    running: Sequence[Running], checkpoint: str | Path | None = None
) -> tuple[dict[int, Any], dict[int, Exception]]:
    """What each returns, by number, once the problems it yields are trained; or why it failed."""
    returned: dict[int, Any] = {}
    failed: dict[int, Exception] = {}
    checkpoints = None if checkpoint is None else _numbered(checkpoint)

    def advance(number: int, parameters: Parameters | None = None) -> LearningProblem | None:
        try:
            return next(running[number]) if parameters is None else running[number].send(parameters)
        except StopIteration as end:
            returned[number] = end.value
        except Exception as error:
            failed[number] = error
        return None

    # Reading and certifying are separate for each problem, and mostly release the GIL; with many threads, most would wait
    # for it. Several processes exchange what they find, which must be in the same order in all of them.
    threads = min(_READERS, os.cpu_count() or 1) if process_group().count == 1 else 1
    problems = dict(enumerate(in_threads(advance, range(len(running)), threads=threads)))
    while waiting := {number: problem for number, problem in problems.items() if problem is not None}:
        schedules: dict[Any, dict[int, LearningProblem]] = {}
        for number, problem in waiting.items():
            schedules.setdefault(problem.schedule, {})[number] = problem
        learned: dict[int, Parameters] = {}
        with torch.random.fork_rng():
            for group in schedules.values():
                learned |= _train_group(group, failed, checkpoints)
        steps = in_threads(lambda one: advance(*one), learned.items(), threads=threads)
        problems = dict(zip(learned, steps, strict=True))
    return returned, failed


def _numbered(folder: str | Path) -> Iterator[Path]:
    """A file for each group, in the order in which they are trained."""
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"checkpoint= must name a folder, but {folder} cannot be one: {reason(error)}.") from error
    return (Path(folder) / f"{number:04d}.safetensors" for number in count())


def _train_group(
    group: dict[int, LearningProblem], failed: dict[int, Exception], checkpoints: Iterator[Path] | None
) -> dict[int, Parameters]:
    checkpoint = None
    if checkpoints is not None:
        path = next(checkpoints)
        identity = json.dumps([path.name, {number: problem.identity for number, problem in group.items()}])
        checkpoint = Checkpoint(str(path), identity)
    # Copies, since the rounds of one problem may turn out to be unreadable: the others then begin again.
    problems = [replace(each, policy=deepcopy(each.policy)) if len(group) > 1 else each for each in group.values()]
    try:
        outcomes = dict(zip(group, train_each(problems, checkpoint), strict=True))
    except CheckpointError:
        raise
    except SureliftError as error:
        if len(group) == 1:
            failed |= dict.fromkeys(group, error)
            return {}
        numbers, half = list(group), len(group) // 2
        parts = ({number: group[number] for number in part} for part in (numbers[:half], numbers[half:]))
        return {number: found for part in parts for number, found in _train_group(part, failed, checkpoints).items()}
    failed |= {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, UsageError)}
    return {number: outcome for number, outcome in outcomes.items() if not isinstance(outcome, UsageError)}
