"""Training the problems of many learners together: those of one schedule take their steps together."""

import json
import os
from collections.abc import Generator, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import torch

from surelift.errors import SureliftError, UsageError
from surelift.learning.policies.modules import Parameters
from surelift.learning.training.checkpoint import Checkpoint, CheckpointError
from surelift.learning.training.loop import train_each
from surelift.learning.training.problem import LearningProblem
from surelift.learning.training.processes import in_threads, process_group
from surelift.saving import reason

_READERS = 4
Running = Generator[LearningProblem, Parameters, Any]
"""Yields the problems to train, and expects the parameters of each to be sent back."""


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
        # Training sets its own seeds; the user's random state stays untouched.
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
    numbers, problems = list(group), list(group.values())
    checkpoint = problems[0].checkpoint
    if checkpoints is not None:
        path = next(checkpoints)
        identity = json.dumps([path.name, {number: problem.identity for number, problem in group.items()}])
        checkpoint = Checkpoint(str(path), identity)
    if len(group) > 1:
        # Copies, since the rounds of one problem may turn out to be unreadable: the others then begin again.
        problems = [replace(each, policy=deepcopy(each.policy)) for each in problems]
    try:
        outcomes = dict(zip(numbers, train_each(problems, checkpoint), strict=True))
    except CheckpointError:
        raise
    except SureliftError as error:
        if len(group) == 1:
            failed |= dict.fromkeys(group, error)
            return {}
        half = len(group) // 2
        parts = ({number: group[number] for number in part} for part in (numbers[:half], numbers[half:]))
        return {number: found for part in parts for number, found in _train_group(part, failed, checkpoints).items()}
    failed |= {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, UsageError)}
    return {number: outcome for number, outcome in outcomes.items() if not isinstance(outcome, UsageError)}
