"""Fit many learners with one call: similar problems are trained together, with the results of separate fits."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from surelift.errors import FitManyError, UsageError
from surelift.learning.fit import Readings
from surelift.learning.learner import PolicyLearner
from surelift.learning.training.together import train_together
from surelift.traits.logs import Logs

Progress = Callable[[int, int, int, float], None]
"""Called after every epoch with the number of the problem, of the epoch, the maximum number of epochs, and the bound."""


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
    readings, report = Readings(), reporter(progress)
    pairs = zip(learners, each, strict=True)
    running = [learner.steps(log, report(number), readings) for number, (learner, log) in enumerate(pairs)]
    _, failed = train_together(running, checkpoint)
    if failed:
        raise FitManyError(failed, len(running))
    return learners


def check_learners(learners: Sequence[PolicyLearner], logs: Sequence[Logs] | None = None) -> None:
    """Raise unless these are different learners, with as many logs where logs are given."""
    wrong = [each for each in learners if not isinstance(each, PolicyLearner)] + [
        each for each in logs or () if not isinstance(each, Logs)
    ]
    problem = ""
    if wrong:
        problem = f"fit_many takes PolicyLearners and Logs, not {type(wrong[0]).__name__}."
    elif any(learner.get_params()["checkpoint"] is not None for learner in learners):
        problem = "name a folder in checkpoint= of fit_many, for all problems, not a file in that of a learner."
    elif len({id(learner) for learner in learners}) < len(learners):
        problem = "the same learner appears twice; create one for each problem."
    elif logs is not None and len(logs) != len(learners):
        problem = f"there are {len(learners)} learners but {len(logs)} logs; pass logs for each learner, or one for all."
    if problem:
        raise UsageError(problem)


def reporter(progress: Progress | None) -> Callable[[int], Any]:
    return lambda number: None if progress is None else lambda *epoch: progress(number, *epoch)
